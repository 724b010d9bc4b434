package io.rawline.consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.internal.group.Membership;
import io.rawline.topic.TopicPartition;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The offsets that a group's member has to commit, without a broker. */
class AssignmentTest {
    private static final TopicPartition FIRST = new TopicPartition("t", 0);
    private static final TopicPartition SECOND = new TopicPartition("t", 1);

    @Test
    void whatIsProcessedIsCommittedOnce() {
        Position first = Position.committed(5);
        Position second = new Position(9);
        Assignment assignment = new Assignment(null, Map.of(FIRST, first, SECOND, second));
        // Where the second one begins: "latest" is another offset later.
        assertEquals(Map.of(SECOND, 9L), assignment.uncommitted());
        first.returned(8);
        assertEquals(Map.of(SECOND, 9L), assignment.uncommitted(), "the caller may be processing");
        assignment.processAll();
        Map<TopicPartition, Long> offsets = assignment.uncommitted();
        assertEquals(Map.of(FIRST, 8L, SECOND, 9L), offsets);
        first.returned(10);
        assignment.processAll();
        assignment.setCommitted(offsets);
        assertEquals(Map.of(FIRST, 10L), assignment.uncommitted());
        first.gone();
        assertEquals(Map.of(), assignment.uncommitted());
    }

    private static Membership membership(String member, long generation) {
        return new Membership(member, generation, OptionalLong.empty(), Map.of());
    }

    @Test
    void partitionsAreKeptIfNoOtherMemberCanHaveHadThem() {
        Membership before = membership("a", 5);
        assertTrue(membership("a", 6).follows(before));
        assertTrue(membership("a", 5).follows(before));
        assertFalse(membership("a", 7).follows(before));
        assertFalse(membership("a", 1).follows(before));
        assertFalse(membership("b", 6).follows(before));
    }
}
