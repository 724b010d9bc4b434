// Dialogs that set or delete a group's offsets, after a preview of the changes.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, type GroupInfo, send, target, type TopicInfo } from "../api";
import { fromField } from "../clock";
import { count } from "../format";
import { Confirmation, Dialog, Failure, Field } from "../ui/dialog";

interface Props {
  group: GroupInfo;
  onClose: () => void;
  onDone: () => void;
}

const PLACES = {
  first: "the first record",
  end: "the end",
  offset: "an offset",
  time: "a time",
  shift: "a number of records later (negative: earlier)",
};
type Place = keyof typeof PLACES;

/** A partition's change. */
interface Change {
  partition: number;
  /** The committed offset, if there is one. */
  from: number | undefined;
  to: number;
}

/** The new offset of a partition, within its records. */
async function placed(
  topic: TopicInfo,
  partition: number,
  from: number,
  at: Place,
  value: string,
): Promise<number> {
  const { first_offset: first, next_offset: next } = topic.offsets?.[partition] ?? topic;
  const within = (offset: number): number => Math.max(first, Math.min(next, offset));
  if (at === "first") return first;
  if (at === "end") return next;
  if (at === "offset") return within(Number(value));
  if (at === "shift") return within(from + Number(value));
  const url = target("/offset", { "topic-name": topic.name, partition, time: fromField(value) });
  return within((await get<{ offset: number }>(url)).offset);
}

/** The changes of all partitions of a topic. */
async function preview(group: GroupInfo, name: string, at: Place, value: string): Promise<Change[]> {
  const topic = await get<TopicInfo>(target("/topic", { "topic-name": name }));
  const committed = new Map(
    group.offsets.filter((offset) => offset.topic === name).map(({ partition, offset }) => [partition, offset]),
  );
  const changes: Change[] = [];
  for (const [partition, extent] of (topic.offsets ?? []).entries()) {
    const from = committed.get(partition);
    const to = await placed(topic, partition, from ?? extent.first_offset, at, value);
    if (to !== from) changes.push({ partition, from, to });
  }
  return changes;
}

function effect({ from, to }: Change): string {
  if (from === undefined) return "first commit";
  return to > from ? `${count(to - from)} skipped` : `${count(from - to)} read again`;
}

export function ResetGroup({ group, onClose, onDone }: Props): JSX.Element {
  const topics = [...new Set(group.offsets.map((offset) => offset.topic))];
  const [topic, setTopic] = useState(topics[0] ?? "");
  const [at, setAt] = useState<Place>("first");
  const [value, setValue] = useState("");
  const [changes, setChanges] = useState<Change[]>();
  const [error, setError] = useState<Error>();
  const needsValue = at === "offset" || at === "time" || at === "shift";
  useEffect(() => {
    let isCurrent = true;
    setChanges(undefined);
    setError(undefined);
    if (topic === "" || (needsValue && value === "")) return undefined;
    preview(group, topic, at, value)
      .then((changes) => isCurrent && setChanges(changes))
      .catch((error: Error) => isCurrent && setError(error));
    return () => {
      isCurrent = false;
    };
  }, [topic, at, value]);
  const reset = async (): Promise<void> => {
    const offsets = (changes ?? []).map(({ partition, to: offset }) => ({ topic, partition, offset }));
    const body = JSON.stringify({ offsets });
    await send(target("/group", { "group-name": group.name }), { method: "PUT", body });
    onDone();
  };
  return (
    <Dialog
      title="Reset offsets"
      action="Reset"
      isDangerous
      isReady={changes !== undefined && changes.length > 0}
      onConfirm={reset}
      onClose={onClose}
    >
      <Field label="Topic">
        <select value={topic} onChange={(event) => setTopic(event.currentTarget.value)}>
          {topics.map((topic) => (
            <option key={topic}>{topic}</option>
          ))}
        </select>
      </Field>
      <Field label="Continue at">
        <select
          value={at}
          onChange={(event) => {
            setAt(event.currentTarget.value as Place);
            setValue("");
          }}
        >
          {Object.entries(PLACES).map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      {needsValue && (
        <Field label={at === "time" ? "Time" : at === "offset" ? "Offset" : "Records"}>
          <input
            key={at}
            {...({ type: at === "time" ? "datetime-local" : "number" } as object)}
            step={1}
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </Field>
      )}
      <Failure error={error} />
      {changes !== undefined && (changes.length === 0 ? <p>Nothing changes.</p> : <Changes changes={changes} />)}
    </Dialog>
  );
}

function Changes({ changes }: { changes: Change[] }): JSX.Element {
  return (
    <div class="preview" tabIndex={0} role="group" aria-label="Preview">
      <table aria-label="Changes">
        <thead>
          <tr>
            {["Partition", "From", "To", "Records"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <tr key={change.partition}>
              <td>{change.partition}</td>
              <td>{change.from === undefined ? "none" : count(change.from)}</td>
              <td>{count(change.to)}</td>
              <td>{effect(change)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function DeleteGroup({ group, onClose, onDone }: Props): JSX.Element {
  const [typed, setTyped] = useState("");
  const remove = async (): Promise<void> => {
    await send(target("/group", { "group-name": group.name }), { method: "DELETE" });
    onDone();
  };
  const topics = new Set(group.offsets.map((offset) => offset.topic)).size;
  const what = `${count(group.offsets.length)} committed offsets in ${count(topics)} topics`;
  return (
    <Dialog
      title="Delete group"
      action="Delete group"
      isDangerous
      isReady={typed === group.name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>The group's {what} are deleted permanently. Consumers that join it begin where their settings say.</p>
      <Confirmation name={group.name} typed={typed} change={setTyped} />
    </Dialog>
  );
}
