// Groups of consumers: their members, and how far they have read.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { get, type GroupInfo, type GroupSummary, target } from "../api";
import { Safe } from "../escape";
import { count } from "../format";
import { usePoll } from "../poll";
import { go, place, type Route } from "../route";
import { Failure } from "../ui/dialog";
import { Plot } from "../ui/plot";
import { type Column, Table } from "../ui/table";
import { Fact } from "./topic";

const POLL_MS = 2000;
/** Points of the plot: an hour. */
const POINTS_MAX = 1800;

const GROUPS: Column<GroupSummary>[] = [
  { id: "name", title: "Group", cell: (group) => <Safe text={group.name} /> },
  { id: "state", title: "State", cell: (group) => group.state },
  { id: "members", title: "Members", isNumber: true, cell: (group) => count(group.members) },
];

export function Groups(): JSX.Element {
  const { value, error } = usePoll("groups", POLL_MS, (signal) =>
    get<{ groups: GroupSummary[] }>("/groups", { signal }),
  );
  const groups = value?.groups ?? [];
  return (
    <main class="list">
      <div class="tools">
        <h1>Groups</h1>
        <span class="quiet" role="status">
          {value === undefined ? "loading" : count(groups.length)}
        </span>
      </div>
      <Failure error={error} />
      <Table
        label="Groups"
        rows={groups}
        rowKey={(group) => group.name}
        columns={GROUPS}
        onOpen={(group) => go(place(["group", group.name]))}
        empty={value === undefined ? "" : "No groups of consumers."}
      />
    </main>
  );
}

type Offset = GroupInfo["offsets"][number];

export function Group({ route }: { route: Route }): JSX.Element {
  const name = route.parts[1] ?? "";
  const history = useRef<{ name: string; times: number[]; total: number[]; highest: number[] } | undefined>(
    undefined,
  );
  const { value: group, error } = usePoll(`group ${name}`, POLL_MS, async (signal) => {
    const group = await get<GroupInfo>(target("/group", { "group-name": name }), { signal });
    if (history.current?.name !== name) history.current = { name, times: [], total: [], highest: [] };
    const { times, total, highest } = history.current;
    times.push(Date.now() / 1000);
    total.push(group.offsets.reduce((sum, offset) => sum + offset.lag, 0));
    highest.push(group.offsets.reduce((most, offset) => Math.max(most, offset.lag), 0));
    for (const list of [times, total, highest]) list.splice(0, Math.max(0, list.length - POINTS_MAX));
    return group;
  });
  const lag = history.current;
  const owner = new Map<string, string>();
  for (const member of group?.members ?? []) {
    for (const { topic, partition } of member.partitions)
      owner.set(`${topic}/${partition}`, member.client || member.member);
  }
  const columns: Column<Offset>[] = [
    { id: "topic", title: "Topic", cell: (offset) => offset.topic },
    { id: "partition", title: "Partition", isNumber: true, cell: (offset) => offset.partition },
    { id: "offset", title: "Committed", isNumber: true, cell: (offset) => count(offset.offset) },
    { id: "next", title: "Next offset", isNumber: true, cell: (offset) => count(offset.next_offset) },
    {
      id: "lag",
      title: "Lag",
      isNumber: true,
      cell: (offset) => <span class={offset.lag > 0 ? "lag" : ""}>{count(offset.lag)}</span>,
    },
    {
      id: "member",
      title: "Member",
      cell: (offset) => <Safe text={owner.get(`${offset.topic}/${offset.partition}`) ?? ""} />,
    },
  ];
  return (
    <main class="list">
      <div class="tools">
        <h1>
          <Safe text={name} />
        </h1>
      </div>
      <Failure error={error} />
      {group !== undefined && (
        <>
          <dl class="facts">
            <Fact name="State" text={group.state} />
            <Fact name="Strategy" text={group.strategy || "–"} />
            <Fact name="Members" text={count(group.members.length)} />
            <Fact name="Lag" text={count(lag?.total.at(-1) ?? 0)} />
          </dl>
          {lag !== undefined && (
            <Plot
              title="Lag"
              times={lag.times}
              series={[
                { title: "all partitions", values: lag.total },
                { title: "highest", values: lag.highest },
              ]}
              show={(value) => count(value)}
            />
          )}
          {group.members.length > 0 && (
            <div class="members">
              {group.members.map((member) => (
                <div key={member.member}>
                  <strong>
                    <Safe text={member.client || member.member} />
                  </strong>{" "}
                  <span class="quiet">
                    <Safe
                      text={`${member.address}${member.instance === undefined ? "" : `, instance ${member.instance}`}`}
                    />
                  </span>{" "}
                  {count(member.partitions.length)} {member.partitions.length === 1 ? "partition" : "partitions"}
                </div>
              ))}
            </div>
          )}
          <Table
            label="Committed offsets"
            rows={group.offsets}
            rowKey={(offset) => `${offset.topic}/${offset.partition}`}
            columns={columns}
            onOpen={(offset) =>
              go(
                place(["topic", offset.topic, "records"], {
                  from: "offset",
                  partition: offset.partition,
                  at: offset.offset,
                }),
              )
            }
            empty="The group has committed no offsets."
          />
        </>
      )}
    </main>
  );
}
