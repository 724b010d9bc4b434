// The series of a metric over time: the choices, a plot, and its numbers in a table.

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../api";
import { Safe, visible } from "../escape";
import { fromField, stepTime, toField } from "../clock";
import { count, figure, short } from "../format";
import {
  aligned,
  type Answer,
  type Drawn,
  labelsOf,
  type Line,
  selectorOf,
  summary,
  type TagList,
} from "../measured";
import { usePoll } from "../poll";
import { go, parse, place } from "../route";
import { Failure } from "../ui/dialog";
import { Field } from "../ui/field";
import { colorOf, Plot } from "../ui/plot";
import { type Column, Table } from "../ui/table";

const AGGREGATIONS = ["avg", "sum", "min", "max", "last", "count", "rate", "p50", "p90", "p99"];
const STEPS = ["10s", "1m", "5m", "15m", "1h", "6h", "1d"];
const RANGES = {
  "": "All",
  "-1h": "Last hour",
  "-6h": "Last 6 hours",
  "-1d": "Last day",
  "-7d": "Last week",
  "-30d": "Last 30 days",
};
const POLL_MS = 15_000;
/** Series that are shown one by one unless another grouping is chosen. */
const EACH_MAX = 10;
/** Columns of the table of steps. */
const COLUMNS_MAX = 12;

interface Shown {
  line: Line;
  label: string;
  index: number;
}

export function Series(props: { topic: string; metric: string; query: URLSearchParams }): JSX.Element {
  const { topic, metric, query } = props;
  const [only, setOnly] = useState<number>();
  const [point, setPoint] = useState<number>();
  const [isBySteps, setBySteps] = useState(false);
  const tags = usePoll(`tags ${topic} ${metric}`, POLL_MS * 4, (signal) =>
    get<TagList>(
      url("tags", [
        ["topic-name", topic],
        ["selector", selectorOf(metric, [])],
      ]),
      { signal },
    ),
  );
  const filters = [...query]
    .filter(([name]) => name.startsWith("tag."))
    .map(([name, value]): [string, string] => [name.slice(4), value]);
  const [agg, from, to, step] = ["agg", "from", "to", "step"].map((name) => query.get(name) ?? "");
  const grouping = query.get("by") ?? ((tags.value?.series_count ?? 0) <= EACH_MAX ? "each" : "all");
  const isReady = query.has("by") || tags.value !== undefined;
  const asked: [string, string | undefined][] = [
    ["topic-name", topic],
    ["selector", selectorOf(metric, filters)],
    ["agg", agg || undefined],
    ["from", from || undefined],
    ["to", to || undefined],
    ["step", step || undefined],
    ["by", grouping === "each" ? undefined : grouping === "all" ? "" : grouping.slice(4)],
  ];
  const name = isReady ? url("query", asked) : "";
  const polled = usePoll(name, POLL_MS, async (signal) =>
    name === "" ? undefined : get<Answer>(name, { signal }),
  );
  // The previous result stays until the next one has arrived.
  const before = useRef<Answer | undefined>(undefined);
  if (polled.value !== undefined) before.current = polled.value;
  const isEmpty = polled.error instanceof ApiError && polled.error.code === "measurements_not_found";
  const newest = polled.value ?? (polled.error === undefined ? before.current : undefined);
  const answer = isEmpty ? undefined : newest;
  const lines = answer?.series ?? [];
  const { plotted, labels } = useMemo(() => {
    const { times, values } = aligned(lines, answer?.step_ms ?? 1);
    const labels = labelsOf(lines);
    const series = values.map((values, index) => ({ title: labels.each[index] ?? "", values }));
    return { plotted: { times, series }, labels };
  }, [answer]);
  const choose = (changes: Record<string, string>): void => {
    setOnly(undefined);
    // The current address: the view may not have applied the previous choice yet.
    const chosen = { ...Object.fromEntries(parse(location.hash).query), metric, ...changes };
    go(place(["measurements", topic], chosen));
  };
  const title = [
    metric,
    agg || "avg",
    labels.shared.slice(labels.shared.startsWith(metric) ? metric.length : 0).trim(),
  ].filter((part) => part !== "");
  const shown = lines.map((line, index): Shown => ({ line, index, label: labels.each[index] ?? "" }));
  const isBusy = polled.value === undefined && polled.error === undefined;
  return (
    <section class="answer" aria-label="Series" aria-busy={isBusy}>
      <div class="choices">
        <Choice label="Aggregation" value={agg || "avg"} onChoose={(agg) => choose({ agg })}>
          {AGGREGATIONS.map((agg) => (
            <option key={agg}>{agg}</option>
          ))}
          {agg !== undefined && agg !== "" && !AGGREGATIONS.includes(agg) && <option>{agg}</option>}
        </Choice>
        <Choice label="Lines" value={grouping} onChoose={(by) => choose({ by })}>
          <option value="each">each series</option>
          <option value="all">all together</option>
          {(tags.value?.tags ?? []).map(({ tag }) => (
            <option key={tag} value={`tag.${tag}`}>
              by {visible(tag)}
            </option>
          ))}
        </Choice>
        <Choice label="Step" value={step ?? ""} onChoose={(step) => choose({ step })}>
          <option value="">automatic</option>
          {[...new Set([...STEPS, ...(step ? [step] : [])])].map((step) => (
            <option key={step}>{step}</option>
          ))}
        </Choice>
        <Range from={from ?? ""} to={to ?? ""} answer={answer} onChoose={choose} />
      </div>
      {(tags.value?.tags.length ?? 0) > 0 && (
        <div class="choices filters">
          {tags.value?.tags.map(({ tag, values }, index) => (
            <label key={tag}>
              <Safe text={tag} />
              <Field
                list={`values-${index}`}
                placeholder="any"
                title="A value; or !=VALUE, =~REGEX, !~REGEX"
                value={query.get(`tag.${tag}`) ?? ""}
                onChoose={(value) => choose({ [`tag.${tag}`]: value })}
              />
              <datalist id={`values-${index}`}>
                {values.map((value) => (
                  <option key={value} value={value} />
                ))}
              </datalist>
            </label>
          ))}
        </div>
      )}
      <Failure error={tags.error ?? (isEmpty ? undefined : polled.error)} />
      {isEmpty && (
        <p class="empty" role="status">
          <Safe text={polled.error?.message ?? ""} />
        </p>
      )}
      {answer !== undefined && (
        <>
          <Plot
            title={title.join(" ")}
            times={plotted.times}
            series={plotted.series}
            show={(value) => (Math.abs(value) < 1e5 ? figure(value) : short(value))}
            measured={{
              heading: <Safe text={title.join("  ")} />,
              height: 300,
              only,
              onPoint: setPoint,
              onRange: (from, to) => choose({ from: iso(from * 1000), to: iso(to * 1000) }),
            }}
          />
          <div class="tools">
            <span class="quiet" role="status">
              {count(lines.length)} {lines.length === 1 ? "line" : "lines"} of {count(answer.series_count)} series,
              steps of {answer.step}
              {answer.note !== null && `; ${answer.note}`}
            </span>
            <span class="gap" />
            <button type="button" aria-pressed={isBySteps} onClick={() => setBySteps(!isBySteps)}>
              By steps
            </button>
          </div>
          {isBySteps ? (
            <Steps answer={answer} shown={shown} />
          ) : (
            <Table
              label="Lines"
              rows={shown}
              rowKey={({ index }) => String(index)}
              columns={columns(plotted, point, answer.step_ms)}
              opened={only === undefined ? undefined : String(only)}
              onOpen={({ index }) => setOnly(only === index ? undefined : index)}
              empty=""
            />
          )}
        </>
      )}
    </section>
  );
}

/** The path of a question; parameters that are undefined are left out. */
function url(path: string, query: [string, string | undefined][]): string {
  const given = query.filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `/measurements/${path}?${new URLSearchParams(given).toString()}`;
}

const iso = (ms: number): string => new Date(Math.round(ms)).toISOString();

/** The lines, with the values of the step under the pointer. */
function columns(
  { times, series }: { times: number[]; series: { values: Drawn }[] },
  point: number | undefined,
  stepMs: number,
): Column<Shown>[] {
  const time = point === undefined ? undefined : times[point];
  const number = (id: string, title: string, value: (shown: Shown) => number | string): Column<Shown> => ({
    id,
    title,
    isNumber: true,
    cell: (shown) => figure(value(shown)),
  });
  return [
    {
      id: "line",
      title: "Line",
      cell: ({ label, index }) => (
        <>
          <i class={colorOf(index)} aria-hidden="true" />
          <Safe text={label} />
        </>
      ),
    },
    number("min", "Min", ({ line }) => summary(line).min),
    number("mean", "Mean", ({ line }) => summary(line).mean),
    number("max", "Max", ({ line }) => summary(line).max),
    number("last", "Last", ({ line }) => summary(line).last),
    {
      id: "point",
      title: time === undefined ? "At the pointer" : stepTime(time * 1000, stepMs),
      isNumber: true,
      isMinor: true,
      cell: ({ index }) => (point === undefined ? "" : figure(series[index]?.values[point] ?? null)),
    },
  ];
}

/** All values, one row per step. */
function Steps({ answer, shown }: { answer: Answer; shown: Shown[] }): JSX.Element {
  const rows = useMemo(() => {
    const found = new Map<string, (number | string)[]>();
    for (const { line, index } of shown.slice(0, COLUMNS_MAX)) {
      for (const [time, value] of line.points) {
        const row = found.get(time) ?? [];
        row[index] = value;
        found.set(time, row);
      }
    }
    return [...found].sort(([a], [b]) => Date.parse(a) - Date.parse(b));
  }, [answer]);
  const columns: Column<(typeof rows)[number]>[] = [
    { id: "time", title: "Step", cell: ([time]) => stepTime(Date.parse(time), answer.step_ms) },
    ...shown.slice(0, COLUMNS_MAX).map(({ label, index }) => ({
      id: `value-${index}`,
      title: <Safe text={label.length > 24 ? `${label.slice(0, 23)}…` : label} />,
      isNumber: true,
      cell: ([, values]: (typeof rows)[number]) => figure(values[index] ?? null),
    })),
  ];
  return (
    <>
      <Table label="Steps" rows={rows} rowKey={([time]) => time} columns={columns} empty="" />
      {shown.length > COLUMNS_MAX && (
        <span class="quiet">
          The first {COLUMNS_MAX} of {count(shown.length)} lines.
        </span>
      )}
    </>
  );
}

function Choice(props: {
  label: string;
  value: string;
  onChoose: (value: string) => void;
  children: ComponentChildren;
}): JSX.Element {
  const { label, value, onChoose, children } = props;
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {children}
      </select>
    </label>
  );
}

/** The range of times: up to now, all of them, or a chosen one. */
function Range(props: {
  from: string;
  to: string;
  answer: Answer | undefined;
  onChoose: (changes: Record<string, string>) => void;
}): JSX.Element {
  const { from, to, answer, onChoose } = props;
  const isOwn = to !== "" || !Object.hasOwn(RANGES, from);
  const bound = (name: string, label: string, value: string): JSX.Element => (
    <label>
      {label}
      <Field
        type="datetime-local"
        value={toField(value)}
        onChoose={(value) => {
          if (value !== "") onChoose({ [name]: fromField(value) });
        }}
      />
    </label>
  );
  return (
    <>
      <Choice
        label="Time"
        value={isOwn ? "own" : from}
        onChoose={(range) => {
          const now = Date.now();
          if (range !== "own") onChoose({ from: range, to: "" });
          else onChoose({ from: answer?.from ?? iso(now - 86_400_000), to: answer?.to ?? iso(now) });
        }}
      >
        {Object.entries(RANGES).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
        <option value="own">From … to …</option>
      </Choice>
      {isOwn && bound("from", "From", from)}
      {isOwn && bound("to", "To", to)}
    </>
  );
}
