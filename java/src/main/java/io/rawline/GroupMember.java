package io.rawline;

import java.util.List;
import java.util.Optional;

/**
 * A member of a group, as the broker describes it.
 *
 * @param id its id
 * @param instance the name under which it comes back after a restart, if it has one
 * @param client what its program calls itself
 * @param address the address that it connects from
 * @param partitions what it reads
 */
public record GroupMember(
        String id, Optional<String> instance, String client, String address, List<TopicPartition> partitions) {
    /**
     * A member.
     *
     * @param id its id
     * @param instance the name under which it comes back after a restart, if it has one
     * @param client what its program calls itself
     * @param address the address that it connects from
     * @param partitions what it reads, which is copied
     */
    public GroupMember {
        partitions = List.copyOf(partitions);
    }
}
