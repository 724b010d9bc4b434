// One record with a key, headers and a time as one of Kafka's batches (docs/kafka.md): the broker's own batches have
// no room for them.

export interface NewRecord {
  key: Uint8Array | null;
  /** Null deletes the key in a compacted topic. */
  value: Uint8Array | null;
  headers: [string, Uint8Array][];
  timestampMs: number;
}

/** The checksum's table: CRC32C, with its polynomial reversed. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ 0x82f63b78;
  return value;
});

export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  return (value ^ 0xffffffff) >>> 0;
}

/** Bytes that are written one after another, in big-endian order. */
class Writer {
  private readonly parts: Uint8Array[] = [];

  bytes(bytes: Uint8Array): this {
    this.parts.push(bytes);
    return this;
  }

  number(size: 1 | 2 | 4, value: number): this {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, value >>> 0);
    return this.bytes(new Uint8Array(view.buffer, 4 - size));
  }

  long(value: number | bigint): this {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigInt64(0, BigInt(value));
    return this.bytes(new Uint8Array(view.buffer));
  }

  /** A number of variable length, in zigzag form. */
  varint(value: number): this {
    const bytes: number[] = [];
    let rest = value < 0 ? -2 * value - 1 : 2 * value;
    while (rest >= 0x80) {
      bytes.push((rest % 128) | 0x80);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
    return this.bytes(Uint8Array.from(bytes));
  }

  /** A length and bytes; null has the length -1. */
  field(bytes: Uint8Array | null): this {
    return bytes === null ? this.varint(-1) : this.varint(bytes.length).bytes(bytes);
  }

  end(): Uint8Array {
    const whole = new Uint8Array(this.parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}

const NO_ATTRIBUTES = 0;
const MAGIC = 2;
/** Of batches without a producer's id and sequence. */
const NONE = -1;

export function recordBatch({ key, value, headers, timestampMs }: NewRecord): Uint8Array {
  // The time and the offset are relative to the batch's.
  const record = new Writer().number(1, NO_ATTRIBUTES).varint(0).varint(0).field(key).field(value);
  record.varint(headers.length);
  for (const [name, value] of headers) record.field(new TextEncoder().encode(name)).field(value);
  const covered = new Writer()
    .number(2, NO_ATTRIBUTES)
    .number(4, 0)
    .long(timestampMs)
    .long(timestampMs)
    .long(NONE)
    .number(2, NONE)
    .number(4, NONE)
    .number(4, 1)
    .field(record.end())
    .end();
  const afterLength = new Writer().number(4, NONE).number(1, MAGIC).number(4, crc32c(covered)).bytes(covered).end();
  return new Writer().long(0).number(4, afterLength.length).bytes(afterLength).end();
}

/** The partition of a key, as all clients choose it: MurmurHash2 with the seed that Kafka uses. */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  const factor = 0x5bd1e995;
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  let hash = 0x9747b28c ^ key.length;
  const whole = key.length - (key.length % 4);
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(view.getUint32(at, true), factor);
    word ^= word >>> 24;
    hash = Math.imul(hash, factor) ^ Math.imul(word, factor);
  }
  if (whole < key.length) {
    let last = 0;
    for (let at = key.length - 1; at >= whole; at -= 1) last = (last << 8) | (key[at] ?? 0);
    hash = Math.imul(hash ^ last, factor);
  }
  hash = Math.imul(hash ^ (hash >>> 13), factor);
  hash ^= hash >>> 15;
  return (hash & 0x7fffffff) % partitions;
}
