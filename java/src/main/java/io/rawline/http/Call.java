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
 * A request with its retries, which others can end: its time-out, or whoever no longer wants it. Both close the
 * connection that it waits for, since a thread that blocks there sees nothing else.
 */
public final class Call {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    private Connection connection;
    private boolean cancelled;
    private boolean expired;
    private long limitNs;
    private Future<?> timer;
    /** Number of the attempt at hand: the timer of one before it may come late. */
    private long attempt;

    /** Begins an attempt, which may last so long. */
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

    /** The connection that the attempt waits for from now on; false, and it is closed, if the call was ended. */
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

    /** From now on the connection is not closed from here. False if it was already. */
    boolean release() {
        lock.lock();
        try {
            connection = null;
            return !cancelled && !expired;
        } finally {
            lock.unlock();
        }
    }

    /** Nobody wants the answer any more. */
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

    /** What a failure on the connection means: the time ran out, the call was ended, or {@code otherwise}. */
    RawlineException explain(Throwable failure, Address address, RawlineException otherwise) {
        lock.lock();
        try {
            if (cancelled) {
                return cancelled(failure);
            }
            if (expired) {
                return new RequestTimeoutException(
                        String.format(
                                "no answer from %s within %.1f s; it may be"
                                        + " overloaded: try again later or with a longer time-out",
                                address.url(), limitNs / 1e9),
                        failure);
            }
        } finally {
            lock.unlock();
        }
        // Not every layer above the channel hands its exception on as it is.
        if (failure instanceof ClosedByInterruptException
                || Thread.currentThread().isInterrupted()) {
            return interrupted(failure);
        }
        return otherwise;
    }

    /** Waits, unless the call is ended. */
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

    public static RawlineException interrupted(Throwable cause) {
        return new InterruptedCallException(
                "the thread was interrupted while it waited for the broker; call again if" + " that was not meant",
                cause);
    }

    private static RawlineException cancelled(Throwable cause) {
        return new StoppedException("it was closed while it waited for the broker; make a new one to go on", cause);
    }
}
