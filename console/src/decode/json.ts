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
