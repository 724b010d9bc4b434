package io.rawline.internal.http;

import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.StoppedException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A request with its retries, which can be ended by its timeout or by {@link #cancel}. Both close what its thread is
 * blocked on, since nothing else wakes the thread.
 */
public final class Call {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    private Blocking blocking;
    private boolean cancelled;
    private boolean expired;
    private long limitNs;
    private Future<?> timer;
    /** Number of the current attempt: the timer of an earlier one may fire late. */
    private long attempt;

    /** A resource that a thread can be blocked on: a connection, or a queued request. */
    interface Blocking {
        /** Ends it, and wakes a thread that is blocked on it. */
        void close();
    }

    /** Starts an attempt with a timeout. */
    void begin(long limitNs, ScheduledExecutorService timers) {
        lock.lock();
        try {
            long begun = begin(limitNs);
            timer = timers.schedule(() -> expire(begun), limitNs, TimeUnit.NANOSECONDS);
        } finally {
            lock.unlock();
        }
    }

    /** Starts an attempt whose thread calls {@link #expire()} itself, and returns its number. */
    long begin(long limitNs) {
        lock.lock();
        try {
            this.limitNs = limitNs;
            expired = false;
            return ++attempt;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the attempt. */
    void end() {
        timer.cancel(false);
    }

    /** Sets the resource that the attempt blocks on. False, and the resource is closed, if the call has ended. */
    boolean use(Blocking blocking) {
        lock.lock();
        try {
            if (cancelled || expired) {
                blocking.close();
                return false;
            }
            this.blocking = blocking;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Removes the resource that the attempt was blocked on. False if the call has closed it. */
    boolean release() {
        lock.lock();
        try {
            blocking = null;
            return !cancelled && !expired;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the call, and a thread that waits for it. */
    public void cancel() {
        lock.lock();
        try {
            cancelled = true;
            closeBlocking();
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the attempt, whose time has run out. */
    void expire() {
        expire(attempt);
    }

    private void expire(long begun) {
        lock.lock();
        try {
            if (begun == attempt) {
                expired = true;
                closeBlocking();
            }
        } finally {
            lock.unlock();
        }
    }

    private void closeBlocking() {
        if (blocking != null) {
            blocking.close();
            blocking = null;
        }
    }

    /** The reason for a failure on the connection: a timeout, a cancelled call, an interrupt, or {@code otherwise}. */
    RawlineException explain(Throwable failure, Address address, RawlineException otherwise) {
        lock.lock();
        try {
            if (cancelled) {
                return cancelled(failure);
            }
            if (expired) {
                return new RequestTimeoutException(
                        String.format(
                                "no response from %s within %.1f s; the broker may be overloaded: retry later or with a"
                                        + " longer timeout",
                                address.url(), limitNs / 1e9),
                        failure);
            }
        } finally {
            lock.unlock();
        }
        // Not every layer above the channel passes this exception on unchanged.
        if (failure instanceof ClosedByInterruptException
                || Thread.currentThread().isInterrupted()) {
            return interrupted(failure);
        }
        return otherwise;
    }

    /** Sleeps; throws if the call is cancelled meanwhile. */
    public void sleep(long waitNs) {
        lock.lock();
        try {
            long left = waitNs;
            while (!cancelled && left > 0) {
                left = ended.awaitNanos(left);
            }
            if (cancelled) {
                throw cancelled(null);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw interrupted(error);
        } finally {
            lock.unlock();
        }
    }

    private static RawlineException cancelled(Throwable cause) {
        return new StoppedException(
                "closed while a request was in flight; create a new producer or consumer to continue", cause);
    }

    /** The error for a thread that was interrupted and still is. */
    public static RawlineException interrupted(Throwable cause) {
        return new InterruptedCallException(
                "the thread was interrupted while it waited for the broker; to continue, clear the interrupt and call"
                        + " again",
                cause);
    }
}
