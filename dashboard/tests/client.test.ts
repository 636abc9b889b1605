import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, getJson, getPart, setToken, token } from "../src/api/client";
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

});

/** Answers at once, after it told that half of the request is on its way. */
class FakeRequest {
  static status = 200;
  static answer = "";
  static form: FormData | undefined;
  static headers: Record<string, string> = {};
  upload: { onprogress?: (event: object) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  status = 0;
  statusText = "";
  responseText = "";

  open() {}

  setRequestHeader(name: string, value: string) {
    FakeRequest.headers[name] = value;
  }

  send(form: FormData) {
    FakeRequest.form = form;
    this.upload.onprogress?.({ lengthComputable: true, loaded: 1, total: 2 });
    this.status = FakeRequest.status;
    this.responseText = FakeRequest.answer;
    if (this.status) this.onload?.();
    else this.onerror?.();
  }
}

describe("an upload", () => {
  const file = new File(["x"], "job.py");

  beforeEach(() => {
    FakeRequest.headers = {};
    vi.stubGlobal("XMLHttpRequest", FakeRequest);
  });

  it("sends a file under its name, and tells how far it is", async () => {
    Object.assign(FakeRequest, { status: 200, answer: '{"filename": "id_job.py"}' });
    setToken("s3cret");
    const shares: number[] = [];
    expect(await upload(file, (share) => shares.push(share))).toBe("id_job.py");
    expect(FakeRequest.form?.get("file")).toMatchObject({ name: "job.py" });
    expect(FakeRequest.headers).toEqual({ Authorization: "Bearer s3cret" });
    expect(shares).toEqual([0.5]);
  });

  it("fails with the reason", async () => {
    Object.assign(FakeRequest, { status: 413, answer: '{"errors": ["too large"]}' });
    await expect(upload(file, () => {})).rejects.toThrow("too large");
    FakeRequest.status = 0;
    await expect(upload(file, () => {})).rejects.toThrow("does not answer");
  });
});

describe("a part of a log", () => {
  it("has the size of the whole", async () => {
    answers.push(new Response("ab\u00e4", { headers: { "Headrace-Log-Size": "90" } }));
    const part = await getPart("/jobmanager/log", 7, 4);
    expect([part.bytes.length, part.size, sent[0]?.path]).toEqual([4, 90, "/jobmanager/log?offset=7&limit=4"]);
  });
});
