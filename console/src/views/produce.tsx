// A dialog that appends one record, and shows its offset.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send, target, type TopicInfo } from "../api";
import { fromField } from "../clock";
import { encodeJson } from "../decode/value";
import { partitionOfKey, recordBatch } from "../encode/record_batch";
import { count } from "../format";
import { place } from "../route";
import { Dialog, Field } from "../ui/dialog";

const HINTS = {
  text: "Stored as it is, in UTF-8",
  json: "Checked, then stored as it is",
  value: "Plain JSON, stored as a structured value: whole numbers from 0 on are counts",
  null: "No value, which deletes the key in a compacted topic",
};

type Format = keyof typeof HINTS;

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function encode(text: string, format: Format): Uint8Array | null {
  if (format === "null") return null;
  try {
    if (format === "value") return encodeJson(text);
    if (format === "json") JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
  return utf8(text);
}

/** Lines such as `name: value`. */
function headersOf(text: string): [string, Uint8Array][] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`"${line}" is not a header: write name: value, one per line`);
    return [line.slice(0, colon).trim(), utf8(line.slice(colon + 1).trim())];
  });
}

export function Produce(props: { topic: TopicInfo; onClose: () => void; onDone: () => void }): JSX.Element {
  const { topic, onClose, onDone } = props;
  const needsKey = topic.cleanup_policy?.includes("compact") ?? false;
  const [partition, setPartition] = useState("");
  const [format, setFormat] = useState<Format>(topic.payload === "value" ? "value" : "text");
  const [text, setText] = useState("");
  const [key, setKey] = useState("");
  const [headers, setHeaders] = useState("");
  const [time, setTime] = useState("");
  const [stored, setStored] = useState<{ partition: number; offset: number }>();
  const chosen =
    partition !== "" ? Number(partition) : key === "" ? 0 : partitionOfKey(utf8(key), topic.partitions);
  const produce = async (): Promise<boolean> => {
    setStored(undefined);
    const value = encode(text, format);
    const url = target("/records", { "topic-name": topic.name, partition: chosen });
    const isPlain = key === "" && headers.trim() === "" && time === "" && value !== null;
    const body = isPlain
      ? value
      : recordBatch({
          key: key === "" ? null : utf8(key),
          value,
          headers: headersOf(headers),
          timestampMs: time === "" ? Date.now() : Date.parse(fromField(time)),
        });
    const type = isPlain ? "application/octet-stream" : "application/vnd.kafka.record-batch";
    const response = await send(url, {
      method: "POST",
      headers: { "Content-Type": type },
      body: body as BufferSource,
    });
    const { first_offset: offset } = (await response.json()) as { first_offset: number };
    setStored({ partition: chosen, offset });
    onDone();
    return true;
  };
  return (
    <Dialog
      title={`Produce to ${topic.name}`}
      action="Append record"
      isReady={!needsKey || key !== ""}
      onConfirm={produce}
      onClose={onClose}
    >
      <Field label="Record">
        <textarea
          autofocus
          rows={6}
          spellcheck={false}
          disabled={format === "null"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </Field>
      <Field label="Format" hint={HINTS[format]}>
        <select value={format} onChange={(event) => setFormat(event.currentTarget.value as Format)}>
          <option value="text">text</option>
          <option value="json">JSON</option>
          <option value="value">structured value</option>
          <option value="null">none (tombstone)</option>
        </select>
      </Field>
      <Field label="Key" hint={needsKey ? "Required: this topic is compacted by key" : "Optional"}>
        <input spellcheck={false} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      </Field>
      <Field label="Partition">
        <select value={partition} onChange={(event) => setPartition(event.currentTarget.value)}>
          <option value="">{key === "" ? "0" : `by key: ${chosen}`}</option>
          {Array.from({ length: topic.partitions }, (_, number) => (
            <option key={number} value={number}>
              {number}
            </option>
          ))}
        </select>
      </Field>
      <details>
        <summary>Headers and time</summary>
        <Field label="Headers" hint="name: value, one per line">
          <textarea
            rows={2}
            spellcheck={false}
            value={headers}
            onInput={(event) => setHeaders(event.currentTarget.value)}
          />
        </Field>
        <Field label="Time" hint="Empty: now">
          <input
            {...({ type: "datetime-local" } as object)}
            step={1}
            value={time}
            onInput={(event) => setTime(event.currentTarget.value)}
          />
        </Field>
      </details>
      {stored !== undefined && (
        <p class="success" role="status">
          Stored in partition {stored.partition} at{" "}
          <a
            href={place(["topic", topic.name, "records"], {
              from: "offset",
              partition: stored.partition,
              at: stored.offset,
            })}
            onClick={onClose}
          >
            offset {count(stored.offset)}
          </a>
          .
        </p>
      )}
    </Dialog>
  );
}
