// Records of a topic: as they arrive, or from an offset, a time, or with a key.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, isAborted, send, target, type TopicInfo } from "../api";
import { decodeAvro, fingerprintOf, schemaOf, type Schema } from "../decode/avro";
import { matcher, merged, parseRow, parseRows, type Row } from "../decode/row";
import { decodeValue, plainText } from "../decode/value";
import { Safe, utf8 } from "../escape";
import { clock, count } from "../format";
import { go, place } from "../route";
import { type Handler, subscribe } from "../subscribe";
import { Failure } from "../ui/dialog";
import { Search, useTyped } from "../ui/field";
import { type Column, Table } from "../ui/table";
import { type Format, FORMAT_NAMES, FORMATS, Record } from "./record";

/** Records that the page keeps; the oldest make room. */
const ROWS_MAX = 2000;
/** Records before the end with which a live view begins, of all partitions together. */
const HISTORY = 50;
/** The same while a search is typed, which covers what the page has loaded. */
const SEARCHED_HISTORY = ROWS_MAX;
/** Records of a page from an offset. */
const PAGE = 100;
/** Records that a search by key reads at once, and that it finds at most. */
const SEARCH_BATCH = 5000;
const FOUND_MAX = 500;
/** Interval at which the view shows new records, in milliseconds. */
const SHOW_MS = 250;

const MODES = { live: "Live", offset: "From offset", time: "From time", key: "By key" };
type Mode = keyof typeof MODES;

interface Shown {
  rows: Row[];
  status: string;
  error: Error | undefined;
  /** The search, or the subscription, is running. */
  isRunning: boolean;
}

export function Records({ topic, query }: { topic: TopicInfo; query: URLSearchParams }): JSX.Element {
  const asked = query.get("from") ?? "live";
  const mode: Mode = asked in MODES ? (asked as Mode) : "live";
  const partition = query.get("partition") === null ? undefined : Number(query.get("partition"));
  const at = query.get("at") ?? "";
  const where = query.get("where") ?? "";
  const [search, setSearch] = useState("");
  const [format, setFormat] = useState<Format>("auto");
  const [opened, setOpened] = useState<Row>();
  const [isPaused, setPaused] = useState(false);
  const [shown, setShown] = useState<Shown>({ rows: [], status: "", error: undefined, isRunning: true });
  const stop = useRef<AbortController | undefined>(undefined);
  // A live view begins again with more records at the first search.
  const [isSearching, setSearching] = useState(false);
  const offsets = topic.offsets?.[partition ?? 0] ?? topic;
  // Where a page begins by default: not where it would begin when more records have arrived.
  const start = useMemo(
    () => Number(at === "" ? Math.max(offsets.first_offset, offsets.next_offset - PAGE) : at),
    [topic.name, mode, partition, at],
  );
  useEffect(() => {
    const abort = new AbortController();
    stop.current = abort;
    if (isPaused) return undefined;
    const from = mode === "offset" ? String(start) : at;
    const history = isSearching ? SEARCHED_HISTORY : HISTORY;
    const source = { topic, partition, at: from, where, history, signal: abort.signal };
    // Also after the search was stopped.
    let isCurrent = true;
    const show = (change: Partial<Shown>): void => {
      if (isCurrent) setShown((old) => ({ ...old, ...change }));
    };
    show({ rows: [], status: "", isRunning: true, error: undefined });
    const run = { live: follow, offset: fromOffset, time: fromTime, key: withKey }[mode];
    run(source, show)
      .catch((error: Error) => isAborted(error) || show({ error }))
      .finally(() => show({ isRunning: false }));
    return () => {
      isCurrent = false;
      abort.abort();
    };
  }, [topic.name, topic.partitions, mode, partition, at, where, isPaused, isSearching]);
  const set = (change: { [name: string]: string | number | undefined }): void =>
    go(place(["topic", topic.name, "records"], { from: mode, partition, at, where, ...change }));
  const matches = useMemo(() => matcher(search), [search]);
  const rows = useMemo(() => shown.rows.filter(matches), [shown.rows, matches]);
  const schemas = useSchemas(rows);
  const hasManyPartitions = topic.partitions > 1;
  const columns: Column<Row>[] = [
    ...(hasManyPartitions
      ? [{ id: "partition", title: "P", isNumber: true, cell: (row: Row) => row.partition }]
      : []),
    { id: "offset", title: "Offset", isNumber: true, cell: (row) => row.offset },
    { id: "time", title: "Time", cell: (row) => clock(row.time) },
    ...(rows.some((row) => row.key !== undefined)
      ? [{ id: "key", title: "Key", cell: (row: Row) => <Safe text={(row.key ?? "").slice(0, 80)} /> }]
      : []),
    { id: "preview", title: "Record", cell: (row) => <Safe text={preview(row, format, schemas)} /> },
  ];
  return (
    <div class={opened === undefined ? "records" : "records split"}>
      <div class="tools" role="toolbar" aria-label="Which records">
        <select
          aria-label="Which records"
          value={mode}
          onChange={(event) => set({ from: event.currentTarget.value, at: undefined })}
        >
          {Object.entries(MODES).map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
        {hasManyPartitions && (
          <select
            aria-label="Partition"
            value={partition ?? (mode === "live" || mode === "key" ? "" : 0)}
            onChange={(event) =>
              set({ partition: event.currentTarget.value === "" ? undefined : event.currentTarget.value })
            }
          >
            {(mode === "live" || mode === "key") && <option value="">all partitions</option>}
            {Array.from({ length: topic.partitions }, (_, number) => (
              <option key={number} value={number}>
                partition {number}
              </option>
            ))}
          </select>
        )}
        {mode === "live" && (
          <button type="button" data-shortcut="p" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? "Resume" : "Pause"}
          </button>
        )}
        {mode === "offset" && (
          <>
            <Enter label="Offset" type="number" value={String(start)} onEnter={(value) => set({ at: value })} />
            <button
              type="button"
              disabled={start <= offsets.first_offset}
              onClick={() => set({ at: Math.max(offsets.first_offset, start - PAGE) })}
            >
              Older
            </button>
            <button type="button" onClick={() => set({ at: (shown.rows.at(-1)?.offset ?? start - 1) + 1 })}>
              Newer
            </button>
          </>
        )}
        {mode === "time" && (
          <Enter label="Time" type="datetime-local" value={at} onEnter={(value) => set({ at: value })} />
        )}
        {mode === "key" && (
          <>
            <Enter label="Key" type="text" value={at} onEnter={(value) => set({ at: value })} />
            <button type="button" disabled={!shown.isRunning || at === ""} onClick={() => stop.current?.abort()}>
              Stop
            </button>
          </>
        )}
        <Search
          label="Search shown records"
          placeholder="Search text, or field=value   /"
          title="Text, or conditions such as id.resp_p=53 and query=example.com"
          value={search}
          onSearch={(value) => {
            setSearch(value);
            if (mode === "live" && value !== "") setSearching(true);
          }}
        />
        {mode === "live" && topic.payload === "value" && (
          <Enter
            label="Filter in the broker"
            type="text"
            placeholder="Filter in the broker: field=value"
            value={where}
            onEnter={(value) => set({ where: value })}
          />
        )}
        <span class="gap" />
        <span class="quiet" role="status">
          {shown.status}
          {search !== "" && ` · ${count(rows.length)} match`}
        </span>
        <select
          aria-label="Format"
          value={format}
          onChange={(event) => setFormat(event.currentTarget.value as Format)}
        >
          {FORMATS.map((id) => (
            <option key={id} value={id}>
              {FORMAT_NAMES[id]}
            </option>
          ))}
        </select>
      </div>
      <Failure error={shown.error} />
      <div class="panes">
        <Table
          label="Records"
          rows={rows}
          rowKey={(row) => `${row.partition}/${row.offset}`}
          columns={columns}
          onOpen={setOpened}
          opened={opened && `${opened.partition}/${opened.offset}`}
          empty={
            shown.rows.length > 0
              ? noMatch(shown.rows.length)
              : mode === "live"
                ? "No records yet."
                : shown.isRunning
                  ? ""
                  : "No records."
          }
        />
        {opened !== undefined && (
          <Record row={opened} payload={topic.payload} format={format} onClose={() => setOpened(undefined)} />
        )}
      </div>
    </div>
  );
}

/** The message of a search without results. */
const noMatch = (searched: number): string =>
  `None of the ${count(searched)} records that are loaded matches. Older ones are found by offset, time or key.`;

/** A field whose value counts when it is confirmed. */
function Enter(props: {
  label: string;
  type: "text" | "number" | "datetime-local";
  value: string;
  placeholder?: string;
  onEnter: (value: string) => void;
}): JSX.Element {
  const [value, setValue] = useTyped(props.value);
  return (
    <form
      class="enter"
      onSubmit={(event) => {
        event.preventDefault();
        props.onEnter(value);
      }}
    >
      <input
        {...({ type: props.type } as object)}
        aria-label={props.label}
        placeholder={props.placeholder ?? props.label}
        step={props.type === "datetime-local" ? 1 : undefined}
        spellcheck={false}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      <button type="submit">Show</button>
    </form>
  );
}

interface Source {
  topic: TopicInfo;
  partition: number | undefined;
  at: string;
  where: string;
  /** Records before the end with which a live view begins. */
  history: number;
  signal: AbortSignal;
}

type Show = (change: Partial<Shown>) => void;

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
async function follow(source: Source, show: Show): Promise<void> {
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

/** A page of records from an offset on. */
async function fromOffset(source: Source, show: Show): Promise<void> {
  const { partition = 0, at } = source;
  const start = Number(at);
  const rows = await read(source, partition, start, PAGE);
  const last = rows.at(-1);
  show({
    rows,
    status: last === undefined ? "no records from here on" : `${count(start)} to ${count(last.offset)}`,
  });
}

/** A page of records from the first one that was appended at a time or later. */
async function fromTime(source: Source, show: Show): Promise<void> {
  const { topic, partition = 0, at, signal } = source;
  if (at === "") return show({ rows: [], status: "choose a time" });
  const time = new Date(at).toISOString();
  const url = target("/offset", { "topic-name": topic.name, partition, time });
  const { offset } = await get<{ offset: number }>(url, { signal });
  await fromOffset({ ...source, at: String(offset) }, show);
}

/** The records with a key, the newest first. */
async function withKey(source: Source, show: Show): Promise<void> {
  const { topic, partition, at: key, signal } = source;
  if (key === "") return show({ rows: [], status: "enter a key" });
  const wanted = (topic.offsets ?? []).map((extent, number) => ({ ...extent, number }));
  const partitions = wanted.filter(({ number }) => number === (partition ?? number));
  const all = partitions.reduce((sum, extent) => sum + extent.next_offset - extent.first_offset, 0);
  const rows: Row[] = [];
  let looked = 0;
  const status = (end: string): void =>
    show({
      rows: [...rows],
      status: `${count(rows.length)} found in ${count(looked)} of ${count(all)} records${end}`,
    });
  signal.addEventListener("abort", () => status(", stopped"));
  for (const { number, first_offset: first, next_offset: next } of partitions) {
    for (let end = next; end > first && rows.length < FOUND_MAX;) {
      const start = Math.max(first, end - SEARCH_BATCH);
      const found: Row[] = [];
      // A response may have fewer records than requested.
      for (let from = start; from < end;) {
        const part = await read(source, number, from, end - from);
        const last = part.at(-1);
        if (last === undefined) break;
        found.push(...part.filter((row) => row.key === key && row.offset < end));
        from = last.offset + 1;
        status("");
      }
      rows.push(...found.reverse());
      looked += end - start;
      end = start;
      status("");
    }
  }
  status("");
}

/** The schemas of the Avro records among these, as they are loaded. */
function useSchemas(rows: Row[]): Map<string, Schema> {
  const [schemas, setSchemas] = useState(new Map<string, Schema>());
  const asked = useRef(new Set<string>());
  useEffect(() => {
    for (const row of rows.slice(0, 200)) {
      const fingerprint = row.kind === "base64" ? fingerprintOf(rowBytes(row)) : undefined;
      if (fingerprint === undefined || asked.current.has(fingerprint)) continue;
      asked.current.add(fingerprint);
      schemaOf(fingerprint)
        .then((schema) => schema !== undefined && setSchemas((old) => new Map(old).set(fingerprint, schema)))
        .catch(() => undefined);
    }
  }, [rows]);
  return schemas;
}

/** The kept bytes of a record. */
function rowBytes(row: Row): Uint8Array {
  if (row.kind !== "base64") return new TextEncoder().encode(row.text);
  return Uint8Array.from(atob(row.text.slice(0, row.text.length & ~3)), (character) => character.charCodeAt(0));
}

/** A record in one line. */
function preview(row: Row, format: Format, schemas: Map<string, Schema>): string {
  const characters = 400;
  if (row.kind === "null") return "null";
  if (format === "hex") {
    return Array.from(rowBytes(row).subarray(0, 64), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  }
  const isContainer = /^[\f\r\x0e]/.test(row.text);
  if (row.kind !== "base64" && !isContainer) return row.text.slice(0, characters);
  const bytes = rowBytes(row);
  if (format !== "text" && row.isWhole && bytes[0] !== undefined && bytes[0] >= 0x0c && bytes[0] <= 0x0e) {
    try {
      return plainText(decodeValue(bytes)).slice(0, characters);
    } catch {
      // Shown as bytes.
    }
  }
  const schema = schemas.get(fingerprintOf(bytes) ?? "");
  if (schema !== undefined && row.isWhole && format !== "text") {
    try {
      return decodeAvro(bytes, schema).replace(/\n\s*/g, " ").slice(0, characters);
    } catch {
      // Shown as bytes.
    }
  }
  return utf8(bytes.subarray(0, characters)).text;
}
