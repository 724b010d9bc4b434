// All groups of consumers: how far each is from the end of its topics.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, type GroupSummary } from "../api";
import { Safe, visible } from "../escape";
import { count } from "../format";
import { usePoll } from "../poll";
import { go, place } from "../route";
import { Failure } from "../ui/dialog";
import { Search } from "../ui/field";
import { type Column, Table } from "../ui/table";

const POLL_MS = 2000;

const topicsOf = (group: GroupSummary): string => (group.topics ?? []).join(", ");

const GROUPS: Column<GroupSummary>[] = [
  {
    id: "name",
    title: "Group",
    cell: (group) => <Safe text={group.name} />,
    order: (a, b) => (a.name < b.name ? -1 : 1),
  },
  {
    id: "lag",
    title: "Lag",
    isNumber: true,
    cell: (group) =>
      group.lag === undefined ? "unknown" : <span class={group.lag > 0 ? "lag" : ""}>{count(group.lag)}</span>,
    order: (a, b) => (a.lag ?? 0) - (b.lag ?? 0),
  },
  {
    id: "members",
    title: "Members",
    isNumber: true,
    cell: (group) => count(group.members),
    order: (a, b) => a.members - b.members,
  },
  {
    id: "state",
    title: "State",
    cell: (group) => group.state,
    order: (a, b) => (a.state < b.state ? -1 : a.state > b.state ? 1 : 0),
  },
  { id: "topics", title: "Topics", isMinor: true, cell: topicsOf },
];

export function Groups(): JSX.Element {
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState({ by: "name", isDescending: false });
  const { value, error } = usePoll("groups", POLL_MS, (signal) =>
    get<{ groups: GroupSummary[] }>("/groups?totals=true", { signal }),
  );
  const all = value?.groups ?? [];
  const wanted = search.trim().toLowerCase();
  const found = all.filter((group) => `${visible(group.name)} ${topicsOf(group)}`.toLowerCase().includes(wanted));
  const order = GROUPS.find((column) => column.id === sort.by)?.order;
  if (order !== undefined) found.sort(sort.isDescending ? (a, b) => order(b, a) : order);
  const total = count(all.length);
  return (
    <main class="list">
      <div class="tools">
        <h1>Groups</h1>
        <span class="quiet" role="status">
          {value === undefined
            ? "loading"
            : found.length === all.length
              ? total
              : `${count(found.length)} of ${total}`}
        </span>
        <Search
          label="Search groups"
          placeholder="Search names and topics   /"
          value={search}
          onSearch={setSearch}
        />
      </div>
      <Failure error={error} />
      <Table
        label="Groups"
        rows={found}
        rowKey={(group) => group.name}
        columns={GROUPS}
        sort={sort}
        onSort={(id) => setSort({ by: id, isDescending: sort.by === id ? !sort.isDescending : id !== "name" })}
        onOpen={(group) => go(place(["group", group.name]))}
        empty={value === undefined ? "" : all.length > 0 ? "No group matches." : "No groups of consumers."}
      />
    </main>
  );
}
