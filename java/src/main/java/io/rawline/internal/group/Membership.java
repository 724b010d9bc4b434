package io.rawline.internal.group;

import io.rawline.topic.TopicPartition;
import java.util.Map;
import java.util.OptionalLong;

/**
 * A member's share of the partitions.
 *
 * @param member the member's id
 * @param generation the number of the division
 * @param divided of the member that leads the group: the number of partitions that were divided, for its heartbeats
 * @param partitions the member's partitions, with the group's committed offset, if it has one there
 */
public record Membership(
        String member, long generation, OptionalLong divided, Map<TopicPartition, OptionalLong> partitions) {
    /** Whether the member keeps the partitions that it has in both: no other member had them in between. */
    public boolean follows(Membership before) {
        long generations = generation - before.generation;
        return member.equals(before.member) && (generations == 0 || generations == 1);
    }
}
