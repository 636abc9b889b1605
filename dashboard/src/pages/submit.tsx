/** Uploads a program and runs it. */

import { useState } from "preact/hooks";
import { deleteProgram, run, type RunOptions, upload } from "../api/operations";
import { useResource } from "../api/resource";
import type { Program } from "../api/types";
import { parseSettings, splitArguments } from "../logic/arguments";
import { percent, timestamp } from "../logic/format";
import { href, navigate } from "../logic/route";
import { announced } from "../ui/notices";
import { type Column, Empty, Panel, Pending, Table } from "../ui/parts";

export function SubmitPage() {
  const programs = useResource<{ files: Program[] }>("/programs", 5000);
  const [chosen, setChosen] = useState<Program>();
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  /** The share of the file that is on its way; undefined while nothing is uploaded. */
  const [sent, setSent] = useState<number>();

  const submitted = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const file = data.get("file");
    setProblem("");
    try {
      const options = optionsOf(data);
      setBusy(true);
      const program = chosen?.id ?? (await upload(file as File, setSent));
      const job = await run(program, options);
      navigate(href(["jobs", job]));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
      setSent(undefined);
    }
  };

  const remove = async (program: Program) => {
    await announced("Deleting …", deleteProgram(program.id), () => [`${program.name} is deleted`]);
    if (chosen?.id === program.id) setChosen(undefined);
    programs.refresh();
  };

  const columns: Column<Program>[] = [
    { title: "Program", wide: true, cell: (p) => p.name },
    { title: "Uploaded", cell: (p) => timestamp(p.uploaded) },
    {
      title: "Actions",
      cell: (p) => (
        <span class="row">
          <button type="button" aria-label={`Use ${p.name}`} onClick={() => setChosen(p)}>
            Use
          </button>
          <button type="button" aria-label={`Delete ${p.name}`} onClick={() => void remove(p)}>
            Delete
          </button>
        </span>
      ),
    },
  ];

  return (
    <>
      <div class="title">
        <h1>Submit a job</h1>
      </div>
      <Panel title="Program">
        <form class="fields two" onSubmit={submitted}>
          {chosen ? (
            <p class="row">
              <strong>{chosen.name}</strong>
              <button type="button" onClick={() => setChosen(undefined)}>
                Another file
              </button>
            </p>
          ) : (
            <label>
              Python file or zip
              <input name="file" type="file" accept=".py,.zip" required />
            </label>
          )}
          <label>
            File to run in a zip <small>__main__.py, main.py or the only one if empty</small>
            <input name="entry" />
          </label>
          <label>
            Arguments of the program
            <input name="arguments" spellcheck={false} />
          </label>
          <label>
            Parallelism
            <input name="parallelism" type="number" min="1" inputMode="numeric" />
          </label>
          <label>
            Path of a savepoint to start from
            <input name="savepoint" spellcheck={false} />
          </label>
          <label>
            Settings <small>one key: value on each line</small>
            <textarea name="settings" rows={3} spellcheck={false} />
          </label>
          <label class="check">
            <input name="allow" type="checkbox" /> Skip state that no operator claims
          </label>
          <label class="check">
            <input name="pyflink" type="checkbox" /> The program imports <code>pyflink</code>
          </label>
          {problem && (
            <p class="problem tone-bad" role="alert">
              {problem}
            </p>
          )}
          <div class="row end">
            {sent !== undefined && (
              <label class="row">
                {sent < 1 ? `Uploading, ${percent(sent)}` : "Uploaded"}
                <progress max={1} value={sent} />
              </label>
            )}
            <button type="submit" class="primary" disabled={busy}>
              {busy ? "Submitting …" : "Run"}
            </button>
          </div>
        </form>
      </Panel>
      <Panel title="Earlier uploads">
        {!programs.data ? (
          <Pending error={programs.error} what="programs" />
        ) : programs.data.files.length === 0 ? (
          <Empty>No programs uploaded yet.</Empty>
        ) : (
          <Table caption="Uploaded programs" columns={columns} rows={programs.data.files} keyOf={(p) => p.id} />
        )}
      </Panel>
    </>
  );
}

function optionsOf(data: FormData): RunOptions {
  const text = (name: string) => String(data.get(name) ?? "").trim();
  return {
    entry: text("entry") || undefined,
    programArgsList: splitArguments(text("arguments")),
    parallelism: text("parallelism") ? Number(text("parallelism")) : undefined,
    savepointPath: text("savepoint") || undefined,
    allowNonRestoredState: data.has("allow"),
    pyflink: data.has("pyflink"),
    settings: parseSettings(text("settings")),
  };
}
