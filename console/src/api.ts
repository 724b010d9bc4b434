// Requests to the broker: the key, errors with the broker's own sentence, and the shapes of responses.

export interface Extent {
  first_offset: number;
  next_offset: number;
}

export interface TopicInfo extends Extent {
  name: string;
  partitions: number;
  objects: number;
  bytes: number;
  latest_commit_at: string | null;
  payload: "bytes" | "value";
  retain_hours: number | null;
  retain_bytes: number | null;
  cleanup_policy?: string;
  tombstone_hours?: number | null;
  offsets?: Extent[];
  /** In a list with totals; null if a partition can't be opened. */
  records?: number | null;
  next_offsets?: number | null;
}

export interface GroupSummary {
  name: string;
  state: string;
  members: number;
  /** In a list with totals, unless one of its topics can't be opened. */
  topics?: string[];
  lag?: number;
}

export interface GroupInfo {
  name: string;
  state: string;
  strategy: string;
  members: {
    member: string;
    instance?: string;
    client: string;
    address: string;
    partitions: { topic: string; partition: number }[];
  }[];
  offsets: {
    topic: string;
    partition: number;
    offset: number;
    next_offset: number;
    lag: number;
    metadata?: string;
  }[];
}

export interface Stats {
  version: string;
  started_at: string;
  memory_bytes: number;
  pool_bytes: number;
  connections_max: number;
  topics: number;
  failed_topics: number;
  step_seconds: number;
  steps: Record<string, (number | null)[]>;
}

/** A response that is an error, or none at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const KEY = "rawline-key";
const listeners = new Set<() => void>();
let isKeyNeeded = false;

/** Whether the broker has refused the key, or got none. */
export const keyNeeded = (): boolean => isKeyNeeded;

/** Calls back when a key is needed, or was given. */
export function onKey(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Keeps the key until the tab is closed. */
export function setKey(key: string): void {
  sessionStorage.setItem(KEY, key);
  isKeyNeeded = false;
  listeners.forEach((listener) => listener());
}

export const hasKey = (): boolean => sessionStorage.getItem(KEY) !== null;

/** Asks for another key. */
export function forgetKey(): void {
  sessionStorage.removeItem(KEY);
  askForKey();
}

function askForKey(): void {
  isKeyNeeded = true;
  listeners.forEach((listener) => listener());
}

/** A path with a query; parameters that are undefined are left out. */
export function target(path: string, query: Record<string, string | number | boolean | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Sends a request; throws unless it succeeds. */
export async function send(url: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const key = sessionStorage.getItem(KEY);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(url, { cache: "no-store", credentials: "omit", ...options, headers });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The broker does not respond.");
  }
  if (response.ok) return response;
  // Not if another key was given while the request was in flight.
  if (response.status === 401 && key === sessionStorage.getItem(KEY)) askForKey();
  const body = await response.text().catch(() => "");
  let found: { code?: string; error?: string } = {};
  try {
    found = JSON.parse(body) as typeof found;
  } catch {
    // A proxy's page.
  }
  throw new ApiError(response.status, found.code ?? "", found.error ?? `The response is ${response.status}.`);
}

export async function get<T>(url: string, options: RequestInit = {}): Promise<T> {
  return (await (await send(url, { ...options, headers: { Accept: "application/json" } })).json()) as T;
}

export async function sendJson<T>(method: string, url: string, body: unknown): Promise<T> {
  return (await (await send(url, { method, body: JSON.stringify(body) })).json()) as T;
}

export const isAborted = (error: unknown): boolean => (error as Error)?.name === "AbortError";

/** The beginning of a record, and its size in bytes. */
export async function recordBytes(
  topic: string,
  partition: number,
  offset: number,
  bytesMax: number,
): Promise<{ bytes: Uint8Array; size: number }> {
  const stop = new AbortController();
  const url = target("/record", { "topic-name": topic, partition, offset });
  const response = await send(url, { signal: stop.signal });
  const size = Number(response.headers.get("content-length") ?? 0);
  const bytes = new Uint8Array(Math.min(size, bytesMax));
  const reader = response.body?.getReader();
  let length = 0;
  while (reader !== undefined && length < bytes.length) {
    const { done, value } = await reader.read();
    if (done) break;
    const piece = value.subarray(0, bytes.length - length);
    bytes.set(piece, length);
    length += piece.length;
  }
  // The rest isn't wanted.
  stop.abort();
  return { bytes: bytes.subarray(0, length), size };
}
