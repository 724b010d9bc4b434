// Measurements: the metrics of a topic, and the values of one over time.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, onKey, target } from "../api";
import { Safe } from "../escape";
import { count } from "../format";
import type { MetricList, Overview } from "../measured";
import { usePoll } from "../poll";
import { go, place, type Route } from "../route";
import { Failure } from "../ui/dialog";
import { Search } from "../ui/field";
import { type Column, Table } from "../ui/table";
import { Series } from "./series";

/** How often the page looks for topics, until there are some, and for metrics. */
const POLL_MS = 10_000;
/** After a failure it asks again. */
const AGAIN_MS = 15_000;

/** Whether the broker can query measurements; requested once. */
export function useAvailable(): boolean {
  const [isAvailable, setAvailable] = useState(false);
  useEffect(() => {
    let timer = 0;
    let isKnown = false;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      // A refused key calls back while the response to it is being handled.
      if (isKnown || isAsking) return;
      isAsking = true;
      try {
        const { is_available } = await get<Overview>("/measurements");
        isKnown = true;
        setAvailable(is_available);
      } catch {
        timer = window.setTimeout(() => void ask(), AGAIN_MS);
      } finally {
        isAsking = false;
      }
    };
    const forget = onKey(() => void ask());
    void ask();
    return () => {
      clearTimeout(timer);
      forget();
    };
  }, []);
  return isAvailable;
}

export function Measurements({ route }: { route: Route }): JSX.Element {
  const { value, error } = usePoll("measurements", POLL_MS, (signal) => get<Overview>("/measurements", { signal }));
  const topics = value?.topics ?? [];
  const asked = route.parts[1];
  const topic = asked ?? topics[0];
  const tools = (
    <div class="tools">
      <h1>Measurements</h1>
      {topic !== undefined && (
        <select
          aria-label="Topic"
          value={topic}
          onChange={(event) => go(place(["measurements", event.currentTarget.value]))}
        >
          {[...new Set([...topics, topic])].sort().map((topic) => (
            <option key={topic} value={topic}>
              {topic}
            </option>
          ))}
        </select>
      )}
      {value === undefined && error === undefined && (
        <span class="quiet" role="status">
          loading
        </span>
      )}
    </div>
  );
  return (
    <main class="list">
      {tools}
      <Failure error={error} />
      {value?.is_available === false && (
        <Start title="This broker can't query measurements">
          <p>
            The binary has them if it was built by <code>make full</code>, and its storage has to be a directory or
            a bucket of S3.
          </p>
        </Start>
      )}
      {value?.is_available === true && topic === undefined && (
        <Start title="No measurements yet">
          <p>
            Producers append measurements to a topic as Avro records, and <code>rawline measure</code> rolls the
            topic up in this broker's storage. It shows up here then.
          </p>
          <pre>
            {[
              "rawline produce cloud cpu.csv --format avro --schema measurement \\",
              "    --column logtime=timestamp --set metric=cpu --set tags.host=a1",
              "rawline measure cloud --storage STORAGE --follow",
            ].join("\n")}
          </pre>
          <p class="quiet">STORAGE is what the broker was started with.</p>
        </Start>
      )}
      {value?.is_available === true && topic !== undefined && (
        <Topic key={topic} topic={topic} query={route.query} />
      )}
    </main>
  );
}

function Start({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="start">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

type Metric = MetricList["metrics"][number];

const COLUMNS: Column<Metric>[] = [
  { id: "metric", title: "Metric", cell: ({ metric }) => <Safe text={metric} /> },
  { id: "series", title: "Series", isNumber: true, cell: ({ series_count }) => count(series_count) },
];

function Topic({ topic, query }: { topic: string; query: URLSearchParams }): JSX.Element {
  const [search, setSearch] = useState("");
  const wanted = search.trim();
  const list = (search: string) => (signal: AbortSignal) =>
    get<MetricList>(target("/measurements/metrics", { "topic-name": topic, search }), { signal });
  const { value: all, error } = usePoll(`metrics ${topic}`, POLL_MS * 3, list(""));
  // The broker searches the metrics that the page doesn't have.
  const isPart = all?.is_complete === false && wanted !== "";
  const searched = usePoll(`metrics ${topic} ${isPart ? wanted : ""}`, POLL_MS * 3, async (signal) =>
    isPart ? list(wanted)(signal) : undefined,
  );
  const found = useMemo(() => {
    const has = ({ metric }: Metric): boolean => metric.toLowerCase().includes(wanted.toLowerCase());
    return isPart ? (searched.value?.metrics ?? []) : (all?.metrics ?? []).filter(has);
  }, [all, searched.value, wanted, isPart]);
  const metric = query.get("metric") ?? all?.metrics[0]?.metric;
  const status = (): string => {
    if (all === undefined) return error === undefined ? "loading" : "";
    const total = `${count(all.metrics.length)}${all.is_complete ? "" : "+"}`;
    const noun = total === "1" ? "metric" : "metrics";
    return found.length === all.metrics.length ? `${total} ${noun}` : `${count(found.length)} of ${total} ${noun}`;
  };
  return (
    <div class="measured">
      <section class="metrics" aria-label="Metrics">
        <Search label="Search metrics" value={search} onSearch={setSearch} />
        <Failure error={error ?? searched.error} />
        <Table
          label="Metrics"
          rows={found}
          rowKey={({ metric }) => metric}
          columns={COLUMNS}
          opened={metric}
          onOpen={({ metric }) => go(place(["measurements", topic], { ...kept(query), metric }))}
          empty={all === undefined ? "" : "No metric matches."}
        />
        <span class="quiet" role="status">
          {status()}
        </span>
      </section>
      {metric !== undefined && <Series key={metric} topic={topic} metric={metric} query={query} />}
    </div>
  );
}

/** The choices that are kept for another metric: the time and the aggregation. */
function kept(query: URLSearchParams): Record<string, string> {
  const names = ["agg", "from", "to", "step"];
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""]));
}
