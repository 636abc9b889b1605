/** Configuration and logs of the JobManager. */

import { useResource } from "../api/resource";
import type { LogFiles, Setting } from "../api/types";
import { bytes, timestamp } from "../logic/format";
import { href } from "../logic/route";
import { LogView } from "../ui/log-view";
import { Panel, Pending, Table, Tabs } from "../ui/parts";
import { Settings } from "../ui/settings";

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

function Configuration() {
  const settings = useResource<Setting[]>("/jobmanager/config", 0);
  return (
    <Panel title="Configuration">
      {settings.data ? (
        <Settings caption="Settings of the JobManager" settings={settings.data} />
      ) : (
        <Pending error={settings.error} what="the configuration" />
      )}
    </Panel>
  );
}

function Logs({ file }: { file: string | undefined }) {
  const files = useResource<LogFiles>("/jobmanager/logs", 10_000);
  const shown = file ?? files.data?.logs[0]?.name;
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
          selected={(f) => f.name === shown}
        />
      </Panel>
      {shown && (
        <Panel title={shown}>
          <LogView key={shown} path={`/jobmanager/logs/${encodeURIComponent(shown)}`} what={`the log ${shown}`} growing={false} />
        </Panel>
      )}
    </>
  );
}
