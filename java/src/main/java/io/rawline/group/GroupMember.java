package io.rawline.group;

import io.rawline.topic.TopicPartition;
import java.util.List;
import java.util.Optional;

/**
 * A member of a group, as the broker describes it.
 *
 * @param id its id
 * @param instance the name with which it gets its partitions back after a restart, if it has one
 * @param client name of its program
 * @param address the address that it connects from
 * @param partitions the partitions that it reads
 */
public record GroupMember(
        String id, Optional<String> instance, String client, String address, List<TopicPartition> partitions) {
    /**
     * A member.
     *
     * @param id its id
     * @param instance the name with which it gets its partitions back after a restart, if it has one
     * @param client name of its program
     * @param address the address that it connects from
     * @param partitions the partitions that it reads, which are copied
     */
    public GroupMember {
        partitions = List.copyOf(partitions);
    }
}
