// Avro records in single-object encoding, by the schemas that their producers have appended to the topic `_schemas`.

import { send, target } from "../api";

export type Schema = string | Schema[] | { [attribute: string]: unknown };

export class AvroError extends Error {}

/** The topic that has one schema per record, as JSON. */
const SCHEMAS = "_schemas";
const DEPTH_MAX = 64;
const ITEMS_MAX = 1 << 16;

const schemas = new Map<string, Schema>();
let nextOffset = 0;

/** The fingerprint in a record's header, in hexadecimal; undefined if it has none. */
export function fingerprintOf(bytes: Uint8Array): string | undefined {
  if (bytes.length < 10 || bytes[0] !== 0xc3 || bytes[1] !== 0x01) return undefined;
  return Array.from(bytes.subarray(2, 10), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The schema with this fingerprint, if the log has it. */
export async function schemaOf(fingerprint: string): Promise<Schema | undefined> {
  while (!schemas.has(fingerprint)) {
    const url = target("/records", {
      "topic-name": SCHEMAS,
      offset: nextOffset,
      "max-records": 1000,
      timeout: "0s",
    });
    const response = await send(url, { headers: { Accept: "application/x-ndjson" } });
    const lines = response.status === 204 ? [] : (await response.text()).split("\n").slice(0, -1);
    if (lines.length === 0) break;
    nextOffset = Number(response.headers.get("rawline-first-offset")) + lines.length;
    for (const line of lines) {
      try {
        const schema = JSON.parse(line) as Schema;
        const known = fingerprint64(canonical(schema, ""));
        // Of two with one fingerprint, the first counts, as for all readers.
        if (!schemas.has(known)) schemas.set(known, schema);
      } catch {
        // Not a schema: another program has appended it.
      }
    }
  }
  return schemas.get(fingerprint);
}

const PRIMITIVE = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

/** A name with its namespace. */
function full(name: string, namespace: string): string {
  return name.includes(".") || namespace === "" || PRIMITIVE.includes(name) ? name : `${namespace}.${name}`;
}

const namespaceOf = (name: string): string => name.split(".").slice(0, -1).join(".");

/** The canonical form of a schema ("Parsing Canonical Form" of Avro's specification). */
export function canonical(schema: Schema, namespace: string): string {
  if (typeof schema === "string") return JSON.stringify(full(schema, namespace));
  if (Array.isArray(schema)) return `[${schema.map((branch) => canonical(branch, namespace)).join(",")}]`;
  const type = schema["type"] as Schema;
  if (typeof type !== "string") return canonical(type, namespace);
  if (PRIMITIVE.includes(type)) return JSON.stringify(type);
  if (type === "array") return `{"type":"array","items":${canonical(schema["items"] as Schema, namespace)}}`;
  if (type === "map") return `{"type":"map","values":${canonical(schema["values"] as Schema, namespace)}}`;
  const name = full(String(schema["name"]), String(schema["namespace"] ?? namespace));
  const head = `{"name":${JSON.stringify(name)},"type":"${type}"`;
  if (type === "enum") return `${head},"symbols":${JSON.stringify(schema["symbols"])}}`;
  if (type === "fixed") return `${head},"size":${Number(schema["size"])}}`;
  if (type !== "record") return JSON.stringify(full(type, namespace));
  const fields = (schema["fields"] as { name: string; type: Schema }[]).map(
    (field) => `{"name":${JSON.stringify(field.name)},"type":${canonical(field.type, namespaceOf(name))}}`,
  );
  return `${head},"fields":[${fields.join(",")}]}`;
}

/** CRC-64-AVRO, as a record's header has it: little-endian, in hexadecimal. */
export function fingerprint64(text: string): string {
  const empty = 0xc15d213aa4d7a795n;
  let value = empty;
  for (const byte of new TextEncoder().encode(text)) {
    let entry = (value ^ BigInt(byte)) & 0xffn;
    for (let bit = 0; bit < 8; bit += 1) entry = (entry >> 1n) ^ ((entry & 1n) === 0n ? 0n : empty);
    value = (value >> 8n) ^ entry;
  }
  return (value.toString(16).padStart(16, "0").match(/../g) ?? []).reverse().join("");
}

/** The record after the header, as indented text like JSON; logical types as their plain values. */
export function decodeAvro(bytes: Uint8Array, schema: Schema): string {
  return new Reader(bytes, 10).read(schema, "", 0);
}

class Reader {
  private readonly view: DataView;
  private readonly named = new Map<string, { schema: Schema; namespace: string }>();

  constructor(
    private readonly bytes: Uint8Array,
    private at: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  private take(count: number): number {
    const start = this.at;
    if (count < 0 || this.bytes.length - start < count) throw new AvroError("the record ends early");
    this.at += count;
    return start;
  }

  private long(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.view.getUint8(this.take(1));
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return (value >> 1n) ^ -(value & 1n);
    }
    throw new AvroError("a number has more than ten bytes");
  }

  private piece(length: number): Uint8Array {
    const start = this.take(length);
    return this.bytes.subarray(start, start + length);
  }

  private items(read: () => string): string[] {
    const items: string[] = [];
    for (let count = this.long(); count !== 0n; count = this.long()) {
      if (count < 0n) {
        this.long();
        count = -count;
      }
      if (BigInt(items.length) + count > BigInt(ITEMS_MAX)) throw new AvroError(`more than ${ITEMS_MAX} items`);
      for (let index = 0n; index < count; index += 1n) items.push(read());
    }
    return items;
  }

  read(schema: Schema, namespace: string, depth: number): string {
    if (depth > DEPTH_MAX) throw new AvroError(`more than ${DEPTH_MAX} levels`);
    const line = `\n${"  ".repeat(depth + 1)}`;
    const close = `\n${"  ".repeat(depth)}`;
    const list = (items: string[], ends: string): string =>
      items.length === 0 ? ends : `${ends[0]}${line}${items.join(`,${line}`)}${close}${ends[1]}`;
    const hex = (piece: Uint8Array): string =>
      `"${Array.from(piece, (byte) => `\\u00${byte.toString(16).padStart(2, "0")}`).join("")}"`;
    if (Array.isArray(schema)) {
      const branch = schema[Number(this.long())];
      if (branch === undefined) throw new AvroError("a union has no such branch");
      return this.read(branch, namespace, depth);
    }
    const type = typeof schema === "string" ? schema : (schema["type"] as Schema);
    if (typeof type !== "string") return this.read(type, namespace, depth);
    switch (type) {
      case "null":
        return "null";
      case "boolean":
        return String(this.view.getUint8(this.take(1)) !== 0);
      case "int":
      case "long":
        return String(this.long());
      case "float":
        return String(this.view.getFloat32(this.take(4), true));
      case "double":
        return String(this.view.getFloat64(this.take(8), true));
      case "bytes":
        return hex(this.piece(Number(this.long())));
      case "string":
        return JSON.stringify(new TextDecoder().decode(this.piece(Number(this.long()))));
    }
    if (typeof schema === "string") {
      const known = this.named.get(full(schema, namespace));
      if (known === undefined) throw new AvroError(`the schema has no type ${schema}`);
      return this.read(known.schema, known.namespace, depth);
    }
    if (type === "array") {
      return list(
        this.items(() => this.read(schema["items"] as Schema, namespace, depth + 1)),
        "[]",
      );
    }
    if (type === "map") {
      const entry = (): string =>
        `${this.read("string", "", 0)}: ${this.read(schema["values"] as Schema, namespace, depth + 1)}`;
      return list(this.items(entry), "{}");
    }
    if (!["record", "enum", "fixed"].includes(type)) return this.read(type, namespace, depth);
    const name = full(String(schema["name"]), String(schema["namespace"] ?? namespace));
    this.named.set(name, { schema, namespace });
    if (type === "enum") return JSON.stringify((schema["symbols"] as string[])[Number(this.long())] ?? null);
    if (type === "fixed") return hex(this.piece(Number(schema["size"])));
    const fields = schema["fields"] as { name: string; type: Schema }[];
    const read = fields.map(
      (field) => `${JSON.stringify(field.name)}: ${this.read(field.type, namespaceOf(name), depth + 1)}`,
    );
    return list(read, "{}");
  }
}
