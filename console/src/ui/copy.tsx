// A button that copies a text.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

/** How long the button says that the text was copied, in milliseconds. */
const SAID_MS = 1500;

/** Copies without the clipboard's interface, which pages have over HTTPS and on this machine only. */
function copyBySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function Copy({ text }: { text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    if (navigator.clipboard === undefined) copyBySelection(text);
    else await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SAID_MS);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy().catch(() => copyBySelection(text))}>
      {isCopied ? "Copied" : "Copy"}
    </button>
  );
}
