// Queries of measurements: the selector of a choice, what lines have in common, and lines over the same times.

export interface Overview {
  is_available: boolean;
  topics: string[];
}

export interface MetricList {
  series_count: number;
  is_complete: boolean;
  metrics: { metric: string; series_count: number }[];
}

export interface TagList {
  series_count: number;
  is_complete: boolean;
  tags: { tag: string; is_complete: boolean; values: string[] }[];
}

export interface Line {
  metric: string;
  tags: Record<string, string>;
  /** RFC 3339, and a number or "NaN", "+Inf", "-Inf". */
  points: [string, number | string][];
}

export interface Answer {
  from: string;
  to: string;
  step: string;
  step_ms: number;
  tier: string;
  note: string | null;
  series_count: number;
  series: Line[];
}

const OPERATORS = ["=~", "!~", "!=", "="];

/** A text in PromQL's quotes. */
function quoted(text: string): string {
  const escape = (found: string): string =>
    found === '"' || found === "\\"
      ? `\\${found}`
      : `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  return `"${text.replace(/["\\\u0000-\u001f\u007f-\u009f]/g, escape)}"`;
}

/** A metric that needs no quotes, and a tag. */
const METRIC = /^[A-Za-z_:][\w:.]*$/;
const TAG = /^[A-Za-z_]\w*$/;

/** A selector of a metric's series. A filter is a value, or one with another operator: `!=b`, `=~sgp.*`, `!~a|b`. */
export function selectorOf(metric: string, filters: [string, string][]): string {
  const matchers = filters.map(([tag, filter]) => {
    const operator = OPERATORS.find((operator) => filter.startsWith(operator)) ?? "";
    return `${TAG.test(tag) ? tag : quoted(tag)}${operator || "="}${quoted(filter.slice(operator.length))}`;
  });
  if (!METRIC.test(metric)) return `{${[`__name__=${quoted(metric)}`, ...matchers].join(",")}}`;
  return matchers.length === 0 ? metric : `${metric}{${matchers.join(",")}}`;
}

export interface Labels {
  /** The common parts of all lines. */
  shared: string;
  /** The rest of each. */
  each: string[];
}

/** Short labels: the common part of all lines appears once. */
export function labelsOf(lines: Line[]): Labels {
  const [first] = lines;
  if (first === undefined) return { shared: "", each: [] };
  const pairs = (tags: [string, string][]): string => tags.map(([tag, value]) => `${tag}=${value}`).join(" ");
  const has = (line: Line, [tag, value]: [string, string]): boolean =>
    Object.hasOwn(line.tags, tag) && line.tags[tag] === value;
  const common = Object.entries(first.tags).filter((tag) => lines.every((line) => has(line, tag)));
  const metric = lines.every((line) => line.metric === first.metric) ? first.metric : "";
  const shared = [metric, pairs(common)].filter((part) => part !== "").join(" ");
  if (lines.length === 1) return { shared: "", each: [shared || "all series"] };
  const own = (line: Line): [string, string][] =>
    Object.entries(line.tags).filter(([tag]) => !common.some(([shared]) => shared === tag));
  const names = new Set(lines.flatMap((line) => own(line).map(([tag]) => tag)));
  const label = (line: Line): string => {
    const tags = own(line);
    const [only] = tags;
    const text = names.size === 1 && metric !== "" && only !== undefined ? only[1] : pairs(tags);
    return [metric === "" ? line.metric : "", text].filter((part) => part !== "").join(" ") || "without";
  };
  return { shared, each: lines.map(label) };
}

/** A number; `null` where a line has a gap, and `undefined` where it continues. */
export type Drawn = (number | null | undefined)[];

export interface Aligned {
  /** In seconds since 1970, ascending. */
  times: number[];
  /** For each line a value at each time. */
  values: Drawn[];
}

/** Lines over the same times. A line has a gap where it lacks values for longer than it usually does. */
export function aligned(lines: Line[], stepMs: number): Aligned {
  const points = lines.map((line) => line.points.map(([time, value]) => [Date.parse(time), value] as const));
  const gaps = points.map((line) => gapsOf(line, stepMs));
  const known = new Set(points.flatMap((line) => line.map(([time]) => time)));
  // So that there is a time in every gap.
  for (const [from] of gaps.flat()) known.add(from + stepMs);
  const times = [...known].sort((a, b) => a - b);
  const places = new Map(times.map((time, index) => [time, index]));
  const placeOf = (time: number): number => places.get(time) ?? 0;
  const values = points.map((line, index) => {
    const row: Drawn = new Array<undefined>(times.length).fill(undefined);
    for (const [from, to] of gaps[index] ?? []) row.fill(null, placeOf(from) + 1, placeOf(to));
    // Infinite values and NaN can't be drawn.
    for (const [time, value] of line) row[placeOf(time)] = typeof value === "number" ? value : null;
    return row;
  });
  return { times: times.map((time) => time / 1000), values };
}

/** The times at which a line ends and continues. */
function gapsOf(line: (readonly [number, unknown])[], stepMs: number): [number, number][] {
  const pairs = line.slice(1).map(([to], index): [number, number] => [line[index]?.[0] ?? to, to]);
  const distances = pairs.map(([from, to]) => to - from).sort((a, b) => a - b);
  const most = 2.5 * Math.max(stepMs, distances[distances.length >> 1] ?? 0);
  return pairs.filter(([from, to]) => to - from > most);
}

export interface Summary {
  min: number;
  mean: number;
  max: number;
  last: number | string;
}

export function summary(line: Line): Summary {
  const numbers = line.points.map(([, value]) => value).filter((value) => typeof value === "number");
  const fold = (by: (a: number, b: number) => number): number =>
    numbers.length === 0 ? NaN : numbers.reduce((a, b) => by(a, b));
  return {
    min: fold(Math.min),
    mean: fold((a, b) => a + b) / numbers.length,
    max: fold(Math.max),
    last: line.points.at(-1)?.[1] ?? NaN,
  };
}
