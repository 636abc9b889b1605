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
  form?: FormData;
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
      body: call.form ?? (call.json === undefined ? undefined : JSON.stringify(call.json)),
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
  const text = await response.text();
  try {
    const errors: unknown = JSON.parse(text).errors;
    if (Array.isArray(errors) && errors.length > 0) return errors.join("\n");
  } catch {
    // Not JSON: say what there is.
  }
  return text || `${response.status} ${response.statusText}`;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await send(path, { signal })).text();
}

export async function request<T>(path: string, call: Call): Promise<T> {
  return (await (await send(path, call)).json()) as T;
}
