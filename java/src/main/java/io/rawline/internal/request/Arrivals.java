package io.rawline.internal.request;

import io.rawline.error.ConfigException;
import io.rawline.error.RawlineException;
import io.rawline.error.StoppedException;
import io.rawline.internal.http.Call;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/** Requests that run on other threads, and their results in the order in which they arrive. Thread-safe. */
public final class Arrivals<T> {
    private final Executor executor;
    private final ReentrantLock lock = new ReentrantLock();
    /** A request has ended, or this was closed. */
    private final Condition ended = lock.newCondition();

    private final Deque<Arrival<T>> arrived = new ArrayDeque<>();
    private final Set<Call> calls = new HashSet<>();
    private boolean closed;

    /** The outcome of a request: its result or its error. */
    public record Arrival<T>(int key, T result, Throwable error) {
        /** The error, to be thrown on the caller's thread. */
        public RawlineException known() {
            return error instanceof RawlineException known
                    ? known.copy()
                    : new StoppedException(
                            "bug in the consumer (" + error + "); please report it with the stack trace", error);
        }
    }

    public Arrivals(Executor executor) {
        this.executor = executor;
    }

    /** Starts a request, which is cancelled when this is closed. */
    public void start(int key, Function<Call, T> request) {
        Call call = new Call();
        register(call);
        boolean started = false;
        try {
            executor.execute(() -> run(key, call, request));
            started = true;
        } catch (RejectedExecutionException error) {
            throw new ConfigException(
                    "the client's executor rejects tasks; give the client one that accepts them", error);
        } finally {
            if (!started) {
                end(call, null);
            }
        }
    }

    /** Adds a result for which there was no request. */
    public void post(int key, T result) {
        lock.lock();
        try {
            arrived.addLast(new Arrival<>(key, result, null));
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Cancels the requests in flight, whose results are errors. */
    public void cancel() {
        lock.lock();
        try {
            calls.forEach(Call::cancel);
        } finally {
            lock.unlock();
        }
    }

    private void register(Call call) {
        lock.lock();
        try {
            checkOpen();
            calls.add(call);
        } finally {
            lock.unlock();
        }
    }

    private void run(int key, Call call, Function<Call, T> request) {
        Arrival<T> arrival;
        try {
            arrival = new Arrival<>(key, request.apply(call), null);
        } catch (RuntimeException | Error error) {
            arrival = new Arrival<>(key, null, error);
        }
        end(call, arrival);
    }

    private void end(Call call, Arrival<T> arrival) {
        lock.lock();
        try {
            calls.remove(call);
            if (arrival != null) {
                arrived.addLast(arrival);
            }
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new StoppedException("the consumer is closed; create a new one", null);
        }
    }

    /** The next result; null if there was no result in time. */
    public Arrival<T> await(long waitNs) {
        lock.lock();
        try {
            long leftNs = waitNs;
            while (arrived.isEmpty() && leftNs > 0) {
                checkOpen();
                if (waitNs == Long.MAX_VALUE) {
                    ended.await();
                } else {
                    leftNs = ended.awaitNanos(leftNs);
                }
            }
            checkOpen();
            return arrived.pollFirst();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } finally {
            lock.unlock();
        }
    }

    /** Cancels the requests in flight, and ends a wait for them. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            calls.forEach(Call::cancel);
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
