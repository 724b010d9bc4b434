package io.rawline;

import java.time.Instant;
import java.util.Optional;

/**
 * A topic as the broker describes it.
 *
 * @param name its name
 * @param firstOffset offset of the oldest record that is still there
 * @param nextOffset offset that the next record will get
 * @param bytes length of what is stored, in bytes
 * @param objects number of stored objects
 * @param latestCommitAt when the newest records were committed, by the broker's clock; empty if there are none
 * @param payload what its records are
 */
public record TopicInfo(
        String name,
        long firstOffset,
        long nextOffset,
        long bytes,
        long objects,
        Optional<Instant> latestCommitAt,
        Payload payload) {
    /**
     * Number of records that are there.
     *
     * @return 0 or more
     */
    public long records() {
        return Math.max(0, nextOffset - firstOffset);
    }
}
