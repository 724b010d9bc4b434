package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

/** When a broker is asked whether it lives, and what follows from the answer. */
class LivenessTest {
    private long nowNs;
    private int questions;
    private int silent;
    private Liveness.Answer answer = Liveness.Answer.LIVES;
    /** Checks within a quarter of a second. */
    private Deque<Runnable> ticks = new ArrayDeque<>();

    private final Liveness liveness = new Liveness(
            () -> {
                questions++;
                return answer;
            },
            Runnable::run,
            tick -> ticks.add(tick),
            () -> nowNs);

    /** Something that waits from now on. */
    private Liveness.Waiting waiting() {
        long askAtNs = nowNs + Liveness.PATIENCE_NS;
        return new Liveness.Waiting() {
            @Override
            public long askInNs(long now) {
                return askAtNs - now;
            }

            @Override
            public void foundSilent() {
                silent++;
            }
        };
    }

    private void pass(long ns) {
        for (long untilNs = nowNs + ns; nowNs < untilNs; nowNs += Liveness.TICK_NS) {
            Deque<Runnable> due = ticks;
            ticks = new ArrayDeque<>();
            due.forEach(Runnable::run);
            assertTrue(ticks.size() <= 1, ticks.size() + " ticks at the same time");
        }
    }

    @Test
    void noBrokerIsAskedBeforeARequestHasWaitedForLong() {
        answer = Liveness.Answer.SILENT;
        for (int i = 0; i < 10; i++) {
            Liveness.Waiting waiting = waiting();
            liveness.add(waiting, 0);
            pass(Liveness.PATIENCE_NS);
            liveness.remove(waiting);
        }
        assertEquals(0, questions + silent);
        // Without a request, nothing runs.
        pass(Liveness.PATIENCE_NS);
        assertEquals(0, ticks.size());
    }

    @Test
    void aBrokerThatRespondsOrCannotBeAskedIsNotSilent() {
        liveness.add(waiting(), 0);
        liveness.add(waiting(), 0);
        pass(9_000_000_000L);
        assertEquals(4, questions, "at 2, 4, 6 and 8 s");
        answer = Liveness.Answer.UNKNOWN;
        pass(6_000_000_000L);
        assertEquals(7, questions);
        assertEquals(0, silent + liveness.silences());
        assertFalse(liveness.isAvoided());
    }

    @Test
    void allThatWaitForASilentBrokerEnd() {
        answer = Liveness.Answer.SILENT;
        liveness.add(waiting(), 0);
        liveness.add(waiting(), 0);
        pass(3_000_000_000L);
        assertEquals(2, silent);
        assertEquals(1, liveness.silences());
        // As does what is sent on a connection that was opened before.
        liveness.add(waiting(), 0);
        assertEquals(3, silent);
        liveness.add(waiting(), 1);
        assertEquals(3, silent);
        assertTrue(liveness.isAvoided());
        pass(1_000_000_000L);
        assertEquals(1, questions);
    }

    @Test
    void aBrokerIsAvoidedUntilItRespondsOrForHalfAMinute() {
        answer = Liveness.Answer.SILENT;
        liveness.add(waiting(), 0);
        pass(3_000_000_000L);
        assertTrue(liveness.isAvoided());
        answer = Liveness.Answer.LIVES;
        Liveness.Waiting waiting = waiting();
        liveness.add(waiting, 1);
        pass(3_000_000_000L);
        assertFalse(liveness.isAvoided());
        answer = Liveness.Answer.SILENT;
        pass(3_000_000_000L);
        assertTrue(liveness.isAvoided());
        pass(Liveness.AVOIDED_NS);
        assertFalse(liveness.isAvoided());
    }
}
