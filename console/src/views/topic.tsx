// One topic: its records, its partitions and its settings.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, get, target, type TopicInfo } from "../api";
import { ago, bytes, count, perSecond, retention } from "../format";
import { usePoll } from "../poll";
import { go, place, type Route } from "../route";
import { Failure } from "../ui/dialog";
import { type Column, Table } from "../ui/table";
import { AlterTopic, DeleteTopic, TruncateTopic } from "./change";
import { Produce } from "./produce";
import { Records } from "./records";

interface PartitionRow {
  number: number;
  first: number;
  next: number;
  rate: number | undefined;
}

const DIALOGS = { produce: Produce, alter: AlterTopic, truncate: TruncateTopic, delete: DeleteTopic };

export function Topic({ route }: { route: Route }): JSX.Element {
  const name = route.parts[1] ?? "";
  const isPartitions = route.parts[2] === "partitions";
  const [dialog, setDialog] = useState<keyof typeof DIALOGS>();
  const before = useRef<{ at: number; next: number[] } | undefined>(undefined);
  const { value, error, refresh } = usePoll(`topic ${name}`, 2000, async (signal) => {
    const topic = await get<TopicInfo>(target("/topic", { "topic-name": name }), { signal });
    const now = performance.now();
    const last = before.current;
    const offsets = topic.offsets ?? [];
    const rows = offsets.map(({ first_offset: first, next_offset: next }, number): PartitionRow => {
      const then = last?.next[number];
      const took = now - (last?.at ?? now);
      const rate = then === undefined || next < then || took <= 0 ? undefined : ((next - then) * 1000) / took;
      return { number, first, next, rate };
    });
    before.current = { at: now, next: offsets.map((extent) => extent.next_offset) };
    return { topic, rows };
  });
  const topic = value?.topic;
  const isGone = error instanceof ApiError && error.code === "topic_not_found";
  const tools = (
    <div class="tools">
      <h1>
        {name}
        {topic?.cleanup_policy?.includes("compact") && (
          <>
            {" "}
            <small class="tag" title="Keeps the newest record of each key">
              compacted
            </small>
          </>
        )}
      </h1>
      {(topic !== undefined || error === undefined) && !isGone && (
        <>
          <nav class="tabs" aria-label="Topic">
            <a href={place(["topic", name])} aria-current={isPartitions ? undefined : "page"}>
              Records
            </a>
            <a href={place(["topic", name, "partitions"])} aria-current={isPartitions ? "page" : undefined}>
              Partitions
            </a>
          </nav>
          <span class="gap" />
          <button type="button" class="primary" data-shortcut="n" onClick={() => setDialog("produce")}>
            Produce
          </button>
          <button type="button" data-shortcut="e" onClick={() => setDialog("alter")}>
            Settings
          </button>
          <button type="button" onClick={() => setDialog("truncate")}>
            Truncate
          </button>
          <button type="button" class="danger" onClick={() => setDialog("delete")}>
            Delete
          </button>
        </>
      )}
    </div>
  );
  // Clicks before the topic is known take effect as soon as it is.
  if (topic === undefined || isGone) {
    return (
      <main class="list">
        {tools}
        <Failure error={error} />
      </main>
    );
  }
  const rows = value?.rows ?? [];
  const records = rows.reduce((sum, row) => sum + row.next - row.first, 0);
  const rates = rows.map((row) => row.rate);
  const rate = rates.includes(undefined) ? undefined : rates.reduce((sum: number, rate) => sum + (rate ?? 0), 0);
  const Opened = dialog === undefined ? undefined : DIALOGS[dialog];
  return (
    <main class="list">
      {tools}
      <dl class="facts">
        <Fact name="Records" text={count(records)} />
        <Fact name="Stored" text={bytes(topic.bytes)} />
        <Fact name="Appends" text={rate === undefined ? "–" : rate === 0 ? "0/s" : perSecond(rate)} />
        <Fact name="Newest" text={ago(topic.latest_commit_at, Date.now())} />
        <Fact name="Partitions" text={String(topic.partitions)} />
        <Fact name="Payload" text={topic.payload} />
        <Fact name="Kept" text={retention(topic.retain_hours, topic.retain_bytes)} />
        <Fact name="Cleanup" text={topic.cleanup_policy ?? "delete"} />
      </dl>
      <Failure error={error} />
      {isPartitions ? (
        <Table
          label="Partitions"
          rows={rows}
          rowKey={(row) => String(row.number)}
          columns={PARTITIONS}
          onOpen={(row) => go(place(["topic", name, "records"], { partition: row.number }))}
          empty=""
        />
      ) : (
        <Records topic={topic} query={route.query} error={error} />
      )}
      {Opened !== undefined && (
        <Opened
          topic={topic}
          onClose={() => setDialog(undefined)}
          onDone={() => {
            if (dialog === "delete") go(place(["topics"]));
            else refresh();
          }}
        />
      )}
    </main>
  );
}

const PARTITIONS: Column<PartitionRow>[] = [
  { id: "partition", title: "Partition", isNumber: true, cell: (row) => row.number },
  { id: "first", title: "First offset", isNumber: true, cell: (row) => count(row.first) },
  { id: "next", title: "Next offset", isNumber: true, cell: (row) => count(row.next) },
  { id: "records", title: "Records", isNumber: true, cell: (row) => count(row.next - row.first) },
  { id: "rate", title: "Records/s", isNumber: true, cell: (row) => perSecond(row.rate) },
];

export function Fact({ name, text }: { name: string; text: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  );
}
