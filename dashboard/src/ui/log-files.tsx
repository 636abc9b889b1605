/** The logs of a process: a list of them, and the one that is chosen. */

import { useResource } from "../api/resource";
import type { LogFiles } from "../api/types";
import { bytes, timestamp } from "../logic/format";
import { href } from "../logic/route";
import { LogView } from "./log-view";
import { Empty, Panel, Pending, Table } from "./parts";

interface Props {
  /** The list in the REST interface; a log is below it. */
  path: string;
  /** The page of the list; that of a log is below it. */
  page: string[];
  file: string | undefined;
}

export function LogFileList({ path, page, file }: Props) {
  const files = useResource<LogFiles>(path, 10_000);
  const shown = files.data?.logs.find((f) => f.name === file) ?? files.data?.logs[0];
  if (!files.data)
    return (
      <Panel title="Logs">
        <Pending error={files.error} what="its logs" />
      </Panel>
    );
  if (!shown)
    return (
      <Panel title="Logs">
        <Empty>No output.</Empty>
      </Panel>
    );
  return (
    <>
      <Panel title="Files">
        <Table
          caption="Log files"
          columns={[
            { title: "File", wide: true, cell: (f) => <a href={href([...page, f.name])}>{f.name}</a> },
            { title: "Size", number: true, cell: (f) => bytes(f.size) },
            { title: "Changed", cell: (f) => timestamp(f.mtime || undefined) },
          ]}
          rows={files.data.logs}
          keyOf={(f) => f.name}
          selected={(f) => f.name === shown.name}
        />
      </Panel>
      <Panel title={shown.name}>
        <LogView key={shown.name} path={`${path}/${encodeURIComponent(shown.name)}`} what={`the log ${shown.name}`} />
      </Panel>
    </>
  );
}
