package io.rawline.error;

import java.time.Duration;
import java.util.Objects;

/**
 * How transient failures are retried.
 *
 * @param waitMin the first wait, more than zero unless nothing is retried; each further wait is twice as long
 * @param waitMax the longest wait
 * @param giveUpAfter how long after the first failure the caller gets the error; zero means no retries
 */
public record RetryPolicy(Duration waitMin, Duration waitMax, Duration giveUpAfter) {
    /** No retries: the caller gets every failure at once. */
    public static final RetryPolicy NONE = new RetryPolicy(Duration.ZERO, Duration.ZERO, Duration.ZERO);

    /**
     * Waits of 50 ms to 2 s, for 30 s: long enough for a broker to restart, and for many clients not to return at the
     * same time.
     */
    public static final RetryPolicy DEFAULT =
            new RetryPolicy(Duration.ofMillis(50), Duration.ofSeconds(2), Duration.ofSeconds(30));

    /**
     * A policy.
     *
     * @param waitMin the first wait
     * @param waitMax the longest wait
     * @param giveUpAfter how long after the first failure the caller gets the error
     * @throws ConfigException a time is negative, or retries would have no pause between them
     */
    public RetryPolicy {
        checkNotNegative("waitMin", waitMin);
        checkNotNegative("waitMax", waitMax);
        checkNotNegative("giveUpAfter", giveUpAfter);
        if (!giveUpAfter.isZero() && (waitMin.isZero() || waitMax.isZero())) {
            throw new ConfigException("waitMin and waitMax must be more than zero if giveUpAfter is", null);
        }
    }

    /**
     * The default waits, over another time.
     *
     * @param giveUpAfter how long after the first failure the caller gets the error
     * @return the policy
     */
    public static RetryPolicy lasting(Duration giveUpAfter) {
        return new RetryPolicy(DEFAULT.waitMin, DEFAULT.waitMax, giveUpAfter);
    }

    private static void checkNotNegative(String name, Duration value) {
        if (Objects.requireNonNull(value, () -> name + " must not be null").isNegative()) {
            throw new ConfigException(name + " must not be negative, not " + value, null);
        }
    }
}
