// JSON as its text says, not as JavaScript reads it: numbers keep all digits, and every name is a name.

const TOKEN =
  /\s*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;

/** The text with an indented line for each member; undefined if it isn't JSON. */
export function pretty(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  let before = "";
  const line = (): void => {
    parts.push(`\n${"  ".repeat(depth)}`);
  };
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const mark = found[1];
    if (mark === "}" || mark === "]") {
      depth -= 1;
      if (before !== "{" && before !== "[") line();
    } else if (before === "{" || before === "[" || before === ",") {
      line();
    }
    parts.push(found[0].trim(), mark === ":" ? " " : "");
    if (mark === "{" || mark === "[") depth += 1;
    before = mark ?? "value";
  }
  return parts.join("");
}

/** A value as its text says. */
export interface Json {
  /** The text of a scalar; the opening bracket of a list or an object. */
  text: string;
  /** Names, which lists don't have, and values. */
  members?: [string | undefined, Json][];
}

export interface JsonTree {
  root: Json;
  /** Number of values. */
  size: number;
  depth: number;
}

/** The text as a tree; undefined if it isn't JSON. */
export function parseJson(text: string): JsonTree | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const top: [string | undefined, Json][] = [];
  const open = [top];
  let [name, size, depth]: [string | undefined, number, number] = [undefined, 0, 0];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const token = found[0].trim();
    if (token === "," || token === ":") continue;
    if (token === "}" || token === "]") {
      open.pop();
      continue;
    }
    if (found[2] !== undefined && name === undefined && isName(text)) {
      name = token;
      continue;
    }
    const isContainer = token === "{" || token === "[";
    const value: Json = isContainer ? { text: token, members: [] } : { text: token };
    open.at(-1)?.push([name, value]);
    name = undefined;
    size += 1;
    if (value.members !== undefined) open.push(value.members);
    depth = Math.max(depth, open.length);
  }
  const root = top[0]?.[1];
  return root === undefined ? undefined : { root, size, depth };
}

/** Whether the string that was just read is a member's name. */
function isName(text: string): boolean {
  let at = TOKEN.lastIndex;
  while (/\s/.test(text[at] ?? "")) at += 1;
  return text[at] === ":";
}

/** Names of fields that are often times. */
const TIME_NAMES =
  /^"(?:.*[._])?(?:ts|time|logtime|timestamp|date|datetime|at|ms|us|ns)"$|^"[a-z]+(?:At|Time|Timestamp)"$/i;

/** Units of numbers that are times: the times from 2001 to 2100 in each of them don't overlap. */
const UNITS_MS = [1e3, 1, 1e-3, 1e-6];
const [TIMES_FROM, TIMES_TO] = [Date.parse("2001-01-01T00:00:00Z"), Date.parse("2100-01-01T00:00:00Z")];

/** The time that a number is by its field's name and its size, in RFC 3339. */
export function timeIn(name: string | undefined, digits: string): string | undefined {
  if (name === undefined || !TIME_NAMES.test(name) || !/^\d/.test(digits)) return undefined;
  const times = UNITS_MS.map((unit) => Number(digits) * unit);
  const ms = times.find((ms) => ms >= TIMES_FROM && ms < TIMES_TO);
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
