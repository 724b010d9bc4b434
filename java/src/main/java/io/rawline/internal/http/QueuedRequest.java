package io.rawline.internal.http;

import io.rawline.error.RawlineException;
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/** A small request that waits for its turn on a pipelined connection, or for its response there. */
public final class QueuedRequest implements Call.Blocking {
    private final Pipelines pipelines;
    private final byte[] bytes;
    private final long deadlineNs;
    /** The connection that it waits for or was sent on. Guarded by the lock of {@link Pipelines}. */
    private PipelinedConnection connection;
    /** How many connections closed before it was sent, or before it was carried out. */
    private int moves;
    /** When it was sent. */
    private long sentAtNs;
    /** Set once, with that lock held. */
    private volatile Outcome outcome;
    /** The thread that waits for the outcome. */
    private volatile Thread waiter;

    /** One of the two is null. */
    private record Outcome(Replies.Reply reply, Throwable failure) {}

    /**
     * A request that is not queued yet.
     *
     * @param bytes head and body as sent
     * @param deadlineNs when it times out, as {@link System#nanoTime} counts
     */
    QueuedRequest(Pipelines pipelines, byte[] bytes, long deadlineNs) {
        this.pipelines = pipelines;
        this.bytes = bytes;
        this.deadlineNs = deadlineNs;
    }

    byte[] bytes() {
        return bytes;
    }

    PipelinedConnection connection() {
        return connection;
    }

    void queuedOn(PipelinedConnection connection) {
        this.connection = connection;
    }

    /** How many connections closed before it was sent, this one included. */
    int move() {
        return ++moves;
    }

    void sendAt(long nowNs) {
        sentAtNs = nowNs;
    }

    long sentAtNs() {
        return sentAtNs;
    }

    boolean isOverdue(long nowNs) {
        return leftNs(nowNs) <= 0;
    }

    long leftNs(long nowNs) {
        return deadlineNs - nowNs;
    }

    /** Whether its outcome is known, or its caller doesn't wait any more. */
    boolean isDone() {
        return outcome != null;
    }

    /** Its response has arrived. Has no effect if its caller doesn't wait any more. */
    void complete(Replies.Reply reply) {
        resolve(new Outcome(reply, null));
    }

    /** It gets no response. Has no effect if its caller doesn't wait any more. */
    void fail(Throwable failure) {
        resolve(new Outcome(null, failure));
    }

    private void resolve(Outcome found) {
        if (outcome == null) {
            outcome = found;
        }
    }

    /** Wakes the thread that waits for the outcome. */
    void wake() {
        Thread found = waiter;
        if (found != null) {
            LockSupport.unpark(found);
        }
    }

    /** Stops waiting: a request that was sent stays on its connection, and its response is discarded. */
    @Override
    public void close() {
        pipelines.giveUp(this);
    }

    /**
     * Waits for the response, as a part of {@code call}.
     *
     * @throws IOException the connection broke, or the call has ended
     * @throws RawlineException no connection could be established
     */
    Replies.Reply await(Call call) throws IOException {
        waiter = Thread.currentThread();
        while (outcome == null) {
            long left = leftNs(System.nanoTime());
            if (left <= 0) {
                call.expire();
            } else if (Thread.currentThread().isInterrupted()) {
                close();
            } else {
                LockSupport.parkNanos(this, left);
            }
        }
        Throwable failure = outcome.failure;
        if (failure instanceof IOException broken) {
            if (isOverdue(System.nanoTime())) {
                // The connection was closed because this request is overdue.
                call.expire();
            }
            throw broken;
        }
        if (failure instanceof RawlineException known) {
            throw known.copy();
        }
        if (failure != null) {
            throw new IllegalStateException("a pipelined connection failed: " + failure, failure);
        }
        return outcome.reply;
    }
}
