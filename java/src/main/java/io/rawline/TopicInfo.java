package io.rawline;

import java.time.Instant;
import java.util.Optional;

/**
 * A topic, as the broker describes it.
 *
 * @param name its name
 * @param firstOffset offset of the oldest record that is still stored
 * @param nextOffset offset that the next record will get
 * @param bytes size of the stored objects in bytes
 * @param objects number of stored objects
 * @param latestCommitAt when the newest records were committed, by the broker's clock; empty if there are none
 * @param payload what its records are
 * @param retention which of them are kept
 */
public record TopicInfo(
        String name,
        long firstOffset,
        long nextOffset,
        long bytes,
        long objects,
        Optional<Instant> latestCommitAt,
        Payload payload,
        Retention retention) {
    /**
     * Number of records that are stored.
     *
     * @return 0 or more
     */
    public long records() {
        return nextOffset - firstOffset;
    }
}
