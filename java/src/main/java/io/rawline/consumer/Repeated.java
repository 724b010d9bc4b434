package io.rawline.consumer;

import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.StoppedException;
import io.rawline.internal.http.Call;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToLongFunction;

/** Work that a background thread repeats until it ends. Thread-safe. */
final class Repeated {
    /** The result of the work at its end. */
    static final long OVER = -1;

    private final Executor executor;
    private final long firstWaitNs;
    private final ToLongFunction<Call> work;
    private final ReentrantLock lock = new ReentrantLock();
    /** Null if no thread does the work. */
    private Call running;
    /** Whether it was started again while it ran. */
    private boolean isStartedAgain;

    /**
     * Nothing is done yet.
     *
     * @param firstWaitNs time before the first run, in nanoseconds
     * @param work does the work once; returns the time before the next run, or {@link #OVER}
     */
    Repeated(Executor executor, long firstWaitNs, ToLongFunction<Call> work) {
        this.executor = executor;
        this.firstWaitNs = firstWaitNs;
        this.work = work;
    }

    /** Starts it, unless it runs. */
    void start() {
        Call call = new Call();
        lock.lock();
        try {
            isStartedAgain = running != null;
            if (isStartedAgain) {
                return;
            }
            running = call;
        } finally {
            lock.unlock();
        }
        try {
            executor.execute(() -> run(call));
        } catch (RejectedExecutionException error) {
            end();
            throw new ConfigException(
                    "the client's executor rejects tasks; give the client one that accepts them", error);
        }
    }

    /** Ends it, also if it waits. */
    void stop() {
        lock.lock();
        try {
            if (running != null) {
                running.cancel();
            }
        } finally {
            lock.unlock();
        }
    }

    private void run(Call call) {
        boolean isOver = false;
        try {
            long waitNs = firstWaitNs;
            while (!isOver) {
                call.sleep(waitNs);
                waitNs = work.applyAsLong(call);
                if (waitNs == OVER) {
                    isOver = isOver();
                    waitNs = firstWaitNs;
                }
            }
        } catch (StoppedException | InterruptedCallException stopped) {
            // By stop, or by an interrupt of the executor's thread.
        } finally {
            if (!isOver) {
                end();
            }
        }
    }

    /** Ends it, unless it was started again meanwhile. */
    private boolean isOver() {
        lock.lock();
        try {
            if (!isStartedAgain) {
                running = null;
                return true;
            }
            isStartedAgain = false;
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        lock.lock();
        try {
            running = null;
        } finally {
            lock.unlock();
        }
    }
}
