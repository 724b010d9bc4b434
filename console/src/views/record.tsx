// One record, in the form that the reader chooses.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { recordBytes, send, target } from "../api";
import { wholeTime } from "../clock";
import { decodeAvro, fingerprintOf, schemaOf } from "../decode/avro";
import { pretty } from "../decode/json";
import { restText, type Row } from "../decode/row";
import { decodeValue, plainText, type Value } from "../decode/value";
import { Safe, utf8 } from "../escape";
import { bytes as sizeText, count } from "../format";
import { Copy } from "../ui/copy";
import { jsonTree } from "../ui/json";

export const FORMATS = ["auto", "text", "json", "value", "avro", "hex"] as const;
export type Format = (typeof FORMATS)[number];
export const FORMAT_NAMES: Record<Format, string> = {
  auto: "automatic",
  text: "text",
  json: "JSON",
  value: "structured value",
  avro: "Avro",
  hex: "hex",
};

/** Bytes of a record that the page loads, and that it shows. */
const LOADED_MAX = 256 << 10;
const SHOWN_MAX = 64 << 10;
const HEX_MAX = 8 << 10;

interface Loaded {
  bytes: Uint8Array;
  size: number;
}

export function Record(props: { row: Row; payload: string; format: Format; onClose: () => void }): JSX.Element {
  const { row, payload, format, onClose } = props;
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    setLoaded(undefined);
    setError(undefined);
    if (row.kind === "null") return undefined;
    recordBytes(row.topic, row.partition, row.offset, LOADED_MAX)
      .then((loaded) => isCurrent && setLoaded(loaded))
      .catch((error: Error) => isCurrent && setError(error.message));
    return () => {
      isCurrent = false;
    };
  }, [row]);
  const name = `${row.topic}-${row.partition}-${row.offset}`;
  const download = async (): Promise<void> => {
    try {
      const url = target("/record", { "topic-name": row.topic, partition: row.partition, offset: row.offset });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await (await send(url)).blob());
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      setError((error as Error).message);
    }
  };
  return (
    <section class="record" aria-label={`Record ${row.offset} of partition ${row.partition}`}>
      <div class="tools">
        <h2>
          Offset {count(row.offset)} <small>partition {row.partition}</small>
        </h2>
        <span class="gap" />
        <button type="button" onClick={() => void download()}>
          Download
        </button>
        <button type="button" data-shortcut="Escape" aria-label="Close record" onClick={onClose}>
          ✕
        </button>
      </div>
      <dl class="facts">
        <div>
          <dt>Time</dt>
          <dd>{wholeTime(row.time)}</dd>
        </div>
        {loaded !== undefined && (
          <div>
            <dt>Size</dt>
            <dd>
              {sizeText(loaded.size)}
              {loaded.size >= 1024 && ` (${count(loaded.size)} bytes)`}
            </dd>
          </div>
        )}
        {row.key !== undefined && (
          <div>
            <dt>Key</dt>
            <dd>
              <Safe text={row.key} />
            </dd>
          </div>
        )}
        {row.headers.map(([header, value], index) => (
          <div key={index}>
            <dt>
              <Safe text={header} />
            </dt>
            <dd>{value === null ? <i>null</i> : <Safe text={value} />}</dd>
          </div>
        ))}
      </dl>
      {error !== undefined && (
        <p class="error" role="alert">
          <Safe text={error} />
        </p>
      )}
      {row.kind === "null" && <p class="quiet">The record has no value: a tombstone.</p>}
      {loaded !== undefined && <Content loaded={loaded} payload={payload} format={format} />}
    </section>
  );
}

function Content({ loaded, payload, format }: { loaded: Loaded; payload: string; format: Format }): JSX.Element {
  const { bytes, size } = loaded;
  const isWhole = bytes.length === size;
  const { text, isValid } = utf8(isWhole ? bytes : bytes.subarray(0, SHOWN_MAX));
  const chosen = format === "auto" ? guess(bytes, payload, text, isValid || !isWhole) : format;
  const needsAll = chosen === "json" || chosen === "value" || chosen === "avro";
  if (needsAll && !isWhole) {
    return (
      <>
        <p class="quiet">The record is too large to be shown as {FORMAT_NAMES[chosen]}: download it.</p>
        <Text text={text} size={size} />
      </>
    );
  }
  switch (chosen) {
    case "json": {
      const formatted = pretty(text);
      if (formatted === undefined) return <Mismatch format="JSON" text={text} size={size} />;
      return <Formatted text={formatted} label="JSON" />;
    }
    case "value":
      try {
        return <StructuredValue value={decodeValue(bytes)} />;
      } catch (error) {
        return <Mismatch format={`a structured value (${(error as Error).message})`} text={text} size={size} />;
      }
    case "avro":
      return <Avro bytes={bytes} text={text} />;
    case "hex":
      return <Hex loaded={loaded} />;
    default:
      return (
        <>
          {!isValid && isWhole && (
            <p class="quiet">Not UTF-8: what isn't is shown as �. Choose hex for the bytes.</p>
          )}
          <Text text={text} size={size} />
        </>
      );
  }
}

function guess(bytes: Uint8Array, payload: string, text: string, isText: boolean): Format {
  if (payload === "value") return "value";
  if (fingerprintOf(bytes) !== undefined) return "avro";
  if (isContainer(bytes)) return "value";
  if (!isText) return "hex";
  return /^\s*[{[]/.test(text) && pretty(text) !== undefined ? "json" : "text";
}

/** Whether the bytes are a structured value that no text looks like: a set, a table or a vector. */
function isContainer(bytes: Uint8Array): boolean {
  const [tag = 0] = bytes;
  if (tag < 0x0c || tag > 0x0e) return false;
  try {
    decodeValue(bytes);
    return true;
  } catch {
    return false;
  }
}

function Mismatch({ format, text, size }: { format: string; text: string; size: number }): JSX.Element {
  return (
    <>
      <p class="quiet">
        <Safe text={`The record isn't ${format}.`} />
      </p>
      <Text text={text} size={size} />
    </>
  );
}

function Text({ text, size, label = "Text" }: { text: string; size: number; label?: string }): JSX.Element {
  const shown = text.slice(0, SHOWN_MAX);
  return (
    <>
      {size > SHOWN_MAX && <p class="quiet">{restText(SHOWN_MAX, size)} Download it to see all.</p>}
      <div class="copied">
        <Copy text={text} />
        <pre tabIndex={0} role="group" aria-label={label}>
          <Safe text={shown} isBlock />
        </pre>
      </div>
    </>
  );
}

/** JSON as a tree, or as text if it is too large for one. */
function Formatted({ text, label }: { text: string; label: string }): JSX.Element {
  const tree = jsonTree(text, label);
  if (tree === undefined) return <Text text={text} size={text.length} label={label} />;
  return (
    <div class="copied">
      <Copy text={text} />
      {tree}
    </div>
  );
}

function Avro({ bytes, text }: { bytes: Uint8Array; text: string }): JSX.Element {
  const fingerprint = fingerprintOf(bytes);
  const [result, setResult] = useState<{ text?: string; error?: string }>({});
  useEffect(() => {
    setResult({});
    if (fingerprint === undefined) return;
    schemaOf(fingerprint)
      .then((schema) => {
        if (schema === undefined)
          throw new Error(`the topic _schemas has no schema with the fingerprint ${fingerprint}`);
        setResult({ text: decodeAvro(bytes, schema) });
      })
      .catch((error: Error) => setResult({ error: error.message }));
  }, [bytes]);
  if (fingerprint === undefined) {
    return (
      <Mismatch
        format="Avro in single-object encoding: without its header, its schema isn't known"
        text={text}
        size={bytes.length}
      />
    );
  }
  if (result.error !== undefined)
    return <Mismatch format={`shown as Avro: ${result.error}`} text={text} size={bytes.length} />;
  return <Formatted text={result.text ?? ""} label="Avro" />;
}

function Hex({ loaded }: { loaded: Loaded }): JSX.Element {
  const shown = loaded.bytes.subarray(0, HEX_MAX);
  const lines: string[] = [];
  for (let at = 0; at < shown.length; at += 16) {
    const piece = Array.from(shown.subarray(at, at + 16));
    const digits = piece.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = piece.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${letters}`);
  }
  return (
    <>
      {loaded.size > shown.length && <p class="quiet">{restText(shown.length, loaded.size)}</p>}
      <pre tabIndex={0} role="group" aria-label="Hex">
        {lines.join("\n")}
      </pre>
    </>
  );
}

function StructuredValue({ value }: { value: Value }): JSX.Element {
  return (
    <div class="copied">
      <Copy text={plainText(value)} />
      <div class="tree" role="group" aria-label="Structured value" tabIndex={0}>
        <Tree value={value} budget={{ left: 2000 }} />
      </div>
    </div>
  );
}

/** A value with its types; no more than the budget's elements, because each takes the browser's memory. */
function Tree({ value, budget }: { value: Value; budget: { left: number } }): JSX.Element {
  budget.left -= 1;
  const type = <span class="type">{value.type}</span>;
  if (value.items === undefined && value.pairs === undefined) {
    return (
      <>
        <span class={`scalar ${value.type}`}>
          <Safe text={value.text ?? ""} />
        </span>{" "}
        {type}
      </>
    );
  }
  const entries = value.pairs ?? (value.items ?? []).map((item, index) => [index, item] as const);
  const shown = entries.slice(0, Math.max(0, budget.left));
  return (
    <details open>
      <summary>
        {type} <small>{count(entries.length)}</small>
      </summary>
      <ul>
        {shown.map(([key, inner], index) => (
          <li key={index}>
            {typeof key === "number" ? (
              value.type === "vector" && <span class="name">{key}</span>
            ) : (
              <span class="name">
                <Safe text={key.text ?? key.type} />
                {key.type !== "string" && <span class="type"> {key.type}</span>}
              </span>
            )}{" "}
            <Tree value={inner} budget={budget} />
          </li>
        ))}
        {shown.length < entries.length && <li class="quiet">{count(entries.length - shown.length)} more</li>}
      </ul>
    </details>
  );
}
