// Where a view of records gets them: as they arrive, from an offset, from a time, or from a search.

import { get, isAborted, send, target, type TopicInfo } from "./api";
import { merged, parseRow, parseRows, type Row } from "./decode/row";
import { count } from "./format";
import { BEGIN, type Criteria, type Progress, search } from "./search";
import { type Handler, subscribe } from "./subscribe";

/** Records that the page keeps; the oldest make room. */
export const ROWS_MAX = 2000;
/** Records of a page from an offset or a time, of all its partitions together. */
const PAGE = 100;
/** Matches after which a search stops until it is continued. */
export const FOUND_MAX = 500;
/** Interval at which the view shows new records, in milliseconds. */
const SHOW_MS = 250;
/** Partitions that are read at once. */
const READS = 6;

export interface Shown {
  rows: Row[];
  status: string;
  error: Error | undefined;
  /** The search, or the subscription, is running. */
  isRunning: boolean;
  /** Continues the search. */
  more: (() => void) | undefined;
}

export interface Source {
  topic: TopicInfo;
  /** One, or all of them. */
  partition: number | undefined;
  at: string;
  where: string;
  /** Records before the end with which a live view begins. */
  history: number;
  criteria: Omit<Criteria, "topic" | "partition">;
  signal: AbortSignal;
}

export type Show = (change: Partial<Shown>) => void;

/** Reads records from an offset, without waiting for them. */
async function read(source: Source, partition: number, offset: number, most: number): Promise<Row[]> {
  const name = source.topic.name;
  const url = target("/records", {
    "topic-name": name,
    partition,
    offset,
    "max-records": most,
    "max-bytes": 1 << 20,
    timeout: "0s",
  });
  const response = await send(url, { signal: source.signal, headers: { Accept: "application/json" } });
  return parseRows(await response.text(), name, partition);
}

/** The newest records, then those that arrive. */
export async function follow(source: Source, show: Show): Promise<void> {
  const { topic, partition, where, history, signal } = source;
  // The oldest first.
  let kept: Row[] = [];
  const positions = new Map<number, number>();
  if (where === "") {
    const { offsets = [] } = await get<TopicInfo>(target("/topic", { "topic-name": topic.name }), { signal });
    const wanted = [...offsets.entries()].filter(([number]) => number === (partition ?? number));
    const each = Math.max(1, Math.ceil(history / wanted.length));
    for (const [number, { first_offset: first, next_offset: next }] of wanted) {
      // Of many partitions some are enough to begin with.
      const start = kept.length < history ? Math.max(first, next - each) : next;
      const found = start < next ? await read(source, number, start, each) : [];
      kept.push(...found);
      positions.set(number, (found.at(-1)?.offset ?? start - 1) + 1);
    }
    kept = merged(kept);
  }
  let [state, received, skipped, timer] = ["connecting", 0, 0, 0];
  const showNow = (change: Partial<Shown> = {}): void => {
    const counts = [received > 0 && `${count(received)} received`, skipped > 0 && `${count(skipped)} skipped`];
    const status = [state, ...counts.filter((part) => part !== false)].join(" · ");
    show({ rows: kept.slice(-ROWS_MAX).reverse(), status, ...change });
  };
  const showSoon = (): void => {
    if (timer !== 0) return;
    timer = window.setTimeout(() => {
      timer = 0;
      showNow();
    }, SHOW_MS);
  };
  showNow();
  const handler: Handler = {
    record: (line) => {
      received += 1;
      kept.push(parseRow(line, topic.name, partition ?? 0));
      if (kept.length > 2 * ROWS_MAX) kept = kept.slice(-ROWS_MAX);
      showSoon();
    },
    skipped: (records) => {
      skipped += records;
      showSoon();
    },
    deleted: () => showNow({ error: new Error("The topic was deleted.") }),
    state: (isOpen, error) => {
      state = isOpen ? "live" : "connecting again";
      showNow({ error });
    },
  };
  await subscribe({ topic: topic.name, partition, where, positions }, handler, signal);
  clearTimeout(timer);
}

/** Records of each partition on a page. */
export const pageOf = (topic: TopicInfo, partition: number | undefined): number =>
  partition === undefined ? Math.max(5, Math.ceil(PAGE / topic.partitions)) : PAGE;

/** Calls for each partition, some at once. */
async function forEach<T>(source: Source, call: (partition: number) => Promise<T>): Promise<T[]> {
  const { topic, partition } = source;
  if (partition !== undefined) return [await call(partition)];
  const results: T[] = [];
  for (let first = 0; first < topic.partitions; first += READS) {
    const numbers = Array.from({ length: Math.min(READS, topic.partitions - first) }, (_, index) => first + index);
    results.push(...(await Promise.all(numbers.map(call))));
  }
  return results;
}

/** A page of records from an offset on: of each partition, if there are several. */
export async function fromOffset(source: Source, show: Show): Promise<void> {
  const each = pageOf(source.topic, source.partition);
  const extents = source.topic.offsets ?? [source.topic];
  const start = (partition: number): number => {
    const { first_offset: first, next_offset: next } = extents[partition] ?? source.topic;
    return source.at === "" ? Math.max(first, next - each) : Math.max(first, Number(source.at));
  };
  const found = await forEach(source, (partition) => read(source, partition, start(partition), each));
  page(source, found.flat(), show);
}

/** A page of records from the first one that was appended at a time or later: of each partition. */
export async function fromTime(source: Source, show: Show): Promise<void> {
  const { topic, at, signal } = source;
  if (at === "") return show({ rows: [], status: "choose a time" });
  const each = pageOf(topic, source.partition);
  const found = await forEach(source, async (partition) => {
    const url = target("/offset", { "topic-name": topic.name, partition, time: at });
    const { offset } = await get<{ offset: number }>(url, { signal });
    return read(source, partition, offset, each);
  });
  page(source, found.flat(), show);
}

function page(source: Source, found: Row[], show: Show): void {
  const rows = source.topic.partitions > 1 ? merged(found) : found;
  const [first, last] = [rows[0], rows.at(-1)];
  const isOne = source.partition !== undefined || source.topic.partitions === 1;
  const status =
    first === undefined || last === undefined
      ? "no records from here on"
      : isOne
        ? `${count(first.offset)} to ${count(last.offset)}`
        : `${count(rows.length)} records of ${count(source.topic.partitions)} partitions`;
  show({ rows, status });
}

/** The records that a search in the broker finds. */
export async function searched(source: Source, show: Show): Promise<void> {
  const { topic, partition, criteria, signal } = source;
  if (criteria.value === "") return show({ rows: [], status: "enter what to search for" });
  let rows: Row[] = [];
  let state = BEGIN;
  let newest = BEGIN.progress;
  let timer = 0;
  const showNow = (end = ""): void => {
    clearTimeout(timer);
    timer = 0;
    const all = newest.offsets + newest.offsets_left;
    const unreadable = newest.unreadable === 0 ? "" : `, ${count(newest.unreadable)} unreadable`;
    const looked = `${count(rows.length)} found in ${count(newest.offsets)} of ${count(all)} records${unreadable}`;
    show({ rows: inOrder(rows, criteria.isNewestFirst), status: looked + end });
  };
  const showSoon = (): void => {
    if (timer === 0) timer = window.setTimeout(showNow, SHOW_MS);
  };
  const handler = {
    match: (row: Row) => {
      rows = [...rows, row];
      showSoon();
    },
    progress: (progress: Progress) => {
      newest = progress;
      showSoon();
    },
  };
  const run = async (): Promise<void> => {
    show({ isRunning: true, more: undefined });
    try {
      state = await search({ topic: topic.name, partition, ...criteria }, state, FOUND_MAX, handler, signal);
      show({ more: state.cursor === undefined ? undefined : () => void run() });
    } catch (error) {
      if (!isAborted(error)) show({ error: error as Error });
    }
    showNow(signal.aborted ? ", stopped" : "");
    show({ isRunning: false });
  };
  await run();
}

/** The order of the search, across partitions by time. */
function inOrder(rows: Row[], isNewestFirst: boolean): Row[] {
  const ascending = merged(rows);
  return isNewestFirst ? ascending.reverse() : ascending;
}
