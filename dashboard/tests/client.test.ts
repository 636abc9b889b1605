import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, getJson, setToken, token } from "../src/api/client";
import { outcome, rescale, savepoint, upload } from "../src/api/operations";

interface Sent {
  path: string;
  init: RequestInit;
}

let sent: Sent[];
let answers: Response[];

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

beforeEach(() => {
  sent = [];
  answers = [];
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    sent.push({ path, init });
    const answer = answers.shift();
    if (!answer) throw new TypeError("network");
    return answer;
  });
});

afterEach(() => vi.unstubAllGlobals());

describe("a call", () => {
  it("brings the token if there is one", async () => {
    answers.push(json({}), json({}));
    await getJson("/overview");
    setToken("s3cret");
    await getJson("/overview");
    expect(sent.map((s) => (s.init.headers as Record<string, string>)["Authorization"])).toEqual([
      undefined,
      "Bearer s3cret",
    ]);
    setToken("");
    expect(token()).toBe("");
  });

  it("tells what the server said", async () => {
    answers.push(json({ errors: ["there is no job 'x'"] }, 404), new Response("oops", { status: 500 }));
    const missing = (await getJson("/jobs/x").catch((e: unknown) => e)) as ApiError;
    expect([missing.missing, missing.message]).toEqual([true, "there is no job 'x'"]);
    await expect(getJson("/jobs/x")).rejects.toThrow("oops");
  });

  it("tells that nobody answers", async () => {
    const error = (await getJson("/overview").catch((e: unknown) => e)) as ApiError;
    expect([error.status, error.missing]).toEqual([0, false]);
  });
});

describe("an operation", () => {
  it("is followed to its end", async () => {
    answers.push(
      json({ "request-id": "t1" }, 202),
      json({ status: { id: "IN_PROGRESS" }, operation: null }),
      json({ status: { id: "COMPLETED" }, operation: { location: "/sp/1" } }),
    );
    expect(await savepoint("j", "/sp")).toBe("/sp/1");
    expect(sent.map((s) => s.path)).toEqual([
      "/jobs/j/savepoints",
      "/jobs/j/savepoints/t1",
      "/jobs/j/savepoints/t1",
    ]);
    expect(sent[0]?.init.body).toBe('{"target-directory":"/sp"}');
  });

  it("asks for its own kind of status", async () => {
    answers.push(json({ "request-id": "t2" }, 202), json({ status: { id: "COMPLETED" }, operation: {} }));
    await rescale("j", 3);
    expect(sent.map((s) => s.path)).toEqual(["/jobs/j/rescaling?parallelism=3", "/jobs/j/rescaling/t2"]);
  });

  it("fails with the cause", () => {
    const failed = { "failure-cause": { class: "CheckpointError", "stack-trace": "CheckpointError: no" } };
    expect(() => outcome({ status: { id: "COMPLETED" }, operation: failed })).toThrow("CheckpointError: no");
  });

  it("uploads a file under its name", async () => {
    answers.push(json({ filename: "id_job.py" }));
    expect(await upload(new File(["x"], "job.py"))).toBe("id_job.py");
    expect((sent[0]?.init.body as FormData).get("file")).toMatchObject({ name: "job.py" });
  });
});
