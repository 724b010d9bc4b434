// A search in the broker: its response is a stream of lines, and ends with the cursor at which the next one continues.

import { ApiError, send, target } from "./api";
import { toBroker } from "./clock";
import { parseRow, type Row } from "./decode/row";

export interface Progress {
  matches: number;
  offsets: number;
  offsets_left: number;
  bytes: number;
  unreadable: number;
}

export interface Criteria {
  topic: string;
  partition: number | undefined;
  /** The parameter that has the condition, and its value. */
  kind: "text" | "regex" | "where" | "key";
  value: string;
  from: string;
  to: string;
  isNewestFirst: boolean;
}

export interface Handler {
  match: (row: Row) => void;
  progress: (progress: Progress) => void;
}

interface Line {
  progress?: Progress;
  end?: Progress & { resume?: string; code?: string; error?: string };
}

/** Matches of one request. The next one continues where it ended. */
const MATCHES = 200;

/** How far a search is, and where it continues. */
export interface State {
  progress: Progress;
  /** Undefined at the beginning, and when nothing is left. */
  cursor: string | undefined;
}

export const BEGIN: State = {
  progress: { matches: 0, offsets: 0, offsets_left: 0, bytes: 0, unreadable: 0 },
  cursor: undefined,
};

/** Searches on from a state until `matches` more were found or nothing is left; returns the state after it. */
export async function search(
  criteria: Criteria,
  from: State,
  matches: number,
  handler: Handler,
  signal: AbortSignal,
): Promise<State> {
  let { progress, cursor } = from;
  for (;;) {
    const left = from.progress.matches + matches - progress.matches;
    const end = await request(criteria, cursor, Math.min(MATCHES, left), handler, signal, progress);
    if (end.error !== undefined) throw new ApiError(0, end.code ?? "", end.error);
    cursor = end.resume;
    progress = added(progress, end);
    if (cursor === undefined || progress.matches >= from.progress.matches + matches) return { progress, cursor };
  }
}

async function request(
  criteria: Criteria,
  resume: string | undefined,
  max: number,
  handler: Handler,
  signal: AbortSignal,
  before: Progress,
): Promise<NonNullable<Line["end"]>> {
  const { topic, partition, kind, value, from, to, isNewestFirst } = criteria;
  const given = (text: string): string | undefined => (text === "" ? undefined : toBroker(text));
  const where =
    resume === undefined
      ? { partition, from: given(from), to: given(to), "newest-first": isNewestFirst }
      : { resume };
  const url = target("/search", { "topic-name": topic, [kind]: value, "max-records": max, ...where });
  const response = await send(url, { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      // The text decides: a record's own members could have any name.
      const line = /^\{"(?:progress|end)":/.test(text) ? (JSON.parse(text) as Line) : undefined;
      const progress = line?.progress ?? line?.end;
      if (progress !== undefined) handler.progress(added(before, progress));
      else handler.match(parseRow(text, topic, 0));
      if (line?.end !== undefined) return line.end;
    }
  }
  throw new ApiError(0, "unreachable", "The search broke off before its end: search again.");
}

const added = (before: Progress, now: Progress): Progress => ({
  matches: before.matches + now.matches,
  offsets: before.offsets + now.offsets,
  offsets_left: now.offsets_left,
  bytes: before.bytes + now.bytes,
  unreadable: before.unreadable + now.unreadable,
});
