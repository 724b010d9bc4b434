// A record as a line of the broker's JSON describes it, cut to what the page shows of it.

import { bytes as sizeText } from "../format";

export interface Row {
  topic: string;
  partition: number;
  offset: number;
  /** Null if a record of Kafka's has none. */
  time: string;
  key: string | undefined;
  /** Header names and values. */
  headers: [string, string | null][];
  /** Text of the record, of its bytes in base64, or of its value as JSON; its beginning if it is long. */
  text: string;
  kind: "text" | "base64" | "value" | "null";
  /** Whether `text` is all of it. */
  isWhole: boolean;
}

/** Characters of a record that the page keeps. */
export const KEPT_MAX = 16 << 10;

interface Line {
  topic?: string;
  partition?: number;
  offset: number;
  time: string | null;
  key?: string;
  key_base64?: string;
  headers?: { key?: string; key_base64?: string; value?: string | null; value_base64?: string }[];
  record?: unknown;
  record_base64?: string;
  /** Of a search's match that is too large to be delivered: its size. */
  bytes?: number;
}

/** Reads one object. */
export function parseRow(line: string, topic: string, partition: number): Row {
  const found = JSON.parse(line) as Line;
  let kind: Row["kind"] = "value";
  let text = "";
  if (found.record_base64 !== undefined) [kind, text] = ["base64", found.record_base64];
  else if (found.bytes !== undefined)
    [kind, text] = ["text", `${sizeText(found.bytes)}: open the record to see it`];
  else if (typeof found.record === "string") [kind, text] = ["text", found.record];
  else if (found.record === null && found.key !== undefined) [kind, text] = ["null", ""];
  // A value: as the broker has written it, with all digits.
  else text = line.slice(line.indexOf(',"record":') + 10, line.lastIndexOf("}"));
  return {
    topic: found.topic ?? topic,
    partition: found.partition ?? partition,
    offset: found.offset,
    time: found.time ?? "",
    key: found.key ?? (found.key_base64 === undefined ? undefined : `base64:${found.key_base64}`),
    headers: (found.headers ?? []).map((header) => [
      header.key ?? `base64:${header.key_base64}`,
      header.value ?? (header.value_base64 === undefined ? null : `base64:${header.value_base64}`),
    ]),
    kind,
    // A copy: a slice would keep all of a long line.
    text: text.length > KEPT_MAX ? structuredClone(text.slice(0, KEPT_MAX)) : text,
    isWhole: text.length <= KEPT_MAX && found.bytes === undefined,
  };
}

/** Reads an array with one object per line, as `GET /records` writes it. */
export function parseRows(text: string, topic: string, partition: number): Row[] {
  return text
    .split("\n")
    .map((line) => line.replace(/^\[/, "").replace(/[\],]$/, ""))
    .filter((line) => line.startsWith("{"))
    .map((line) => parseRow(line, topic, partition));
}

/** A time of the broker's JSON, in a form whose text sorts as the time does: its fraction has any number of digits. */
const sortable = (time: string | null): string => {
  const [, seconds = "", fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(time ?? "") ?? [];
  return `${seconds}.${fraction.padEnd(9, "0")}`;
};

/** Merges the rows of partitions by time, the oldest first. Within a partition they stay in the order of their offsets,
 * also where a producer's clock went back. */
export function merged(rows: Row[]): Row[] {
  const newest = new Map<number, string>();
  const keyed = [...rows]
    .sort((a, b) => a.partition - b.partition || a.offset - b.offset)
    .map((row) => {
      const [before, time] = [newest.get(row.partition) ?? "", sortable(row.time)];
      const key = before > time ? before : time;
      newest.set(row.partition, key);
      return { key, row };
    });
  // The sort is stable.
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ row }) => row);
}

/** The value of a field of a JSON record, by its path; a name may contain dots. */
export function field(tree: unknown, path: string): unknown {
  if (tree === null || typeof tree !== "object") return undefined;
  if (Object.hasOwn(tree, path)) return (tree as Record<string, unknown>)[path];
  for (let dot = path.indexOf("."); dot > 0; dot = path.indexOf(".", dot + 1)) {
    const name = path.slice(0, dot);
    if (!Object.hasOwn(tree, name)) continue;
    const found = field((tree as Record<string, unknown>)[name], path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

export type Match = (row: Row) => boolean;

const CONDITION = /^\s*([^\s=!<>]+)\s*(=|!=|<=|>=|<|>)\s*(.*?)\s*$/;

/** A search: `field=value` joined by ` and `, or any text. */
export function matcher(search: string): Match {
  if (search.trim() === "") return () => true;
  const conditions = search.split(" and ").map((part) => CONDITION.exec(part));
  if (conditions.includes(null)) {
    const wanted = search.toLowerCase();
    return (row) => row.text.toLowerCase().includes(wanted) || (row.key?.toLowerCase().includes(wanted) ?? false);
  }
  return (row) => {
    let tree: unknown;
    try {
      tree = JSON.parse(row.text);
    } catch {
      return false;
    }
    return conditions.every((condition) => {
      const [, path = "", operator = "", wanted = ""] = condition ?? [];
      const found = field(tree, path);
      if (found === undefined) return false;
      const text = typeof found === "string" ? found : JSON.stringify(found);
      const unquoted = wanted.replace(/^"(.*)"$/, "$1");
      const isNumber = typeof found === "number" && unquoted !== "" && !Number.isNaN(Number(unquoted));
      const order = isNumber ? found - Number(unquoted) : text < unquoted ? -1 : text > unquoted ? 1 : 0;
      switch (operator) {
        case "=":
          return order === 0;
        case "!=":
          return order !== 0;
        case "<":
          return order < 0;
        case "<=":
          return order <= 0;
        case ">":
          return order > 0;
        default:
          return order >= 0;
      }
    });
  };
}

/** The parts of a record that the page doesn't show. */
export const restText = (shown: number, size: number): string =>
  `The first ${sizeText(shown)} of ${sizeText(size)} are shown.`;
