package io.rawline.internal.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.error.AnswerException;
import io.rawline.error.ConfigException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.setting.Nanos;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The waits after failures; no clock is needed. */
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
            long maxMs = Math.min(100L << count, 400);
            assertTrue(waitMs >= maxMs / 2 && waitMs <= maxMs, count + ": " + waitMs);
            nowMs += waitMs;
        }
        assertTrue(nowMs <= 2000 && nowMs >= 1600, "gave up after " + nowMs);
    }

    @Test
    void theBrokersRetryAfterIsRespected() {
        Attempts attempts = new Attempts(RetryPolicy.DEFAULT);
        assertEquals(3_000_000_000L, attempts.waitAfter(refused(503, Duration.ofSeconds(3)), 0));
        // A longer wait than the policy allows is not started.
        assertEquals(Attempts.GIVE_UP, attempts.waitAfter(refused(503, Duration.ofSeconds(300)), 0));
    }

    @Test
    void permanentErrorsAreNotRetried() {
        for (RawlineException error : new RawlineException[] {
            refused(400, null),
            refused(500, null),
            new AnswerException("m", null),
            new InterruptedCallException("m", null)
        }) {
            assertEquals(Attempts.GIVE_UP, new Attempts(RetryPolicy.DEFAULT).waitAfter(error, 0));
        }
        assertEquals(Attempts.GIVE_UP, new Attempts(RetryPolicy.NONE).waitAfter(BROKEN, 0));
    }

    @Test
    void theLongestDurationsDoNotOverflow() {
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
    void aPolicyWithoutAPauseIsRefused() {
        Duration second = Duration.ofSeconds(1);
        assertThrows(ConfigException.class, () -> new RetryPolicy(Duration.ZERO, second, second));
        assertThrows(ConfigException.class, () -> new RetryPolicy(second, Duration.ZERO, second));
        assertThrows(ConfigException.class, () -> new RetryPolicy(second, second, second.negated()));
        assertThrows(NullPointerException.class, () -> new RetryPolicy(second, null, second));
    }
}
