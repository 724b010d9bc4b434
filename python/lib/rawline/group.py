"""Groups of consumers: members share the partitions of a topic, and commit their offsets."""

from typing import Any, NamedTuple


class GroupSummary(NamedTuple):
    """A group in a list."""

    name: str
    state: str
    """`empty` without members, `joining` or `dividing` while they divide the partitions, then `stable`."""
    members: int
    """Number of members."""


class GroupMember(NamedTuple):
    """A member of a group."""

    member: str
    """Its id."""
    instance: str | None
    """The name with which it gets its partitions back after a restart, if it has one."""
    client: str
    """The name of its program."""
    address: str
    """The address that it connects from."""
    partitions: tuple[tuple[str, int], ...]
    """Topic and number of each partition that it reads."""


class GroupOffset(NamedTuple):
    """A group's offset and lag in a partition."""

    topic: str
    partition: int
    offset: int
    """Offset of the next record that the group wants."""
    next_offset: int
    """Offset that the partition's next record gets."""
    lag: int
    """Number of records that the group hasn't read yet."""
    metadata: str
    """Metadata committed with the offset."""


class GroupInfo(NamedTuple):
    """A group as the broker describes it."""

    name: str
    state: str
    """`empty` without members, `joining` or `dividing` while they divide the partitions, then `stable`."""
    strategy: str
    """How the partitions are divided, such as `range`; empty without members."""
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]
    """The group's committed offsets, by topic and partition."""

    @property
    def lag(self) -> int:
        """Number of records that the group hasn't read yet in these partitions."""
        return sum(offset.lag for offset in self.offsets)


def group_info(group: tuple[Any, ...]) -> GroupInfo:
    """Converts the native half's description of a group."""
    name, state, strategy, members, offsets = group
    return GroupInfo(
        name,
        state,
        strategy,
        tuple(
            GroupMember(member, instance, client, address, tuple(partitions))
            for member, instance, client, address, partitions in members
        ),
        tuple(GroupOffset(*offset) for offset in offsets),
    )


class Membership(NamedTuple):
    """The group membership of a consumer, in the form of the native half."""

    group: str
    instance: str | None
    commit_interval: float | None
    session: float
    poll_interval_max: float


__all__ = ["GroupInfo", "GroupMember", "GroupOffset", "GroupSummary"]
