// The brokers that share a storage: where each runs, and which journals it owns.

import type { JSX } from "preact";
import { get } from "../api";
import { Safe } from "../escape";
import { count, seconds } from "../format";
import { usePoll } from "../poll";
import { type Column, Table } from "../ui/table";

interface BrokerInfo {
  id: string;
  url?: string;
  kafka?: string;
  zone?: string;
  state: string;
  journals: number[];
  is_me: boolean;
  is_read_only: boolean;
  silent_ms: number;
  objects_lag: number;
  version: string;
}

const owned = ({ journals, is_read_only: isReadOnly }: BrokerInfo): string => {
  if (isReadOnly) return "nothing: read-only";
  if (journals.length === 0) return "nothing";
  return `${journals.length === 1 ? "journal" : "journals"} ${journals.join(", ")}`;
};

const BROKERS: Column<BrokerInfo>[] = [
  {
    id: "name",
    title: "Broker",
    cell: (broker) => (
      <>
        <Safe text={broker.url ?? broker.id} /> {broker.is_me && <small>this one</small>}
      </>
    ),
  },
  { id: "zone", title: "Zone", cell: (broker) => <Safe text={broker.zone ?? ""} /> },
  {
    id: "state",
    title: "State",
    cell: (broker) => <span class={broker.state === "live" ? "" : "lag"}>{broker.state}</span>,
  },
  { id: "journals", title: "Owns", cell: owned },
  { id: "lag", title: "Unread objects", isNumber: true, cell: (broker) => count(broker.objects_lag) },
  {
    id: "silent",
    title: "Last heard of",
    isNumber: true,
    isMinor: true,
    cell: (broker) => (broker.silent_ms < 1000 ? "now" : `${seconds(broker.silent_ms / 1000)} ago`),
  },
  { id: "version", title: "Version", isMinor: true, cell: (broker) => <Safe text={broker.version} /> },
];

/** Nothing where a storage has one broker. */
export function Brokers(): JSX.Element | null {
  const { value } = usePoll("brokers", 5000, (signal) => get<{ brokers: BrokerInfo[] }>("/brokers", { signal }));
  const brokers = value?.brokers ?? [];
  if (brokers.length === 0) return null;
  return (
    <section class="brokers" aria-label="Cluster">
      <h2>
        Cluster <small>{count(brokers.length)} brokers</small>
      </h2>
      <Table label="Brokers" rows={brokers} rowKey={(broker) => broker.id} columns={BROKERS} empty="" />
    </section>
  );
}
