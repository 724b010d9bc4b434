// JSON that can be folded, with its times in the page's clock.

import type { JSX } from "preact";
import { wholeTime } from "../clock";
import { type Json, parseJson, timeIn } from "../decode/json";
import { Safe } from "../escape";

/** More values, or deeper ones, are shown as plain text: each value takes the browser's memory. */
const VALUES_MAX = 2000;
const DEPTH_MAX = 64;

/** The text as a tree; nothing if it isn't JSON, or too large for a tree. */
export function jsonTree(text: string, label: string): JSX.Element | undefined {
  const tree = parseJson(text);
  if (tree === undefined || tree.size > VALUES_MAX || tree.depth > DEPTH_MAX) return undefined;
  return (
    <div class="json" role="group" aria-label={label} tabIndex={0}>
      <Node name={undefined} value={tree.root} end="" />
    </div>
  );
}

const kindOf = ({ text }: Json): string =>
  text.startsWith('"') ? "string" : /^[-\d]/.test(text) ? "number" : "word";

function Node({ name, value, end }: { name: string | undefined; value: Json; end: string }): JSX.Element {
  const before =
    name === undefined ? (
      ""
    ) : (
      <>
        <span class="name">
          <Safe text={name} />
        </span>
        {": "}
      </>
    );
  const { text, members } = value;
  if (members === undefined) {
    const time = timeIn(name, text);
    return (
      <div>
        {before}
        <span class={kindOf(value)}>
          <Safe text={text} />
        </span>
        {end}
        {time !== undefined && <time dateTime={time} data-time={wholeTime(time)} title={wholeTime(time)} />}
      </div>
    );
  }
  const close = (text === "{" ? "}" : "]") + end;
  if (members.length === 0) {
    return (
      <div>
        {before}
        {text}
        {close}
      </div>
    );
  }
  return (
    <details open>
      <summary data-rest={` ${members.length} ${close}`}>
        {before}
        {text}
      </summary>
      <div class="members-of">
        {members.map(([inner, value], index) => (
          <Node key={index} name={inner} value={value} end={index + 1 < members.length ? "," : ""} />
        ))}
      </div>
      <div>{close}</div>
    </details>
  );
}
