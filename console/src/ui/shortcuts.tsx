// Keyboard shortcuts. A key works on the element that names it in `data-shortcut`, if there is one in the view.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { toggleClock } from "../clock";
import { go, place } from "../route";
import { Dialog } from "./dialog";
import { toggleTheme } from "./theme";

const KEYS: [string, string][] = [
  ["/", "Search"],
  ["↑ ↓, j k", "Next or previous row"],
  ["Page, Home, End", "Through a long table"],
  ["Enter", "Open the row"],
  ["Esc", "Close the record or the dialog"],
  ["n", "New topic, or produce a record"],
  ["e", "Settings of the topic"],
  ["p", "Pause or resume live records"],
  ["g t, g g, g m, g b", "Topics, groups, measurements, broker"],
  ["u", "Times in UTC, or in the browser's time zone"],
  ["d", "Light, dark, or as the system"],
  ["?", "This list"],
];

const PLACES: Record<string, string> = { t: "topics", g: "groups", m: "measurements", b: "broker" };

/** Moves the focus to the current row of the view. */
function focusRows(): boolean {
  const row = document.querySelector<HTMLElement>("main .table tbody tr[tabindex='0']");
  row?.focus();
  return row !== null;
}

/** Whether a key goes to the rows, which don't have the focus. Arrows have other meanings on most elements. */
const isForRows = ({ key, target }: KeyboardEvent): boolean =>
  key === "j" || key === "k" || (/^Arrow(Up|Down)$/.test(key) && (target as Element).matches("body, #content"));

const isText = (element: EventTarget | null): boolean =>
  element instanceof HTMLElement && element.matches("input, textarea, select");

/** Goes to the rows of the view, or to the view if it has none. */
export function focusContent(): void {
  if (!focusRows()) document.getElementById("content")?.focus();
}

export function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let isGoing = false;
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (isText(event.target)) {
        if (event.key !== "Escape") return;
        // A search field would be cleared.
        event.preventDefault();
        (event.target as HTMLElement).blur();
        return;
      }
      if (isForRows(event) && focusRows()) {
        event.preventDefault();
        return;
      }
      const to = isGoing ? PLACES[event.key] : undefined;
      isGoing = event.key === "g" && !isGoing;
      if (to !== undefined) go(place([to]));
      else if (event.key === "?") onHelp();
      else if (event.key === "d") toggleTheme();
      else if (event.key === "u") toggleClock();
      else {
        const element = document.querySelector<HTMLElement>(`[data-shortcut="${CSS.escape(event.key)}"]`);
        if (element === null) return;
        if (isText(element)) element.focus();
        else element.click();
      }
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
