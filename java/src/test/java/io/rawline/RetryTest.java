package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How long is waited after which failure; no clock is needed. */
class RetryTest {
    private static final RawlineException BROKEN = new ConnectionBrokenException("r", null);

    private static RawlineException refused(int status, Duration retryAfter) {
        return new RefusedException(status, "c", "m", retryAfter);
    }

    @Test
    void waitsGrowToTheMaximumAndEnd() {
        RetryPolicy policy = new RetryPolicy(Duration.ofMillis(100), Duration.ofMillis(400), Duration.ofSeconds(2));
        Attempts attempts = new Attempts(policy);
        long nowMs = 0;
        int count = 0;
        for (long wait; (wait = attempts.waitAfter(BROKEN, nowMs * 1_000_000)) != Attempts.GIVE_UP; count++) {
            long waitMs = wait / 1_000_000;
            long most = Math.min(100L << count, 400);
            assertTrue(waitMs >= most / 2 && waitMs <= most, count + ": " + waitMs);
            nowMs += waitMs;
        }
        assertTrue(nowMs <= 2000 && nowMs >= 1600, "gave up after " + nowMs);
    }

    @Test
    void theBrokersOwnWaitIsKept() {
        Attempts attempts = new Attempts(RetryPolicy.DEFAULT);
        assertEquals(3_000_000_000L, attempts.waitAfter(refused(503, Duration.ofSeconds(3)), 0));
        // One that is longer than there is patience for is not begun.
        assertEquals(Attempts.GIVE_UP, attempts.waitAfter(refused(503, Duration.ofSeconds(300)), 0));
    }

    @Test
    void whatNoRetryHelpsIsHandedOnAtOnce() {
        for (RawlineException error : new RawlineException[] {refused(400, null), refused(500, null),
            new AnswerException("m", null), new InterruptedCallException("m", null)}) {
            assertEquals(Attempts.GIVE_UP, new Attempts(RetryPolicy.DEFAULT).waitAfter(error, 0));
        }
        assertEquals(Attempts.GIVE_UP, new Attempts(RetryPolicy.NONE).waitAfter(BROKEN, 0));
    }

    @Test
    void noTimeIsTooLongToBeCountedIn() {
        Duration ever = Duration.ofSeconds(Long.MAX_VALUE);
        Attempts attempts = new Attempts(new RetryPolicy(ever, ever, ever));
        for (int i = 0; i < 3; i++) {
            assertTrue(attempts.waitAfter(BROKEN, 0) > 0);
        }
        assertEquals(Attempts.GIVE_UP, new Attempts(RetryPolicy.DEFAULT).waitAfter(refused(503, ever), 0));
        assertEquals(-Nanos.MAX, Nanos.of(ever.negated()));
        assertEquals(1_000_001, Nanos.of(Duration.ofNanos(1_000_001)));
    }

    @Test
    void aPolicyWithoutAPauseIsNone() {
        Duration second = Duration.ofSeconds(1);
        assertThrows(ConfigException.class, () -> new RetryPolicy(Duration.ZERO, second, second));
        assertThrows(ConfigException.class, () -> new RetryPolicy(second, Duration.ZERO, second));
        assertThrows(ConfigException.class, () -> new RetryPolicy(second, second, second.negated()));
        assertThrows(NullPointerException.class, () -> new RetryPolicy(second, null, second));
    }

    @Test
    void aTimerThatComesLateEndsNothingElse() {
        List<Runnable> timers = new ArrayList<>();
        ScheduledThreadPoolExecutor noted = new ScheduledThreadPoolExecutor(1) {
            @Override
            public ScheduledFuture<?> schedule(Runnable work, long delay, TimeUnit unit) {
                timers.add(work);
                return super.schedule(work, delay, unit);
            }
        };
        Call call = new Call();
        call.begin(Nanos.MAX, noted);
        call.end();
        call.begin(Nanos.MAX, noted);
        timers.get(0).run();
        assertTrue(call.release());
        timers.get(1).run();
        assertFalse(call.release());
        call.end();
        noted.shutdownNow();
    }

    @Test
    void everyStatusHasItsKind() {
        int[] statuses = {400, 404, 408, 413, 429, 500, 502, 503, 504, 507};
        Kind[] kinds = {Kind.FIX_REQUEST, Kind.FIX_REQUEST, Kind.TRY_AGAIN, Kind.FIX_REQUEST, Kind.WAIT,
            Kind.TELL_HUMAN, Kind.TRY_AGAIN, Kind.WAIT, Kind.TRY_AGAIN, Kind.TELL_HUMAN};
        for (int i = 0; i < statuses.length; i++) {
            assertEquals(kinds[i], refused(statuses[i], null).kind());
        }
        assertEquals(Kind.TRY_AGAIN, new BatchException("batch_crc", "m").kind());
        assertEquals(Kind.FIX_REQUEST, new BatchException("batch_magic", "m").kind());
    }
}
