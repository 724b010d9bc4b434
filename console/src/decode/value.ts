// Structured values (docs/values.md): from their bytes to a tree with types, and from JSON to bytes.

export interface Value {
  type: string;
  /** Of a scalar. */
  text?: string;
  items?: Value[];
  pairs?: [Value, Value][];
}

export class ValueError extends Error {}

const DEPTH_MAX = 128;
const ELEMENTS_MAX = 1 << 20;
const PROTOCOLS = ["?", "tcp", "udp", "icmp"];

/** The one value in these bytes. */
export function decodeValue(bytes: Uint8Array): Value {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new ValueError(`${bytes.length - reader.at} bytes follow the value`);
  return value;
}

class Reader {
  at = 0;
  private elements = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  private take(count: number): number {
    const start = this.at;
    if (this.bytes.length - start < count) throw new ValueError(`the value ends at byte ${this.bytes.length}`);
    this.at += count;
    return start;
  }

  private size(): number {
    let size = 0;
    for (let index = 0; index < 5; index += 1) {
      const byte = this.view.getUint8(this.take(1));
      size += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return size;
    }
    throw new ValueError("a size has more than five bytes");
  }

  private text(): string {
    const size = this.size();
    const start = this.take(size);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes.subarray(start, start + size));
  }

  private list<T>(item: () => T): T[] {
    const size = this.size();
    this.elements += size;
    if (this.elements > ELEMENTS_MAX) throw new ValueError(`more than ${ELEMENTS_MAX} elements`);
    const items: T[] = [];
    for (let index = 0; index < size; index += 1) items.push(item());
    return items;
  }

  value(depth: number): Value {
    if (depth > DEPTH_MAX) throw new ValueError(`more than ${DEPTH_MAX} containers inside each other`);
    const { view } = this;
    const inner = (): Value => this.value(depth + 1);
    const tag = view.getUint8(this.take(1));
    switch (tag) {
      case 0:
        return { type: "none", text: "" };
      case 1:
        return { type: "boolean", text: String(view.getUint8(this.take(1)) !== 0) };
      case 2:
        return { type: "count", text: String(view.getBigUint64(this.take(8))) };
      case 3:
        return { type: "integer", text: String(view.getBigInt64(this.take(8))) };
      case 4:
        return { type: "real", text: real(view.getBigUint64(this.take(8))) };
      case 5:
        return { type: "string", text: this.text() };
      case 6:
        return { type: "address", text: address(view, this.take(16)).text };
      case 7: {
        const { text, isV4 } = address(view, this.take(16));
        return { type: "subnet", text: `${text}/${view.getUint8(this.take(1)) - (isV4 ? 96 : 0)}` };
      }
      case 8: {
        const number = view.getUint16(this.take(2));
        return { type: "port", text: `${number}/${PROTOCOLS[view.getUint8(this.take(1))] ?? "?"}` };
      }
      case 9:
        return { type: "timestamp", text: timestamp(view.getBigInt64(this.take(8))) };
      case 10:
        return { type: "timespan", text: timespan(view.getBigInt64(this.take(8))) };
      case 11:
        return { type: "enum", text: this.text() };
      case 12:
        return { type: "set", items: this.list(inner) };
      case 13:
        return { type: "table", pairs: this.list((): [Value, Value] => [inner(), inner()]) };
      case 14:
        return { type: "vector", items: this.list(inner) };
      default:
        throw new ValueError(`byte ${this.at - 1} is ${tag}, which is no type`);
    }
  }
}

/** The two infinities are the other way round than in IEEE 754, and subnormal patterns mean other numbers. */
function real(bits: bigint): string {
  if (bits === 0xfff0000000000000n) return "inf";
  if (bits === 0x7ff0000000000000n) return "-inf";
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  let value = view.getFloat64(0);
  const fraction = bits & 0xfffffffffffffn;
  if (((bits >> 52n) & 0x7ffn) === 0n && fraction !== 0n) {
    value = (1 + Number(fraction) / 2 ** 52) * 2 ** -1023 * (bits >> 63n === 0n ? 1 : -1);
  }
  if (Number.isNaN(value)) return "nan";
  return Number.isInteger(value) && Math.abs(value) < 1e21
    ? `${Object.is(value, -0) ? "-0" : value}.0`
    : String(value);
}

function address(view: DataView, at: number): { text: string; isV4: boolean } {
  const isV4 = view.getBigUint64(at) === 0n && view.getUint32(at + 8) === 0xffff;
  if (isV4) return { text: [12, 13, 14, 15].map((index) => view.getUint8(at + index)).join("."), isV4 };
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(at + 2 * index).toString(16));
  // The longest run of zeros is left out (RFC 5952).
  let [start, length] = [0, 1];
  for (let from = 0; from < 8; from += 1) {
    let end = from;
    while (groups[end] === "0") end += 1;
    if (end - from > length) [start, length] = [from, end - from];
  }
  if (length === 1) return { text: groups.join(":"), isV4 };
  return { text: `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`, isV4 };
}

function timestamp(ns: bigint): string {
  const second = 1_000_000_000n;
  const rest = ((ns % second) + second) % second;
  const date = new Date(Number((ns - rest) / 1_000_000n));
  return `${date.toISOString().slice(0, -5)}.${String(rest).padStart(9, "0")}Z`;
}

function timespan(ns: bigint): string {
  const magnitude = ns < 0n ? -ns : ns;
  const fraction = String(magnitude % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${ns < 0n ? "-" : ""}${magnitude / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}

/** A value in one line, without its types. */
export function plainText(value: Value): string {
  const quoted = ["string", "enum"];
  if (value.items !== undefined) return `[${value.items.map(plainText).join(", ")}]`;
  if (value.pairs !== undefined) {
    return `{${value.pairs.map(([key, inner]) => `${key.text ?? plainText(key)}: ${plainText(inner)}`).join(", ")}}`;
  }
  if (value.type === "none") return "null";
  return quoted.includes(value.type) ? JSON.stringify(value.text) : (value.text ?? "");
}

/** The bytes of a JSON text's value, by the rules for plain JSON: numbers from 0 on are counts. */
export function encodeJson(text: string): Uint8Array {
  JSON.parse(text);
  const parts: number[] = [];
  encode(new JsonReader(text).value(), parts);
  return Uint8Array.from(parts);
}

type Tree = null | boolean | string | { number: string } | Tree[] | Map<string, Tree>;

/** Reads JSON that is known to be valid, with the digits of its numbers. */
class JsonReader {
  private at = 0;
  private readonly tokens: string[];

  constructor(text: string) {
    this.tokens = text.match(/[{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+/g) ?? [];
  }

  private next(): string {
    const token = this.tokens[this.at] ?? "";
    this.at += 1;
    return token;
  }

  value(depth = 0): Tree {
    if (depth > DEPTH_MAX) throw new ValueError(`more than ${DEPTH_MAX} containers inside each other`);
    const token = this.next();
    if (token === "[") {
      const items: Tree[] = [];
      while (this.tokens[this.at] !== "]") {
        items.push(this.value(depth + 1));
        if (this.tokens[this.at] === ",") this.at += 1;
      }
      this.at += 1;
      return items;
    }
    if (token === "{") {
      const fields = new Map<string, Tree>();
      while (this.tokens[this.at] !== "}") {
        const name = JSON.parse(this.next()) as string;
        this.at += 1;
        if (fields.has(name)) throw new ValueError(`the field ${JSON.stringify(name)} is duplicate`);
        fields.set(name, this.value(depth + 1));
        if (this.tokens[this.at] === ",") this.at += 1;
      }
      this.at += 1;
      return fields;
    }
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (token === "null") return null;
    if (token === "true" || token === "false") return token === "true";
    return { number: token };
  }
}

function encode(tree: Tree, out: number[]): void {
  if (tree === null) out.push(0);
  else if (typeof tree === "boolean") out.push(1, tree ? 1 : 0);
  else if (typeof tree === "string") string(tree, out);
  else if (Array.isArray(tree)) {
    out.push(14);
    size(tree.length, out);
    tree.forEach((item) => encode(item, out));
  } else if (tree instanceof Map) {
    // Keys in ascending order of their bytes.
    const fields = [...tree].map(([name, inner]) => ({ name: new TextEncoder().encode(name), inner }));
    fields.sort((a, b) => compare(a.name, b.name));
    out.push(13);
    size(fields.length, out);
    for (const { name, inner } of fields) {
      out.push(5);
      size(name.length, out);
      out.push(...name);
      encode(inner, out);
    }
  } else number(tree.number, out);
}

function string(text: string, out: number[]): void {
  const bytes = new TextEncoder().encode(text);
  out.push(5);
  size(bytes.length, out);
  for (const byte of bytes) out.push(byte);
}

function number(digits: string, out: number[]): void {
  const view = new DataView(new ArrayBuffer(8));
  const isWhole = /^-?\d+$/.test(digits);
  const whole = isWhole ? BigInt(digits) : 0n;
  if (isWhole && whole >= 0n && whole < 1n << 64n && digits !== "-0") {
    out.push(2);
    view.setBigUint64(0, whole);
  } else if (isWhole && whole < 0n && whole >= -(1n << 63n)) {
    out.push(3);
    view.setBigInt64(0, whole);
  } else {
    out.push(4);
    const value = Number(digits);
    if (!Number.isFinite(value) || (value !== 0 && Math.abs(value) < 2 ** -1022)) {
      throw new ValueError(`${digits} has no form as a real`);
    }
    view.setFloat64(0, value);
  }
  for (let index = 0; index < 8; index += 1) out.push(view.getUint8(index));
}

function size(value: number, out: number[]): void {
  while (value >= 0x80) {
    out.push((value & 0x7f) | 0x80);
    value = Math.floor(value / 128);
  }
  out.push(value);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
