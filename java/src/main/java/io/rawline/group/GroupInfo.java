package io.rawline.group;

import java.util.List;

/**
 * A group of consumers, as the broker describes it.
 *
 * @param name its name
 * @param state how far the division of its partitions is
 * @param strategy how the leader divides the partitions, such as {@code range}; empty without members
 * @param members its members, by id
 * @param offsets its committed offsets, by topic and partition
 */
public record GroupInfo(
        String name, GroupState state, String strategy, List<GroupMember> members, List<GroupOffset> offsets) {
    /**
     * A group.
     *
     * @param name its name
     * @param state how far the division of its partitions is
     * @param strategy how the leader divides the partitions
     * @param members its members, which are copied
     * @param offsets its committed offsets, which are copied
     */
    public GroupInfo {
        members = List.copyOf(members);
        offsets = List.copyOf(offsets);
    }

    /**
     * Number of records that the group hasn't read yet, in the partitions in which it has committed an offset.
     *
     * @return 0 or more
     */
    public long lag() {
        return offsets.stream().mapToLong(GroupOffset::lag).sum();
    }
}
