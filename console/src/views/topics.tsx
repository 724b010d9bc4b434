// All topics: how much is in them, and how much arrives.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { get, target, type TopicInfo } from "../api";
import { ago, bytes, bytesPerSecond, count, perSecond, retention } from "../format";
import { usePoll } from "../poll";
import { go, place } from "../route";
import { Failure } from "../ui/dialog";
import { Search } from "../ui/field";
import { type Column, Table } from "../ui/table";
import { CreateTopic } from "./change";

export interface Rated extends TopicInfo {
  /** Records and stored bytes per second since the list before; undefined in the first one. */
  recordRate: number | undefined;
  byteRate: number | undefined;
}

const POLL_MS = 2000;
/** Where there are more topics, the search goes to the broker: a prefix of names. */
const TOPICS_MAX = 10_000;

const by =
  (of: (topic: Rated) => number): ((a: Rated, b: Rated) => number) =>
  (a, b) =>
    of(a) - of(b);

export function Topics(): JSX.Element {
  const before = useRef<{ at: number; topics: Map<string, TopicInfo> } | undefined>(undefined);
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState({ by: "name", isDescending: false });
  const [isCreating, setCreating] = useState(false);
  const [isLong, setLong] = useState(false);
  const prefix = isLong ? search.trim() : "";
  const { value, error, refresh } = usePoll(`topics ${prefix}`, POLL_MS, async (signal) => {
    const query = { totals: true, limit: TOPICS_MAX, prefix: prefix === "" ? undefined : prefix };
    const { topics, next } = await get<{ topics: TopicInfo[]; next?: string }>(target("/topics", query), {
      signal,
    });
    if (prefix === "") setLong(next !== undefined);
    const last = before.current;
    const now = performance.now();
    const rated = topics.map((topic): Rated => rate(topic, last?.topics.get(topic.name), now - (last?.at ?? now)));
    before.current = { at: now, topics: new Map(topics.map((topic) => [topic.name, topic])) };
    return { rated, hasMore: next !== undefined, now: Date.now() };
  });
  const now = value?.now ?? Date.now();
  const columns: Column<Rated>[] = [
    {
      id: "name",
      title: "Topic",
      cell: (topic) => (
        <a href={place(["topic", topic.name])} tabIndex={-1}>
          {topic.name}
        </a>
      ),
      order: (a, b) => (a.name < b.name ? -1 : 1),
    },
    {
      id: "records",
      title: "Records",
      isNumber: true,
      cell: (topic) => (topic.records == null ? "unknown" : count(topic.records)),
      order: by((topic) => topic.records ?? 0),
    },
    {
      id: "bytes",
      title: "Stored",
      isNumber: true,
      cell: (topic) => bytes(topic.bytes),
      order: by((topic) => topic.bytes),
    },
    {
      id: "record-rate",
      title: "Records/s",
      isNumber: true,
      cell: (topic) => perSecond(topic.recordRate),
      order: by((topic) => topic.recordRate ?? 0),
    },
    {
      id: "byte-rate",
      title: "Bytes/s",
      isNumber: true,
      isMinor: true,
      cell: (topic) => bytesPerSecond(topic.byteRate),
      order: by((topic) => topic.byteRate ?? 0),
    },
    {
      id: "partitions",
      title: "Partitions",
      isNumber: true,
      isMinor: true,
      cell: (topic) => topic.partitions,
      order: by((topic) => topic.partitions),
    },
    {
      id: "newest",
      title: "Newest append",
      isNumber: true,
      cell: (topic) => ago(topic.latest_commit_at, now),
      order: by((topic) => Date.parse(topic.latest_commit_at ?? "1970-01-01T00:00:00Z")),
    },
    { id: "kind", title: "Payload", isMinor: true, cell: (topic) => topic.payload },
    {
      id: "retention",
      title: "Kept",
      isMinor: true,
      cell: kept,
    },
  ];
  const wanted = isLong ? "" : search.trim().toLowerCase();
  const found = (value?.rated ?? []).filter((topic) => topic.name.toLowerCase().includes(wanted));
  const order = columns.find((column) => column.id === sort.by)?.order;
  if (order !== undefined) found.sort(sort.isDescending ? (a, b) => order(b, a) : order);
  const all = value?.rated.length ?? 0;
  return (
    <main class="list">
      <div class="tools">
        <h1>Topics</h1>
        <span class="quiet" role="status">
          {value === undefined
            ? "loading"
            : value.hasMore
              ? `the first ${count(all)}; search for the beginning of a name to see others`
              : found.length === all
                ? count(all)
                : `${count(found.length)} of ${count(all)}`}
        </span>
        <Search label="Search topics" value={search} onSearch={setSearch} />
        <span class="gap" />
        <button type="button" class="primary" data-shortcut="n" onClick={() => setCreating(true)}>
          New topic
        </button>
      </div>
      <Failure error={error} />
      <Table
        label="Topics"
        rows={found}
        rowKey={(topic) => topic.name}
        columns={columns}
        sort={sort}
        onSort={(id) => setSort({ by: id, isDescending: sort.by === id ? !sort.isDescending : id !== "name" })}
        onOpen={(topic) => go(place(["topic", topic.name]))}
        empty={
          value === undefined
            ? ""
            : all === 0 && prefix === ""
              ? "No topics yet. Create one, or append a record to a new name."
              : "No topic matches."
        }
      />
      {isCreating && (
        <CreateTopic
          onClose={() => setCreating(false)}
          onCreated={(name) => {
            refresh();
            go(place(["topic", name]));
          }}
        />
      )}
    </main>
  );
}

function kept(topic: TopicInfo): string {
  const limits = retention(topic.retain_hours, topic.retain_bytes);
  return topic.cleanup_policy?.includes("compact") ? `compacted, ${limits}` : limits;
}

/** A topic with its rates since an earlier description. */
function rate(topic: TopicInfo, before: TopicInfo | undefined, tookMs: number): Rated {
  if (before === undefined || tookMs <= 0) return { ...topic, recordRate: undefined, byteRate: undefined };
  const per = (now: number | null | undefined, then: number | null | undefined): number | undefined =>
    // Unknown, deleted and created again, or cleaned up.
    now == null || then == null || now < then ? undefined : ((now - then) * 1000) / tookMs;
  return {
    ...topic,
    recordRate: per(topic.next_offsets, before.next_offsets),
    byteRate: per(topic.bytes, before.bytes),
  };
}
