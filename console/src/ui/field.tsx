// Text fields. The text being typed is kept while the view around a field changes.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

/** The text of a field. It begins anew only when `value` changes: typed text outlasts other changes of the view. */
export function useTyped(value: string): [string, (typed: string) => void] {
  const [known, setKnown] = useState(value);
  const [typed, setTyped] = useState(value);
  // Not in an effect: what is typed before it ran would be lost.
  if (known !== value) {
    setKnown(value);
    setTyped(value);
    return [value, setTyped];
  }
  return [typed, setTyped];
}

/** A field whose value counts when it is left, or by Enter. */
export function Field(props: {
  type?: "text" | "datetime-local";
  value: string;
  onChoose: (value: string) => void;
  list?: string;
  placeholder?: string;
  title?: string;
}): JSX.Element {
  const [typed, setTyped] = useTyped(props.value);
  return (
    <input
      {...({ type: props.type ?? "text" } as object)}
      list={props.list}
      placeholder={props.placeholder}
      title={props.title}
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => props.onChoose(event.currentTarget.value)}
    />
  );
}

/** The field with which a view's rows are searched while it is typed. */
export function Search(props: {
  label: string;
  placeholder?: string;
  title?: string;
  value: string;
  onSearch: (value: string) => void;
}): JSX.Element {
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.placeholder ?? "Search   /"}
      title={props.title}
      data-shortcut="/"
      value={props.value}
      onInput={(event) => props.onSearch(event.currentTarget.value)}
    />
  );
}
