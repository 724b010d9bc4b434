package io.rawline;

import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.http.Nanos;
import java.util.concurrent.ThreadLocalRandom;

/** The failed attempts of one request, and how long to wait after each. */
final class Attempts {
    /** What {@link #waitAfter} returns if the request is not retried. */
    static final long GIVE_UP = -1;

    private final RetryPolicy policy;
    private long waitNs;
    private boolean failed;
    private long firstFailureNs;

    Attempts(RetryPolicy policy) {
        this.policy = policy;
        this.waitNs = Nanos.of(policy.waitMin());
    }

    /** Nanoseconds to wait before the next attempt, or {@link #GIVE_UP}. */
    long waitAfter(RawlineException error, long nowNs) {
        if (!error.isRetryable()
                || error instanceof InterruptedCallException
                || policy.giveUpAfter().isZero()) {
            return GIVE_UP;
        }
        if (!failed) {
            failed = true;
            firstFailureNs = nowNs;
        }
        long leftNs = Nanos.of(policy.giveUpAfter()) - (nowNs - firstFailureNs);
        // Between half the wait and all of it, so that clients that failed together don't return together.
        long wait = (long) (waitNs * (0.5 + ThreadLocalRandom.current().nextDouble() / 2));
        if (error instanceof RefusedException refused && refused.retryAfter().isPresent()) {
            wait = Math.max(wait, Nanos.of(refused.retryAfter().get()));
        }
        waitNs = Math.min(waitNs * 2, Nanos.of(policy.waitMax()));
        return wait <= leftNs ? wait : GIVE_UP;
    }
}
