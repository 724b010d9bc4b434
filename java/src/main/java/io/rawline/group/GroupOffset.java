package io.rawline.group;

import io.rawline.topic.TopicPartition;

/**
 * A group's offset and lag in a partition.
 *
 * @param partition the partition
 * @param offset offset of the next record that the group wants
 * @param nextOffset offset that the partition's next record will get
 * @param lag number of records that the group hasn't read yet
 * @param metadata metadata committed with the offset
 */
public record GroupOffset(TopicPartition partition, long offset, long nextOffset, long lag, String metadata) {}
