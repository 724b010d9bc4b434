package io.rawline;

import io.rawline.error.ConfigException;
import java.time.Duration;
import java.util.Objects;

/**
 * How long to go on trying when a request fails in a way that may pass.
 *
 * @param waitMin the first wait, more than zero where it is tried again at all; each further one is twice as long
 * @param waitMax the longest wait
 * @param giveUpAfter how long after the first failure the last one is handed to the caller; zero never tries again
 */
public record RetryPolicy(Duration waitMin, Duration waitMax, Duration giveUpAfter) {
    /** Every failure is handed to the caller at once. */
    public static final RetryPolicy NONE = new RetryPolicy(Duration.ZERO, Duration.ZERO, Duration.ZERO);

    /**
     * From 50 ms to 2 s apart, for 30 s: a broker that is restarted is back by then, and a herd of clients has spread.
     */
    public static final RetryPolicy DEFAULT =
            new RetryPolicy(Duration.ofMillis(50), Duration.ofSeconds(2), Duration.ofSeconds(30));

    /**
     * A policy.
     *
     * @param waitMin the first wait
     * @param waitMax the longest wait
     * @param giveUpAfter how long after the first failure it gives up
     * @throws ConfigException a time is negative, or it would be tried again without a pause
     */
    public RetryPolicy {
        Objects.requireNonNull(waitMin, "waitMin");
        Objects.requireNonNull(waitMax, "waitMax");
        Objects.requireNonNull(giveUpAfter, "giveUpAfter");
        if (waitMin.isNegative() || waitMax.isNegative() || giveUpAfter.isNegative()) {
            throw new ConfigException("waitMin, waitMax and giveUpAfter must not be negative", null);
        }
        if (!giveUpAfter.isZero() && (waitMin.isZero() || waitMax.isZero())) {
            throw new ConfigException("waitMin and waitMax must be more than zero where giveUpAfter is", null);
        }
    }

    /**
     * The usual waits, over another time.
     *
     * @param giveUpAfter how long after the first failure the last one is handed to the caller
     * @return the policy
     */
    public static RetryPolicy lasting(Duration giveUpAfter) {
        return new RetryPolicy(DEFAULT.waitMin, DEFAULT.waitMax, giveUpAfter);
    }
}
