package io.rawline.subscription;

/** An event of a {@link Subscription} other than records. */
public sealed interface Notice {
    /**
     * Records of a partition are not delivered: they were deleted, or the subscriber was too slow.
     *
     * @param topic the topic
     * @param partition the partition
     * @param records number of records
     * @param nextOffset offset of the next record of the partition
     */
    record Skipped(String topic, int partition, long records, long nextOffset) implements Notice {}

    /**
     * A topic was deleted; the subscription continues with the others.
     *
     * @param topic the topic
     */
    record Deleted(String topic) implements Notice {}
}
