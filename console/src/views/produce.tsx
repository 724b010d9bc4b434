// A dialog that appends one record, and shows its offset.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send, target, type TopicInfo } from "../api";
import { encodeJson } from "../decode/value";
import { count } from "../format";
import { place } from "../route";
import { Dialog, Field } from "../ui/dialog";

const HINTS = {
  text: "Stored as it is, in UTF-8",
  json: "Checked, then stored as it is",
  value: "Plain JSON, stored as a structured value: whole numbers from 0 on are counts",
};

type Format = keyof typeof HINTS;

function encode(text: string, format: Format): Uint8Array {
  try {
    if (format === "value") return encodeJson(text);
    if (format === "json") JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
  return new TextEncoder().encode(text);
}

export function Produce(props: { topic: TopicInfo; onClose: () => void; onDone: () => void }): JSX.Element {
  const { topic, onClose, onDone } = props;
  const [partition, setPartition] = useState(0);
  const [format, setFormat] = useState<Format>(topic.payload === "value" ? "value" : "text");
  const [text, setText] = useState("");
  const [stored, setStored] = useState<{ partition: number; offset: number }>();
  const produce = async (): Promise<boolean> => {
    setStored(undefined);
    const url = target("/records", { "topic-name": topic.name, partition });
    const headers = { "Content-Type": "application/octet-stream" };
    const response = await send(url, { method: "POST", headers, body: encode(text, format) as BufferSource });
    const { first_offset: offset } = (await response.json()) as { first_offset: number };
    setStored({ partition, offset });
    onDone();
    return true;
  };
  return (
    <Dialog title={`Produce to ${topic.name}`} action="Append record" onConfirm={produce} onClose={onClose}>
      <Field label="Partition">
        <select value={partition} onChange={(event) => setPartition(Number(event.currentTarget.value))}>
          {Array.from({ length: topic.partitions }, (_, number) => (
            <option key={number} value={number}>
              {number}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Format" hint={HINTS[format]}>
        <select value={format} onChange={(event) => setFormat(event.currentTarget.value as Format)}>
          <option value="text">text</option>
          <option value="json">JSON</option>
          <option value="value">structured value</option>
        </select>
      </Field>
      <Field label="Record">
        <textarea
          autofocus
          rows={8}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </Field>
      {topic.cleanup_policy?.includes("compact") && (
        <p class="quiet">A compacted topic takes records with keys only: use rawline produce --key.</p>
      )}
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
