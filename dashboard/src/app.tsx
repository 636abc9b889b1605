/** The frame of every page: navigation, the state of the connection, notices, and the page itself. */

import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { setToken } from "./api/client";
import { useHealth } from "./api/health";
import { useResource } from "./api/resource";
import type { ClusterConfig } from "./api/types";
import { type Route, useRoute } from "./logic/route";
import { ExecutorsPage } from "./pages/executors";
import { JobManagerPage } from "./pages/job-manager";
import { JobPage } from "./job/page";
import { OverviewPage } from "./pages/overview";
import { SubmitPage } from "./pages/submit";
import { Notices } from "./ui/notices";
import { ThemeToggle } from "./ui/theme";

const PAGES = [
  { id: "", title: "Jobs" },
  { id: "submit", title: "Submit" },
  { id: "executors", title: "Executors" },
  { id: "jobmanager", title: "JobManager" },
];

const CONFIG_MS = 60_000;

export function App() {
  const route = useRoute();
  const health = useHealth();
  const config = useResource<ClusterConfig>("/config", CONFIG_MS);
  const main = useRef<HTMLElement>(null);
  const section = route.path[0] === "jobs" ? "" : (route.path[0] ?? "");
  const page = route.path.slice(0, 2).join("/");

  // A new page is read from its top, by eyes and by screen readers.
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);

  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <img src="/dashboard/icon.svg" alt="" width="22" height="22" />
          headrace
          {config.data && <small>{config.data["flink-version"]}</small>}
        </a>
        <nav aria-label="Pages">
          {PAGES.map(({ id, title }) => (
            <a key={id} href={`#/${id}`} aria-current={id === section ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <ThemeToggle />
      </header>
      <main id="main" ref={main} tabindex={-1}>
        <div role="status" aria-live="assertive">
          {health === "unreachable" && (
            <p class="banner tone-bad">The JobManager does not answer. What is shown is old; trying again.</p>
          )}
        </div>
        {health === "unauthorized" ? <TokenForm /> : <Page route={route} features={config.data?.features ?? {}} />}
      </main>
      <Notices />
    </>
  );
}

interface PageProps {
  route: Route;
  features: Record<string, boolean>;
}

/** A page that cannot be drawn says so, instead of leaving an empty window. */
function Page(props: PageProps) {
  const [error, retry] = useErrorBoundary();
  if (!error) return <PageOf {...props} />;
  return (
    <section class="panel narrow" role="alert">
      <header>
        <h1>This page cannot be shown</h1>
      </header>
      <div class="fields">
        <p>{String(error)}</p>
        <div class="row end">
          <button type="button" onClick={retry}>
            Try again
          </button>
        </div>
      </div>
    </section>
  );
}

function PageOf({ route, features }: PageProps) {
  const [section, second] = route.path;
  if (section === "jobs" && second) return <JobPage key={second} job={second} route={route} features={features} />;
  if (section === "submit") return <SubmitPage />;
  const [, , third, fourth] = route.path;
  if (section === "executors") return <ExecutorsPage selected={second} tab={third} file={fourth} />;
  if (section === "jobmanager") return <JobManagerPage tab={second} file={third} />;
  return <OverviewPage />;
}

function TokenForm() {
  const entered = (event: SubmitEvent) => {
    event.preventDefault();
    setToken(String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? ""));
    window.location.reload();
  };
  return (
    <section class="panel narrow">
      <header>
        <h1>Token</h1>
      </header>
      <form class="fields" onSubmit={entered}>
        <p>
          This JobManager asks for the token of its cluster, <code>HEADRACE_CLUSTER_TOKEN</code>. It is kept in this tab
          until you close it.
        </p>
        <label>
          Token of the cluster
          <input name="token" type="password" autocomplete="off" required />
        </label>
        <div class="row end">
          <button type="submit" class="primary">
            Enter
          </button>
        </div>
      </form>
    </section>
  );
}
