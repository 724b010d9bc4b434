// Dialogs that create, alter, truncate and delete topics.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send, sendJson, target, type TopicInfo } from "../api";
import { count } from "../format";
import { Confirmation, Dialog, Field } from "../ui/dialog";

interface Settings {
  payload: string;
  partitions: string;
  hours: string;
  bytes: string;
  policy: string;
}

/** Fields of a topic's settings. */
function Fields({ settings, change }: { settings: Settings; change: (settings: Settings) => void }): JSX.Element {
  const set =
    (name: keyof Settings) =>
    (event: { currentTarget: { value: string } }): void =>
      change({ ...settings, [name]: event.currentTarget.value });
  return (
    <>
      <Field label="Partitions" hint="1 to 1,024; can only grow">
        <input type="number" min={1} max={1024} required value={settings.partitions} onInput={set("partitions")} />
      </Field>
      <Field label="Payload" hint="What the records are, for programs that display them">
        <select value={settings.payload} onChange={set("payload")}>
          <option value="bytes">bytes</option>
          <option value="value">value (structured values)</option>
        </select>
      </Field>
      <Field label="Keep for, in hours" hint="Empty: records don't expire">
        <input type="number" min={0} step="any" value={settings.hours} onInput={set("hours")} />
      </Field>
      <Field label="Keep at most, in bytes" hint="Empty: no limit">
        <input type="number" min={1} value={settings.bytes} onInput={set("bytes")} />
      </Field>
      <Field label="Cleanup policy" hint="Compaction keeps the newest record of each key, and needs keys">
        <select value={settings.policy} onChange={set("policy")}>
          <option value="delete">delete</option>
          <option value="compact">compact</option>
          <option value="compact,delete">compact,delete</option>
        </select>
      </Field>
    </>
  );
}

const number = (text: string): number | null => (text.trim() === "" ? null : Number(text));

function body(settings: Settings): Record<string, unknown> {
  return {
    partitions: Number(settings.partitions),
    payload: settings.payload,
    retain_hours: number(settings.hours),
    retain_bytes: number(settings.bytes),
    cleanup_policy: settings.policy,
  };
}

export function CreateTopic(props: { onClose: () => void; onCreated: (name: string) => void }): JSX.Element {
  const [name, setName] = useState("");
  const [settings, setSettings] = useState({
    payload: "bytes",
    partitions: "1",
    hours: "",
    bytes: "",
    policy: "delete",
  });
  const create = async (): Promise<void> => {
    await sendJson("POST", target("/topic", { "topic-name": name }), body(settings));
    props.onCreated(name);
  };
  return (
    <Dialog title="New topic" action="Create" isReady={name !== ""} onConfirm={create} onClose={props.onClose}>
      <Field label="Name" hint="1 to 200 letters, digits, '.', '_' and '-'">
        <input
          autofocus
          required
          maxLength={200}
          spellcheck={false}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </Field>
      <Fields settings={settings} change={setSettings} />
    </Dialog>
  );
}

interface Props {
  topic: TopicInfo;
  onClose: () => void;
  onDone: () => void;
}

export function AlterTopic({ topic, onClose, onDone }: Props): JSX.Element {
  const [settings, setSettings] = useState<Settings>({
    payload: topic.payload,
    partitions: String(topic.partitions),
    hours: String(topic.retain_hours ?? ""),
    bytes: String(topic.retain_bytes ?? ""),
    policy: topic.cleanup_policy ?? "delete",
  });
  const alter = async (): Promise<void> => {
    await sendJson("PUT", target("/topic", { "topic-name": topic.name }), body(settings));
    onDone();
  };
  return (
    <Dialog title={`Settings of ${topic.name}`} action="Save" onConfirm={alter} onClose={onClose}>
      <Fields settings={settings} change={setSettings} />
    </Dialog>
  );
}

export function TruncateTopic({ topic, onClose, onDone }: Props): JSX.Element {
  const offsets = topic.offsets ?? [];
  const [partition, setPartition] = useState(0);
  const extent = offsets[partition] ?? topic;
  const [before, setBefore] = useState(String(extent.next_offset));
  const [typed, setTyped] = useState("");
  const truncate = async (): Promise<void> => {
    await send(target("/trim", { "topic-name": topic.name, partition, before }), { method: "POST" });
    onDone();
  };
  const deleted = Math.max(0, Number(before) - extent.first_offset);
  return (
    <Dialog
      title={`Truncate ${topic.name}`}
      action="Delete records"
      isDangerous
      isReady={typed === topic.name && before !== ""}
      onConfirm={truncate}
      onClose={onClose}
    >
      <Field label="Partition">
        <select
          value={partition}
          onChange={(event) => {
            const chosen = Number(event.currentTarget.value);
            setPartition(chosen);
            setBefore(String(offsets[chosen]?.next_offset ?? 0));
          }}
        >
          {offsets.map((_, number) => (
            <option key={number} value={number}>
              {number}
            </option>
          ))}
        </select>
      </Field>
      <Field
        label="Delete the records before offset"
        hint={`The partition has ${count(extent.first_offset)} to ${count(extent.next_offset)}`}
      >
        <input
          type="number"
          min={extent.first_offset}
          value={before}
          onInput={(event) => setBefore(event.currentTarget.value)}
        />
      </Field>
      <p>{count(deleted)} records are deleted permanently. Offsets don't change.</p>
      <Confirmation name={topic.name} typed={typed} change={setTyped} />
    </Dialog>
  );
}

export function DeleteTopic({ topic, onClose, onDone }: Props): JSX.Element {
  const [typed, setTyped] = useState("");
  const remove = async (): Promise<void> => {
    await send(target("/topic", { "topic-name": topic.name }), { method: "DELETE" });
    onDone();
  };
  return (
    <Dialog
      title={`Delete ${topic.name}`}
      action="Delete topic"
      isDangerous
      isReady={typed === topic.name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>The topic is deleted permanently, with all partitions, records and settings.</p>
      <Confirmation name={topic.name} typed={typed} change={setTyped} />
    </Dialog>
  );
}
