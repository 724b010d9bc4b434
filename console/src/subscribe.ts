// A subscription as a stream of server-sent events. Read with fetch, which can send a key; what isn't read, the
// broker doesn't send.

import { ApiError, isAborted, send, target } from "./api";

export interface Handler {
  /** The JSON of a record. */
  record: (line: string) => void;
  skipped: (records: number) => void;
  deleted: () => void;
  /** Whether events arrive. */
  state: (isOpen: boolean, error?: Error) => void;
}

export interface Options {
  topic: string;
  /** One, or all of them. */
  partition: number | undefined;
  /** A filter on structured values. */
  where: string;
  /** The offset of the next record, by partition. */
  positions: Map<number, number>;
}

/** Pause before it connects again, in milliseconds. */
const RETRY_MS = 1000;

/** Receives records until `signal` aborts, and connects again where it was after a failure. */
export async function subscribe(options: Options, handler: Handler, signal: AbortSignal): Promise<void> {
  const positions = [...options.positions].map(([partition, next]) => `${partition}=${next}`);
  let cursor = positions.length === 0 ? undefined : `${Date.now() * 1000};${options.topic}/${positions.join(",")}`;
  while (!signal.aborted) {
    try {
      const url = target("/subscribe", {
        "topic-name": options.topic,
        partition: options.partition,
        where: options.where === "" ? undefined : options.where,
        // A page shows a few records per second; it can't show a million.
        slow: "skip",
        resume: cursor,
      });
      const response = await send(url, { signal, headers: { Accept: "text/event-stream" } });
      handler.state(true);
      await events(response, (event) => {
        if (event.id !== undefined) cursor = event.id;
        if (event.data === undefined) return;
        if (event.type === "message") handler.record(event.data);
        else if (event.type === "skipped") handler.skipped((JSON.parse(event.data) as { records: number }).records);
        else if (event.type === "deleted") handler.deleted();
        else if (event.type === "end") {
          const end = JSON.parse(event.data) as { code: string; error: string };
          throw new ApiError(0, end.code, end.error);
        }
      });
      handler.state(false);
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      handler.state(false, error as Error);
      // Sending it again fails in the same way.
      const { status = 0, code = "" } = error as ApiError;
      if ((status >= 400 && status < 500 && status !== 408) || code === "topic_not_found") return;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

interface Event {
  type: string;
  id: string | undefined;
  data: string | undefined;
}

/** Takes the events of a response apart. */
async function events(response: Response, take: (event: Event) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let event: Event = { type: "message", id: undefined, data: undefined };
  const line = (text: string): void => {
    if (text === "") {
      const whole = event;
      event = { type: "message", id: undefined, data: undefined };
      return take(whole);
    }
    const colon = text.indexOf(":");
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
    else if (name === "data") event.data = event.data === undefined ? value : `${event.data}\n${value}`;
  };
  // Pieces of a line that isn't whole yet: a long record comes in many.
  let rest: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = value.split("\n");
      const last = lines.pop() ?? "";
      for (const part of lines) {
        rest.push(part);
        line(rest.join("").replace(/\r$/, ""));
        rest = [];
      }
      if (last !== "") rest.push(last);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
