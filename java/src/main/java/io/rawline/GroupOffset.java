package io.rawline;

/**
 * How far a group has come in a partition.
 *
 * @param partition the partition
 * @param offset offset of the next record that the group wants
 * @param nextOffset offset that the partition's next record will get
 * @param lag number of records that the group hasn't come to
 * @param metadata what was committed with the offset
 */
public record GroupOffset(TopicPartition partition, long offset, long nextOffset, long lag, String metadata) {}
