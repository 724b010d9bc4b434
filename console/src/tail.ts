// A live view without subscriptions: asks once a second which partitions have grown, and reads what is new.

import { get, isAborted, send, target, type TopicInfo } from "./api";

export interface Handler {
  /** The JSON of a record. */
  record: (line: string) => void;
  skipped: (records: number) => void;
  deleted: () => void;
  /** Whether records arrive. */
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

const EVERY_MS = 1000;
/** Records of a partition that are read at once; more are skipped. */
const RECORDS_MAX = 1000;

/** Delivers records from the offsets of `next` on, until `signal` aborts. */
export async function subscribe(options: Options, handler: Handler, signal: AbortSignal): Promise<void> {
  const next = options.positions;
  while (!signal.aborted) {
    try {
      const { offsets = [] } = await get<TopicInfo>(target("/topic", { "topic-name": options.topic }), { signal });
      handler.state(true);
      for (const [partition, { next_offset: end }] of offsets.entries()) {
        if (partition !== (options.partition ?? partition)) continue;
        const from = Math.max(next.get(partition) ?? 0, end - RECORDS_MAX);
        if (from > (next.get(partition) ?? 0)) handler.skipped(from - (next.get(partition) ?? 0));
        if (from >= end) continue;
        const query = { "topic-name": options.topic, partition, offset: from, "max-records": RECORDS_MAX, timeout: "0s" };
        const response = await send(target("/records", query), { signal, headers: { Accept: "application/json" } });
        const lines = (await response.text()).split("\n").map((line) => line.replace(/^\[/, "").replace(/[\],]$/, ""));
        next.set(partition, from);
        for (const line of lines.filter((line) => line.startsWith("{"))) {
          handler.record(`{"partition":${partition},${line.slice(1)}`);
          next.set(partition, (JSON.parse(line) as { offset: number }).offset + 1);
        }
      }
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      handler.state(false, error as Error);
      if ((error as { code?: string }).code === "topic_not_found") return;
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
