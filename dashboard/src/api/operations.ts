/** What changes something: submit, cancel, and the operations that take a while. */

import { ApiError, getJson, request, sendForm } from "./client";
import type { OperationStatus } from "./types";

const POLL_MS = 500;

export interface RunOptions {
  entry?: string;
  programArgsList: string[];
  parallelism?: number;
  savepointPath?: string;
  allowNonRestoredState: boolean;
  pyflink: boolean;
  settings: Record<string, string>;
}

export async function upload(file: File, onProgress: (share: number) => void): Promise<string> {
  const form = new FormData();
  form.append("file", file, file.name);
  return (await sendForm<{ filename: string }>("/programs/upload", form, onProgress)).filename;
}

export async function run(program: string, options: RunOptions): Promise<string> {
  const path = `/programs/${encodeURIComponent(program)}/run`;
  return (await request<{ jobid: string }>(path, { method: "POST", json: options })).jobid;
}

export function deleteProgram(program: string): Promise<unknown> {
  return request(`/programs/${encodeURIComponent(program)}`, { method: "DELETE" });
}

export function cancel(job: string): Promise<unknown> {
  return request(`/jobs/${job}?mode=cancel`, { method: "PATCH" });
}

export function savepoint(job: string, directory: string): Promise<string | undefined> {
  const json = directory ? { "target-directory": directory } : {};
  return operation(`/jobs/${job}/savepoints`, `/jobs/${job}/savepoints`, "POST", json);
}

export function stop(job: string, directory: string, drain: boolean): Promise<string | undefined> {
  const json = directory ? { targetDirectory: directory, drain } : { drain };
  return operation(`/jobs/${job}/stop`, `/jobs/${job}/savepoints`, "POST", json);
}

export function rescale(job: string, parallelism: number): Promise<string | undefined> {
  const path = `/jobs/${job}/rescaling`;
  return operation(`${path}?parallelism=${parallelism}`, path, "PATCH");
}

/** Starts an operation and waits for its end; where the savepoint lies, if there is one. */
async function operation(
  start: string,
  status: string,
  method: string,
  json?: unknown,
): Promise<string | undefined> {
  const started = await request<{ "request-id": string }>(start, { method, json });
  for (;;) {
    const now = await getJson<OperationStatus>(`${status}/${started["request-id"]}`);
    if (now.status.id === "COMPLETED") return outcome(now);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export function outcome(status: OperationStatus): string | undefined {
  const cause = status.operation?.["failure-cause"];
  if (cause) throw new ApiError(409, cause["stack-trace"] || cause.class || "it failed");
  return status.operation?.location;
}
