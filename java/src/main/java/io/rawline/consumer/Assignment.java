package io.rawline.consumer;

import io.rawline.internal.group.Membership;
import io.rawline.topic.TopicPartition;
import java.util.Map;
import java.util.TreeMap;

/** A member's share of the partitions, and its positions in them. */
final class Assignment {
    /** Of a consumer that isn't a member. */
    static final Assignment NONE = new Assignment(null, Map.of());

    /** Null for none. */
    private final Membership membership;

    private final Map<TopicPartition, Position> positions;

    Assignment(Membership membership, Map<TopicPartition, Position> positions) {
        this.membership = membership;
        this.positions = new TreeMap<>(positions);
    }

    Membership membership() {
        return membership;
    }

    /** By partition. */
    Map<TopicPartition, Position> positions() {
        return positions;
    }

    /** The caller has processed the returned records. */
    void processAll() {
        positions.values().forEach(Position::processAll);
    }

    /** Whether a partition doesn't exist any more. */
    boolean hasGone() {
        return positions.values().stream().anyMatch(Position::isGone);
    }

    /** The offsets that are to be committed. */
    Map<TopicPartition, Long> uncommitted() {
        Map<TopicPartition, Long> offsets = new TreeMap<>();
        positions.forEach((partition, position) -> {
            if (position.isUncommitted()) {
                offsets.put(partition, position.processed());
            }
        });
        return offsets;
    }

    /** The group has committed these offsets. */
    void setCommitted(Map<TopicPartition, Long> offsets) {
        offsets.forEach((partition, offset) -> {
            Position position = positions.get(partition);
            if (position != null) {
                position.setCommitted(offset);
            }
        });
    }
}
