// Records of a topic: as they arrive, from an offset or a time, or those that a search finds.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isAborted, type TopicInfo } from "../api";
import { decodeAvro, fingerprintOf, schemaOf, type Schema } from "../decode/avro";
import { matcher, type Row } from "../decode/row";
import { decodeValue, plainText } from "../decode/value";
import { Safe, utf8 } from "../escape";
import { fromField, recordTime, toField } from "../clock";
import { count } from "../format";
import { go, place } from "../route";
import { follow, fromOffset, fromTime, pageOf, ROWS_MAX, searched, type Shown } from "../sources";
import { Failure } from "../ui/dialog";
import { Search, useTyped } from "../ui/field";
import { type Column, Table } from "../ui/table";
import { type Format, FORMAT_NAMES, FORMATS, Record } from "./record";

/** Records before the end with which a live view begins, of all partitions together. */
const HISTORY = 50;
/** The same while a search is typed, which covers what the page has loaded. */
const SEARCHED_HISTORY = ROWS_MAX;

const MODES = { live: "Live", offset: "From offset", time: "From time", search: "Search" };
type Mode = keyof typeof MODES;

const KINDS = { text: "Text", regex: "Regular expression", where: "Fields", key: "Key" };
type Kind = keyof typeof KINDS;
const EXAMPLES: Record<Kind, string> = {
  text: "In the record, its key or its headers",
  regex: "Such as time.?out|refused",
  where: "Such as id.resp_p=53 and query=example.com",
  key: "The whole key",
};

export function Records(props: {
  topic: TopicInfo;
  query: URLSearchParams;
  /** An error that is shown already. */
  error: Error | undefined;
}): JSX.Element {
  const { topic, query } = props;
  const asked = query.get("from") ?? "live";
  const mode: Mode = asked in MODES ? (asked as Mode) : "live";
  const partition = query.get("partition") === null ? undefined : Number(query.get("partition"));
  const at = query.get("at") ?? "";
  const where = query.get("where") ?? "";
  const asks = (name: string): string => query.get(name) ?? "";
  const kind: Kind = asks("kind") in KINDS ? (asks("kind") as Kind) : "text";
  const criteria = {
    kind,
    value: asks("for"),
    from: asks("since"),
    to: asks("until"),
    isNewestFirst: asks("order") !== "oldest",
  };
  const [search, setSearch] = useState("");
  const [format, setFormat] = useState<Format>("auto");
  const [opened, setOpened] = useState<Row>();
  const [isPaused, setPaused] = useState(false);
  const [shown, setShown] = useState<Shown>({
    rows: [],
    status: "",
    error: undefined,
    isRunning: true,
    more: undefined,
  });
  const stop = useRef<AbortController | undefined>(undefined);
  // A live view begins again with more records at the first search.
  const [isSearching, setSearching] = useState(false);
  const offsets = topic.offsets?.[partition ?? 0] ?? topic;
  const page = pageOf(topic, topic.partitions === 1 ? 0 : partition);
  // Where a page begins by default: not where it would begin when more records have arrived.
  const start = useMemo(
    () => Number(at === "" ? Math.max(offsets.first_offset, offsets.next_offset - page) : at),
    [topic.name, mode, partition, at],
  );
  const isAll = partition === undefined && topic.partitions > 1;
  useEffect(() => {
    const abort = new AbortController();
    stop.current = abort;
    if (isPaused) return undefined;
    const from = mode === "offset" && !isAll ? String(start) : at;
    const history = isSearching ? SEARCHED_HISTORY : HISTORY;
    const number = mode === "live" || mode === "search" || isAll ? partition : (partition ?? 0);
    const source = { topic, partition: number, at: from, where, history, criteria, signal: abort.signal };
    // Also after the search was stopped.
    let isCurrent = true;
    const show = (change: Partial<Shown>): void => {
      if (isCurrent) setShown((old) => ({ ...old, ...change }));
    };
    show({ rows: [], status: "", isRunning: true, error: undefined, more: undefined });
    const run = { live: follow, offset: fromOffset, time: fromTime, search: searched }[mode];
    run(source, show)
      .catch((error: Error) => isAborted(error) || show({ error }))
      .finally(() => show({ isRunning: false }));
    return () => {
      isCurrent = false;
      abort.abort();
    };
  }, [topic.name, topic.partitions, mode, partition, at, where, isPaused, isSearching, JSON.stringify(criteria)]);
  const set = (change: { [name: string]: string | number | undefined }): void => {
    const { from, to, value, isNewestFirst } = criteria;
    const searched = { kind, for: value, since: from, until: to, order: isNewestFirst ? undefined : "oldest" };
    go(
      place(["topic", topic.name, "records"], {
        from: mode,
        partition,
        at,
        where,
        ...(mode === "search" ? searched : {}),
        ...change,
      }),
    );
  };
  const matches = useMemo(() => matcher(mode === "search" ? "" : search), [search, mode]);
  const rows = useMemo(() => shown.rows.filter(matches), [shown.rows, matches]);
  const schemas = useSchemas(rows);
  const hasManyPartitions = topic.partitions > 1;
  const columns: Column<Row>[] = [
    ...(hasManyPartitions
      ? [{ id: "partition", title: "P", isNumber: true, cell: (row: Row) => row.partition }]
      : []),
    { id: "offset", title: "Offset", isNumber: true, cell: (row) => row.offset },
    { id: "time", title: "Time", cell: (row) => recordTime(row.time) },
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
            value={partition ?? ""}
            onChange={(event) =>
              set({ partition: event.currentTarget.value === "" ? undefined : event.currentTarget.value })
            }
          >
            <option value="">all partitions</option>
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
            <Enter
              label="Offset"
              type="number"
              value={isAll && at === "" ? "" : String(start)}
              onEnter={(value) => set({ at: value })}
            />
            <button
              type="button"
              disabled={!isAll && start <= offsets.first_offset}
              onClick={() => set({ at: Math.max(isAll ? 0 : offsets.first_offset, start - page) })}
            >
              Older
            </button>
            <button
              type="button"
              onClick={() => set({ at: isAll ? start + page : (shown.rows.at(-1)?.offset ?? start - 1) + 1 })}
            >
              Newer
            </button>
          </>
        )}
        {mode === "time" && (
          <Enter
            label="Time"
            type="datetime-local"
            value={toField(at, 19)}
            onEnter={(value) => set({ at: fromField(value) })}
          />
        )}
        {mode === "search" && (
          <SearchFields
            criteria={criteria}
            isRunning={shown.isRunning && criteria.value !== ""}
            onSearch={set}
            onStop={() => stop.current?.abort()}
            onMore={shown.more}
          />
        )}
        {mode !== "search" && (
          <Search
            label="Filter shown records"
            placeholder="Filter by text, or field=value   /"
            title="Text, or conditions such as id.resp_p=53 and query=example.com"
            value={search}
            onSearch={(value) => {
              setSearch(value);
              if (mode === "live" && value !== "") setSearching(true);
            }}
          />
        )}
        {mode === "live" && topic.payload === "value" && (
          <Enter
            label="Filter in the broker"
            type="text"
            placeholder="Filter in the broker: field=value"
            value={where}
            onEnter={(value) => set({ where: value })}
          />
        )}
        {mode === "live" && search !== "" && (
          <button
            type="button"
            onClick={() => {
              setSearch("");
              set({ from: "search", at: undefined, where: undefined, kind: kindOf(search), for: search });
            }}
          >
            Search the topic
          </button>
        )}
        <span class="gap" />
        <span class="quiet" role="status">
          {shown.status}
          {search !== "" && mode !== "search" && ` · ${count(rows.length)} match`}
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
      <Failure error={shown.error?.message === props.error?.message ? undefined : shown.error} />
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
  `None of the ${count(searched)} records that are loaded matches. Search the topic for older ones.`;

/** Conditions on fields, or a text. */
const kindOf = (search: string): Kind => (/^\s*[^\s=!<>]+\s*(=|!=|<=|>=|<|>)/.test(search) ? "where" : "text");

/** What to search for in the broker, where, and in which order. */
function SearchFields(props: {
  criteria: { kind: Kind; value: string; from: string; to: string; isNewestFirst: boolean };
  isRunning: boolean;
  onSearch: (change: Record<string, string | undefined>) => void;
  onStop: () => void;
  onMore: (() => void) | undefined;
}): JSX.Element {
  const { criteria, isRunning, onSearch, onStop, onMore } = props;
  const [value, setValue] = useTyped(criteria.value);
  const [from, setFrom] = useTyped(criteria.from);
  const [to, setTo] = useTyped(criteria.to);
  const bound = (label: string, value: string, change: (value: string) => void): JSX.Element => (
    <input
      class="bound"
      aria-label={label}
      placeholder={label.split(" ")[0]}
      title="An offset of each partition, a time such as 2026-11-21 09:00, or -1h"
      spellcheck={false}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
  return (
    <form
      class="enter"
      role="search"
      aria-label="Search in the broker"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch({ for: value, since: from.trim(), until: to.trim() });
      }}
    >
      <select
        aria-label="Search for"
        value={criteria.kind}
        onChange={(event) => {
          const kind = event.currentTarget.value;
          if (kind !== criteria.kind) onSearch({ kind, for: undefined });
        }}
      >
        {Object.entries(KINDS).map(([id, title]) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
      <input
        class="wanted"
        data-shortcut="/"
        aria-label={KINDS[criteria.kind]}
        placeholder={EXAMPLES[criteria.kind]}
        spellcheck={false}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      {bound("From offset or time", from, setFrom)}
      {bound("Before offset or time", to, setTo)}
      <select
        aria-label="Order"
        value={criteria.isNewestFirst ? "" : "oldest"}
        onChange={(event) => onSearch({ order: event.currentTarget.value })}
      >
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
      <button type="submit">Search</button>
      <button type="button" disabled={!isRunning} onClick={onStop}>
        Stop
      </button>
      {onMore !== undefined && (
        <button type="button" onClick={onMore}>
          Continue
        </button>
      )}
    </form>
  );
}

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
