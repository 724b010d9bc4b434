package io.rawline.topic;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A topic, as the broker describes it.
 *
 * @param name its name
 * @param firstOffset offset of the oldest record of partition 0 that is still stored
 * @param nextOffset offset that the next record of partition 0 will get
 * @param bytes size of the stored objects in bytes
 * @param objects number of stored objects
 * @param latestCommitAt when the newest records were committed, by the broker's clock; empty if there are none
 * @param payload type of its records
 * @param retention which of them are kept
 * @param partitions number of partitions
 * @param offsets the extent of each partition, by number; in a list of topics only if there is one partition, else
 *     empty
 * @param cleanupPolicy cleanup of old records
 */
public record TopicInfo(
        String name,
        long firstOffset,
        long nextOffset,
        long bytes,
        long objects,
        Optional<Instant> latestCommitAt,
        Payload payload,
        Retention retention,
        int partitions,
        List<Extent> offsets,
        CleanupPolicy cleanupPolicy) {
    /**
     * A topic.
     *
     * @param name its name
     * @param firstOffset offset of the oldest record of partition 0 that is still stored
     * @param nextOffset offset that the next record of partition 0 will get
     * @param bytes size of the stored objects in bytes
     * @param objects number of stored objects
     * @param latestCommitAt when the newest records were committed; empty if there are none
     * @param payload type of its records
     * @param retention which of them are kept
     * @param partitions number of partitions
     * @param offsets the extent of each partition, which is copied
     * @param cleanupPolicy cleanup of old records
     */
    public TopicInfo {
        offsets = List.copyOf(offsets);
    }

    /**
     * A topic of one partition that isn't compacted.
     *
     * @param name its name
     * @param firstOffset offset of the oldest record that is still stored
     * @param nextOffset offset that the next record will get
     * @param bytes size of the stored objects in bytes
     * @param objects number of stored objects
     * @param latestCommitAt when the newest records were committed; empty if there are none
     * @param payload type of its records
     * @param retention which of them are kept
     */
    public TopicInfo(
            String name,
            long firstOffset,
            long nextOffset,
            long bytes,
            long objects,
            Optional<Instant> latestCommitAt,
            Payload payload,
            Retention retention) {
        this(
                name,
                firstOffset,
                nextOffset,
                bytes,
                objects,
                latestCommitAt,
                payload,
                retention,
                1,
                List.of(new Extent(firstOffset, nextOffset)),
                CleanupPolicy.DELETE);
    }

    /**
     * Number of records that are stored in all partitions; in a list of topics, if there are several partitions, in
     * partition 0.
     *
     * @return 0 or more
     */
    public long records() {
        if (offsets.isEmpty()) {
            return nextOffset - firstOffset;
        }
        return offsets.stream().mapToLong(Extent::records).sum();
    }
}
