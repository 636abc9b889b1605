/** Configuration, logs and threads of the JobManager. */

import { useResource } from "../api/resource";
import type { Setting } from "../api/types";
import { LogFileList } from "../ui/log-files";
import { Panel, Pending, Tabs } from "../ui/parts";
import { Settings } from "../ui/settings";
import { ThreadDumpPanel } from "../ui/thread-dump";

export function JobManagerPage({ tab = "config", file }: { tab: string | undefined; file: string | undefined }) {
  const tabs = [
    { id: "config", title: "Configuration", href: "#/jobmanager/config" },
    { id: "logs", title: "Logs", href: "#/jobmanager/logs" },
    { id: "threads", title: "Threads", href: "#/jobmanager/threads" },
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
      {tab === "logs" ? (
        <LogFileList path="/jobmanager/logs" page={["jobmanager", "logs"]} file={file} />
      ) : tab === "threads" ? (
        <ThreadDumpPanel path="/jobmanager/thread-dump" none="No threads." />
      ) : (
        <Configuration />
      )}
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
