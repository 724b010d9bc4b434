// One group of consumers: its members, and how far they have read.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, get, type GroupInfo, target } from "../api";
import { Safe } from "../escape";
import { count } from "../format";
import { usePoll } from "../poll";
import { go, place, type Route } from "../route";
import { Failure } from "../ui/dialog";
import { Plot } from "../ui/plot";
import { type Column, Table } from "../ui/table";
import { DeleteGroup, ResetGroup } from "./reset";
import { Fact } from "./topic";

const POLL_MS = 2000;
/** Points of the plot: an hour. */
const POINTS_MAX = 1800;

type Offset = GroupInfo["offsets"][number];

const DIALOGS = { reset: ResetGroup, delete: DeleteGroup };

export function Group({ route }: { route: Route }): JSX.Element {
  const name = route.parts[1] ?? "";
  const [dialog, setDialog] = useState<keyof typeof DIALOGS>();
  const history = useRef<{ name: string; times: number[]; total: number[]; highest: number[] } | undefined>(
    undefined,
  );
  const {
    value: group,
    error,
    refresh,
  } = usePoll(`group ${name}`, POLL_MS, async (signal) => {
    const group = await get<GroupInfo>(target("/group", { "group-name": name }), { signal });
    if (history.current?.name !== name) history.current = { name, times: [], total: [], highest: [] };
    const { times, total, highest } = history.current;
    times.push(Date.now() / 1000);
    total.push(group.offsets.reduce((sum, offset) => sum + offset.lag, 0));
    highest.push(group.offsets.reduce((most, offset) => Math.max(most, offset.lag), 0));
    for (const list of [times, total, highest]) list.splice(0, Math.max(0, list.length - POINTS_MAX));
    return group;
  });
  const isGone = error instanceof ApiError && error.code === "group_not_found";
  if (group === undefined || isGone) {
    return (
      <main class="list">
        <h1>
          <Safe text={name} />
        </h1>
        <Failure error={error} />
      </main>
    );
  }
  const lag = history.current;
  const hasMembers = group.members.length > 0;
  const whyNot = hasMembers ? "Only without members: stop them first" : undefined;
  const Opened = dialog === undefined ? undefined : DIALOGS[dialog];
  return (
    <main class="list">
      <div class="tools">
        <h1>
          <Safe text={name} />
        </h1>
        <span class="gap" />
        <button type="button" disabled={hasMembers} title={whyNot} onClick={() => setDialog("reset")}>
          Reset offsets
        </button>
        <button
          type="button"
          class="danger"
          disabled={hasMembers}
          title={whyNot}
          onClick={() => setDialog("delete")}
        >
          Delete
        </button>
      </div>
      <Failure error={error} />
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
      {hasMembers && (
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
        columns={columns(group)}
        onOpen={({ topic, partition, offset }) =>
          go(place(["topic", topic, "records"], { from: "offset", partition, at: offset }))
        }
        empty="The group has committed no offsets."
      />
      {Opened !== undefined && (
        <Opened
          group={group}
          onClose={() => setDialog(undefined)}
          onDone={() => (dialog === "delete" ? go(place(["groups"])) : refresh())}
        />
      )}
    </main>
  );
}

function columns(group: GroupInfo): Column<Offset>[] {
  const owner = new Map<string, string>();
  for (const member of group.members) {
    for (const { topic, partition } of member.partitions)
      owner.set(`${topic}/${partition}`, member.client || member.member);
  }
  return [
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
}
