/** Configuration and logs of the JobManager. */

import { useResource } from "../api/resource";
import type { LogFiles, Setting } from "../api/types";
import { bytes, timestamp } from "../logic/format";
import { href } from "../logic/route";
import { LogView } from "../ui/log-view";
import { Panel, Pending, Table, Tabs } from "../ui/parts";
import { Settings } from "../ui/settings";

/** Of a long log only the end is read at first. */
const TAIL_BYTES = 1 << 18;

export function JobManagerPage({ tab = "config", file }: { tab: string | undefined; file: string | undefined }) {
  const tabs = [
    { id: "config", title: "Configuration", href: "#/jobmanager/config" },
    { id: "logs", title: "Logs", href: "#/jobmanager/logs" },
  ];
  return (
    <>
      <div class="title">
        <h1>JobManager</h1>
        <a class="button" href="docs">
          REST interface
        </a>
      </div>
      <Tabs label="JobManager" tabs={tabs} current={tab} />
      {tab === "logs" ? <Logs file={file} /> : <Configuration />}
    </>
  );
}

const VERSIONS = ["version", "python", "spark", "platform"] as const;

function Configuration() {
  const settings = useResource<Setting[]>("/jobmanager/config", 0);
  const environment = useResource<Record<string, unknown>>("/jobmanager/environment", 0);
  const versions = VERSIONS.map((key) => ({ key, value: String(environment.data?.[key] ?? "") }));
  return (
    <>
      <Panel title="Configuration">
        {settings.data ? (
          <Settings caption="Settings of the JobManager" settings={settings.data} />
        ) : (
          <Pending error={settings.error} what="the configuration" />
        )}
      </Panel>
      {environment.data && (
        <Panel title="Versions">
          <Settings caption="Versions" settings={versions.filter((v) => v.value)} />
        </Panel>
      )}
    </>
  );
}

function Logs({ file }: { file: string | undefined }) {
  const files = useResource<LogFiles>("/jobmanager/logs", 10_000);
  const shown = files.data?.logs.find((f) => f.name === file) ?? files.data?.logs[0];
  if (!files.data)
    return (
      <Panel title="Logs">
        <Pending error={files.error} what="its logs" />
      </Panel>
    );
  return (
    <>
      <Panel title="Files">
        <Table
          caption="Log files"
          columns={[
            { title: "File", wide: true, cell: (f) => <a href={href(["jobmanager", "logs", f.name])}>{f.name}</a> },
            { title: "Size", number: true, cell: (f) => bytes(f.size) },
            { title: "Changed", cell: (f) => timestamp(f.mtime) },
          ]}
          rows={files.data.logs}
          keyOf={(f) => f.name}
          selected={(f) => f.name === shown?.name}
        />
      </Panel>
      {shown && (
        <Panel title={shown.name}>
          <LogView
            key={shown.name}
            path={`/jobmanager/logs/${encodeURIComponent(shown.name)}`}
            what={`the log ${shown.name}`}
            start={Math.max(0, shown.size - TAIL_BYTES)}
          />
        </Panel>
      )}
    </>
  );
}
