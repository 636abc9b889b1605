/** Calls of the REST interface: the token, errors as one type, text and JSON. */

const TOKEN = "headrace.token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  /** The JobManager does not know this, or not any more. */
  get missing(): boolean {
    return this.status === 404;
  }

  get unauthorized(): boolean {
    return this.status === 401;
  }
}

/** The answer never came; 0 stands for no status. */
export const UNREACHABLE = 0;

export function token(): string {
  return sessionStorage.getItem(TOKEN) ?? "";
}

/** Kept for this tab only: a token is worth running code. */
export function setToken(value: string): void {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
}

export interface Call {
  method?: string;
  json?: unknown;
  signal?: AbortSignal;
}

async function send(path: string, call: Call): Promise<Response> {
  const headers: Record<string, string> = {};
  const secret = token();
  if (secret) headers["Authorization"] = `Bearer ${secret}`;
  if (call.json !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method: call.method ?? "GET",
      headers,
      body: call.json === undefined ? undefined : JSON.stringify(call.json),
      signal: call.signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(UNREACHABLE, "the JobManager does not answer");
  }
  if (!response.ok) throw new ApiError(response.status, await reason(response));
  return response;
}

async function reason(response: Response): Promise<string> {
  return reasonIn(await response.text()) || `${response.status} ${response.statusText}`;
}

function reasonIn(text: string): string {
  try {
    const errors: unknown = JSON.parse(text).errors;
    if (Array.isArray(errors) && errors.length > 0) return errors.join("\n");
  } catch {
    // Not JSON: say what there is.
  }
  return text;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

export interface Part {
  bytes: Uint8Array;
  /** Of the whole. */
  size: number;
}

/** A part of a log. */
export async function getPart(path: string, offset: number, limit: number, signal?: AbortSignal): Promise<Part> {
  const response = await send(`${path}?offset=${offset}&limit=${limit}`, { signal });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { bytes, size: Number(response.headers.get("Headrace-Log-Size") ?? offset + bytes.length) };
}

/** Sends a form, and tells how much of it is on its way: a thing that `fetch` does not know. */
export function sendForm<T>(path: string, form: FormData, onProgress: (share: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", path);
    const secret = token();
    if (secret) call.setRequestHeader("Authorization", `Bearer ${secret}`);
    call.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    call.onerror = () => reject(new ApiError(UNREACHABLE, "the JobManager does not answer, or refuses so large a file"));
    call.onload = () => {
      if (call.status >= 200 && call.status < 300) resolve(JSON.parse(call.responseText) as T);
      else reject(new ApiError(call.status, reasonIn(call.responseText) || `${call.status} ${call.statusText}`));
    };
    call.send(form);
  });
}

export async function request<T>(path: string, call: Call): Promise<T> {
  return (await (await send(path, call)).json()) as T;
}
