// The broker during the last hour: throughput, latency, memory.

import type { JSX } from "preact";
import type { Stats } from "../api";
import { bytes, bytesPerSecond, count, seconds, short } from "../format";
import type { Polled } from "../poll";
import { Failure } from "../ui/dialog";
import { Plot } from "../ui/plot";
import { Brokers } from "./brokers";
import { Fact } from "./topic";

/** List prices of requests to S3 Standard, in dollars per million: those of `rawline cost`. */
const PRICES = { bucket_puts: 5, bucket_lists: 5, bucket_gets: 0.4 };

export function Broker({ stats }: { stats: Polled<Stats> }): JSX.Element {
  const { value, error } = stats;
  if (value === undefined) {
    return (
      <main class="list">
        <h1>Broker</h1>
        <Failure error={error} />
      </main>
    );
  }
  const list = (name: string): (number | null)[] => value.steps[name] ?? [];
  const took = list("took_ms");
  const rate = (name: string): (number | null)[] =>
    list(name).map((sum, index) => ((sum ?? 0) * 1000) / (took[index] || 1));
  const times = list("end_ms").map((ms) => (ms ?? 0) / 1000);
  const requests = ["bucket_puts", "bucket_lists", "bucket_gets"] as const;
  const hasBucket = [...requests, "bucket_deletes"].some((name) => list(name).some((sum) => (sum ?? 0) > 0));
  const cost = times.map((_, index) =>
    requests.reduce((sum, name) => sum + ((rate(name)[index] ?? 0) * 86400 * PRICES[name]) / 1e6, 0),
  );
  const perSecond = (value: number): string => `${short(value)}/s`;
  const byteRate = (value: number): string => bytesPerSecond(value).replace("·", "0 B/s");
  return (
    <main class="broker">
      <div class="tools">
        <h1>Broker</h1>
      </div>
      <Failure error={error} />
      {value.failed_topics > 0 && (
        <p class="error" role="alert">
          {count(value.failed_topics)} topics have failed: restart the broker; its log has the details.
        </p>
      )}
      <dl class="facts">
        <Fact name="Version" text={value.version} />
        <Fact name="Running for" text={seconds((Date.now() - Date.parse(value.started_at)) / 1000)} />
        <Fact name="Topics" text={count(value.topics)} />
        <Fact name="Memory" text={bytes(value.memory_bytes)} />
        <Fact name="Buffer pool" text={bytes(value.pool_bytes)} />
        <Fact name="Connections at most" text={count(value.connections_max)} />
      </dl>
      <Brokers />
      {times.length === 0 && <p class="quiet">The first step of the plots takes {value.step_seconds} seconds.</p>}
      <div class="plots">
        <Plot
          title="Bytes"
          times={times}
          series={[
            { title: "appended", values: rate("append_bytes") },
            { title: "returned", values: rate("read_bytes") },
          ]}
          show={byteRate}
          isBytes
        />
        <Plot
          title="Records"
          times={times}
          series={[
            { title: "appended", values: rate("append_records") },
            { title: "returned", values: rate("read_records") },
          ]}
          show={perSecond}
        />
        <Plot
          title="Commit latency"
          times={times}
          series={[
            { title: "p99", values: list("commit_p99_seconds") },
            { title: "p50", values: list("commit_p50_seconds") },
          ]}
          show={(value) => (value === 0 ? "0" : seconds(value))}
        />
        <Plot
          title="Commits"
          times={times}
          series={[{ title: "commits", values: rate("commits") }]}
          show={perSecond}
        />
        <Plot
          title="Memory of buffers"
          times={times}
          series={[{ title: `used of ${bytes(value.pool_bytes)}`, values: list("pool_used_bytes") }]}
          show={(value) => bytes(value)}
          isBytes
          max={value.pool_bytes / 1.1}
        />
        <Plot
          title="Connections"
          times={times}
          series={[
            { title: "open", values: list("connections") },
            { title: "waiting for records", values: list("waits") },
          ]}
          show={(value) => short(value)}
          max={5}
        />
        {hasBucket && (
          <>
            <Plot
              title="Bucket requests"
              times={times}
              series={[
                { title: "PUT", values: rate("bucket_puts") },
                { title: "GET", values: rate("bucket_gets") },
                { title: "LIST", values: rate("bucket_lists") },
                { title: "DELETE", values: rate("bucket_deletes") },
              ]}
              show={perSecond}
            />
            <Plot
              title="Cost of requests (S3 list prices)"
              times={times}
              series={[{ title: "dollars a day", values: cost }]}
              show={(value) => `$${value.toFixed(2)}`}
            />
          </>
        )}
      </div>
    </main>
  );
}
