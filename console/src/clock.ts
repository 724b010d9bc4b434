// The clock of all times on the page: the browser's time zone, or UTC. The choice is remembered.

import { useEffect, useState } from "preact/hooks";

export type Clock = "local" | "UTC";

const NAME = "rawline-clock";
const listeners = new Set<() => void>();

export const clock = (): Clock => (localStorage.getItem(NAME) === "UTC" ? "UTC" : "local");

export function toggleClock(): void {
  localStorage.setItem(NAME, clock() === "UTC" ? "local" : "UTC");
  listeners.forEach((listener) => listener());
}

/** Renders the caller again when the clock changes. */
export function useClock(): Clock {
  const [state, setState] = useState(clock());
  useEffect(() => {
    const changed = (): void => setState(clock());
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return state;
}

/** A time whose UTC fields are those that the clock shows. */
function shifted(ms: number): Date {
  const at = new Date(ms);
  return clock() === "UTC" ? at : new Date(ms - at.getTimezoneOffset() * 60_000);
}

/** The date and the time of day with milliseconds, as the clock shows them; empty if there is no such time. */
function fields(ms: number): { date: string; time: string } {
  const at = shifted(ms);
  if (Number.isNaN(at.getTime())) return { date: "", time: "" };
  const [date = "", time = ""] = at.toISOString().split("T");
  return { date, time: time.slice(0, -1) };
}

export const dateOf = (ms: number): string => fields(ms).date;

/** The time of day, with seconds or without. */
export const timeOf = (ms: number, hasSeconds: boolean): string => fields(ms).time.slice(0, hasSeconds ? 8 : 5);

/** The time of a step, with seconds only if steps are shorter than a minute. */
export const stepTime = (ms: number, stepMs: number): string =>
  `${dateOf(ms)} ${timeOf(ms, stepMs % 60_000 !== 0)}`;

/** A record's time, without the date if that is today. */
export function recordTime(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return text;
  const { date, time } = fields(ms);
  return date === dateOf(Date.now()) ? time : `${date} ${time}`;
}

/** The same with all digits, the date and the zone. */
export function wholeTime(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return text;
  const fraction = /\.\d+/.exec(text)?.[0] ?? "";
  return `${dateOf(ms)} ${timeOf(ms, true)}${fraction} ${zoneOf(ms)}`;
}

/** The clock's distance from UTC at a time. */
function zoneOf(ms: number): string {
  if (clock() === "UTC") return "UTC";
  const minutes = -new Date(ms).getTimezoneOffset();
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `UTC${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

/** The time for a field of the type `datetime-local`, which has no zone. */
export function toField(text: string, digits: 16 | 19 = 16): string {
  const at = shifted(Date.parse(text));
  return Number.isNaN(at.getTime()) ? "" : at.toISOString().slice(0, digits);
}

/** A text for the broker: a date or a time without a zone is one of the clock, anything else stays. */
export function toBroker(text: string): string {
  const [, date, time = "00:00"] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?$/.exec(text) ?? [];
  return date === undefined ? text : fromField(`${date}T${time}`);
}

/** The time in such a field, in RFC 3339; empty if it is empty. */
export function fromField(text: string): string {
  const at = new Date(clock() === "UTC" ? `${text}Z` : text);
  return text === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
