package io.rawline.http;

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
 * A request with its retries, which can be ended by its timeout or by {@link #cancel}. Both close the connection, since
 * nothing else wakes a thread that is blocked on it.
 */
public final class Call {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    private Connection connection;
    private boolean cancelled;
    private boolean expired;
    private long limitNs;
    private Future<?> timer;
    /** Number of the current attempt: the timer of an earlier one may fire late. */
    private long attempt;

    /** Starts an attempt with a timeout. */
    void begin(long limitNs, ScheduledExecutorService timers) {
        lock.lock();
        try {
            this.limitNs = limitNs;
            expired = false;
            long begun = ++attempt;
            timer = timers.schedule(() -> expire(begun), limitNs, TimeUnit.NANOSECONDS);
        } finally {
            lock.unlock();
        }
    }

    /** Ends the attempt. */
    void end() {
        timer.cancel(false);
    }

    /** Sets the connection that the attempt blocks on. False, and the connection is closed, if the call has ended. */
    boolean use(Connection connection) {
        lock.lock();
        try {
            if (cancelled || expired) {
                connection.close();
                return false;
            }
            this.connection = connection;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Takes the connection back from the call. False if the call has closed it. */
    boolean release() {
        lock.lock();
        try {
            connection = null;
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
            closeConnection();
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void expire(long begun) {
        lock.lock();
        try {
            if (begun == attempt) {
                expired = true;
                closeConnection();
            }
        } finally {
            lock.unlock();
        }
    }

    private void closeConnection() {
        if (connection != null) {
            connection.close();
            connection = null;
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
