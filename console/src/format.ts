// Human-readable numbers, sizes and times.

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const count = (value: number): string => integer.format(value);

/** A size in bytes with three digits. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const isWhole = Number.isInteger(value) || unit === 0 || value >= 100;
  return `${isWhole ? value.toFixed(0) : value.toPrecision(3)} ${units[unit]}`;
}

/** A number with three digits and a unit of a thousand. */
export function short(value: number): string {
  if (Math.abs(value) < 1000)
    return Number.isInteger(value) || value >= 10 ? value.toFixed(0) : value.toPrecision(2);
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${units[unit]}`;
}

/** A measured value with six digits. */
export function figure(value: number | string | null): string {
  if (value === null || typeof value === "string" || !Number.isFinite(value))
    return value === null ? "" : String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(4);
  return size >= 1e6 ? integer.format(value) : String(Number(value.toPrecision(6)));
}

export const perSecond = (value: number | undefined): string =>
  value === undefined ? "" : value === 0 ? "·" : `${short(value)}/s`;

export const bytesPerSecond = (value: number | undefined): string =>
  value === undefined ? "" : value === 0 ? "·" : `${bytes(value)}/s`;

/** A duration in seconds. */
export function seconds(value: number): string {
  if (value < 1e-3) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 1) return `${(value * 1e3).toPrecision(3)} ms`;
  if (value < 120) return `${value.toPrecision(3)} s`;
  if (value < 7200) return `${(value / 60).toFixed(0)} min`;
  return value < 172800 ? `${(value / 3600).toFixed(0)} h` : `${(value / 86400).toFixed(0)} d`;
}

/** How long ago a time was. */
export function ago(time: string | null, now: number): string {
  if (time === null) return "never";
  const past = (now - Date.parse(time)) / 1000;
  return past < 1 ? "now" : `${past < 120 ? `${past.toFixed(0)} s` : seconds(past)} ago`;
}

export function retention(hours: number | null, limit: number | null): string {
  const limits = [];
  if (hours !== null) limits.push(hours >= 48 ? `${+(hours / 24).toFixed(1)} d` : `${hours} h`);
  if (limit !== null) limits.push(bytes(limit));
  return limits.length === 0 ? "all" : limits.join(", ");
}
