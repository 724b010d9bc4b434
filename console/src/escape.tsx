// Text of others, such as records: always text nodes, with invisible characters, and those that affect their
// surroundings, made visible.

import type { ComponentChildren, JSX } from "preact";

// Emoji of several parts: joiners and selectors between them are what makes them one.
const EMOJI =
  "\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0f]?" +
  "(?:\\u200d\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0f]?)*";

// Control characters, marks of direction and joining, separators of lines, tags, and halves of surrogate pairs.
const HIDDEN = new RegExp(
  `(${EMOJI})|` +
    "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e01ef}\\p{Cs}]",
  "gu",
);

const NAMES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return (
    NAMES[character] ??
    (point < 0x100 ? `\\x${point.toString(16).padStart(2, "0")}` : `\\u{${point.toString(16).padStart(4, "0")}}`)
  );
}

/** The text with visible escapes; with `isBlock`, line ends and tabs stay. */
export function Safe({ text, isBlock = false }: { text: string; isBlock?: boolean }): JSX.Element {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found[1] !== undefined || (isBlock && (found[0] === "\n" || found[0] === "\t"))) continue;
    parts.push(text.slice(from, found.index), <span class="escape">{escaped(found[0])}</span>);
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return <bdi dir="ltr">{parts}</bdi>;
}

/** The text with visible escapes, where there can be nothing but text. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (found, emoji?: string) => emoji ?? escaped(found));

/** Bytes as text: invalid UTF-8 becomes U+FFFD, and is counted. */
export function utf8(bytes: Uint8Array): { text: string; isValid: boolean } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), isValid: true };
  } catch {
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), isValid: false };
  }
}
