package io.rawline.internal.request;

import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.Request;
import io.rawline.internal.setting.Log;
import io.rawline.internal.setting.Nanos;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** The failed attempts of one request, and how long to wait after each; repeats requests accordingly. */
public final class Attempts {
    /** What {@link #waitAfter} returns if the request is not retried. */
    public static final long GIVE_UP = -1;

    private static final Log LOG = new Log();

    private final RetryPolicy policy;
    private long waitNs;
    private boolean failed;
    private long firstFailureNs;

    public Attempts(RetryPolicy policy) {
        this.policy = policy;
        this.waitNs = Nanos.of(policy.waitMin());
    }

    /** Nanoseconds to wait before the next attempt, or {@link #GIVE_UP}. */
    public long waitAfter(RawlineException error, long nowNs) {
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
        if (wait > leftNs) {
            return GIVE_UP;
        }
        long leftMs = leftNs / 1_000_000;
        LOG.warn(() -> "a request failed and is retried for another " + leftMs + " ms: " + error.getMessage());
        return wait;
    }

    /** Sends a request, with retries; returns the response's body. */
    public static byte[] text(Http http, RetryPolicy retries, Request request) {
        Call call = new Call();
        return retry(call, retries, () -> http.text(call, request));
    }

    /** Deletes something, whose absence is an error with the code {@code gone}. */
    public static byte[] delete(Http http, RetryPolicy retries, Request request, String gone) {
        Call call = new Call();
        AtomicBoolean mayBeDeleted = new AtomicBoolean();
        return retry(call, retries, () -> {
            try {
                return http.text(call, request);
            } catch (ConnectionBrokenException | RequestTimeoutException error) {
                mayBeDeleted.set(true);
                throw error;
            } catch (RefusedException error) {
                if (mayBeDeleted.get() && error.code().equals(gone)) {
                    // An earlier try, whose response was lost, has deleted it.
                    return new byte[0];
                }
                throw error;
            }
        });
    }

    /** Does something once or, after transient failures, several times. */
    public static <T> T retry(Call call, RetryPolicy retries, Supplier<T> once) {
        return retry(call, retries, once, once);
    }

    /** Does something the first time, and something else after transient failures. */
    public static <T> T retry(Call call, RetryPolicy retries, Supplier<T> first, Supplier<T> again) {
        Attempts attempts = new Attempts(retries);
        Supplier<T> once = first;
        while (true) {
            try {
                return once.get();
            } catch (RawlineException error) {
                long wait = attempts.waitAfter(error, System.nanoTime());
                if (wait == Attempts.GIVE_UP) {
                    throw error;
                }
                call.sleep(wait);
                once = again;
            }
        }
    }
}
