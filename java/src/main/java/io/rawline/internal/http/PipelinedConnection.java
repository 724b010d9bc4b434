package io.rawline.internal.http;

import io.rawline.error.RawlineException;
import io.rawline.internal.http.ResponseParser.NotHttpException;
import io.rawline.internal.setting.Nanos;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection with several requests in flight, in order. One thread writes, everything that waits with one call, and
 * another receives. The callers only wait: an interrupt of a thread that is blocked on a channel closes it, so a caller
 * that is interrupted would close the connection for all others.
 */
final class PipelinedConnection implements Liveness.Waiting {
    /** How long it stays open without a request. */
    private static final long IDLE_NS_MAX = 10_000_000_000L;

    private static final ThreadFactory THREADS = Daemons.factory("rawline-pipeline");

    private final Pipelines owner;
    private final ReentrantLock lock;
    /** There is something to write or to check. */
    private final Condition work;
    // All below is guarded by the lock.
    private final Pipeline pipeline = new Pipeline();
    private boolean writerWaits;
    /** Whether a response has said that nothing after it is carried out. */
    private boolean announcedEnd;

    private boolean closed;
    private long idleSinceNs = System.nanoTime();
    /** Null until it is established. */
    private Connection connection;

    PipelinedConnection(Pipelines owner) {
        this.owner = owner;
        lock = owner.lock();
        work = lock.newCondition();
    }

    /** Begins to connect. */
    void start() {
        THREADS.newThread(this::connectAndWrite).start();
    }

    /** Whether requests can be added. */
    boolean isOpen() {
        return !pipeline.hasEnded();
    }

    /** Whether a request of this size can be sent without waiting for an earlier one's response. */
    boolean hasRoom(int bytes, long nowNs) {
        return pipeline.hasRoom(bytes, nowNs);
    }

    /** Queues a request. */
    void add(QueuedRequest request) {
        request.queuedOn(this);
        pipeline.add(request);
        signalWriter();
    }

    /** The caller doesn't wait for this request any more. */
    void giveUp(QueuedRequest request) {
        if (!pipeline.remove(request)) {
            closeIfOverdue(System.nanoTime());
        }
    }

    /** Closes the connection if it has nothing to do. */
    void closeIfIdle() {
        if (pipeline.isEmpty()) {
            close(null);
        }
    }

    private void signalWriter() {
        if (writerWaits) {
            writerWaits = false;
            work.signal();
        }
    }

    /** The writing thread. */
    private void connectAndWrite() {
        try {
            Connection opened = owner.open();
            if (established(opened)) {
                THREADS.newThread(() -> receiveAll(opened)).start();
                writeAll(opened);
            }
        } catch (RawlineException error) {
            failToConnect(error);
        } catch (RuntimeException | Error error) {
            close(error);
        }
    }

    /** False, and it is closed, if it is not needed any more. */
    private boolean established(Connection opened) {
        lock.lock();
        try {
            if (!closed) {
                connection = opened;
                // Closes if the broker has been found silent meanwhile.
                opened.peer().add(this);
                return !closed;
            }
        } finally {
            lock.unlock();
        }
        opened.close();
        return false;
    }

    @Override
    public long askInNs(long nowNs) {
        lock.lock();
        try {
            QueuedRequest oldest = pipeline.oldest();
            return oldest == null ? Nanos.MAX : oldest.sentAtNs() + Liveness.PATIENCE_NS - nowNs;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void foundSilent() {
        close(new EOFException(Peer.SILENCE));
    }

    private void writeAll(Connection opened) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(Pipeline.BYTES_MAX);
        while (awaitDue()) {
            // Callers that can run now queue their requests first, which then share the write.
            Thread.yield();
            buffer.clear();
            take().forEach(request -> buffer.put(request.bytes()));
            try {
                opened.send(new ByteBuffer[] {buffer.flip()});
            } catch (IOException error) {
                // A broker that refuses a request may close before it has read the rest; its responses may still
                // arrive.
                end();
            }
        }
    }

    /** Waits until there is something to write; false if the connection is closed. */
    private boolean awaitDue() {
        lock.lock();
        try {
            while (!closed && !pipeline.hasDue()) {
                await(check(System.nanoTime()));
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private List<QueuedRequest> take() {
        lock.lock();
        try {
            return pipeline.take(System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connection if it is overdue or idle. Returns after how many nanoseconds to check it again. */
    private long check(long nowNs) {
        if (pipeline.oldest() != null) {
            closeIfOverdue(nowNs);
            return closed ? 0 : Math.min(IDLE_NS_MAX, pipeline.oldest().leftNs(nowNs));
        }
        long leftNs = IDLE_NS_MAX - (nowNs - idleSinceNs);
        if (pipeline.isEmpty() && (leftNs <= 0 || isNotNeeded())) {
            close(null);
        }
        return leftNs;
    }

    private void await(long waitNs) {
        if (closed) {
            return;
        }
        writerWaits = true;
        try {
            work.awaitNanos(waitNs);
        } catch (InterruptedException error) {
            throw new IllegalStateException("the writer's thread was interrupted", error);
        } finally {
            writerWaits = false;
        }
    }

    /** The receiving thread. */
    private void receiveAll(Connection opened) {
        try {
            Replies replies = new Replies();
            while (opened.receive()) {
                List<Replies.Reply> arrived = new ArrayList<>();
                try {
                    for (Replies.Reply reply = replies.next(opened.received());
                            reply != null;
                            reply = replies.next(opened.received())) {
                        arrived.add(reply);
                    }
                } finally {
                    answered(arrived);
                }
            }
            Replies.Reply last = replies.end();
            answered(last == null ? List.of() : List.of(last));
            close(new EOFException("it was closed before the response arrived"));
        } catch (IOException | RuntimeException | Error error) {
            close(error);
        }
    }

    /** Gives responses to the callers. */
    private void answered(List<Replies.Reply> replies) throws NotHttpException {
        List<QueuedRequest> done = new ArrayList<>(replies.size());
        boolean closes = false;
        lock.lock();
        try {
            for (Replies.Reply reply : replies) {
                QueuedRequest request = pipeline.answered();
                if (request == null) {
                    throw new NotHttpException("a response without a request");
                }
                request.complete(reply);
                done.add(request);
                closes |= reply.head().closes();
            }
            if (closes) {
                announcedEnd = true;
                end();
            }
            if (pipeline.isEmpty()) {
                idleSinceNs = System.nanoTime();
                if (isNotNeeded()) {
                    close(null);
                }
            } else if (pipeline.hasDue()) {
                signalWriter();
            }
        } finally {
            lock.unlock();
            done.forEach(QueuedRequest::wake);
        }
    }

    /** Whether it closes once it is idle. */
    private boolean isNotNeeded() {
        return pipeline.hasEnded() || owner.isClosed();
    }

    /** Sends no further request; responses to those that were sent may still arrive. */
    private void end() {
        lock.lock();
        try {
            owner.retire(this, pipeline.end());
        } finally {
            lock.unlock();
        }
    }

    private void closeIfOverdue(long nowNs) {
        if (pipeline.oldest() != null && pipeline.oldest().isOverdue(nowNs)) {
            close(new EOFException("it was closed because the response to an earlier request was overdue"));
        }
    }

    /** No connection could be established: that is everyone's error. */
    private void failToConnect(RawlineException error) {
        lock.lock();
        try {
            closed = true;
            List<QueuedRequest> waited = pipeline.end();
            owner.retire(this, List.of());
            waited.forEach(request -> Pipelines.fail(request, error));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the connection: requests that were sent fail, unless the broker has announced that it doesn't carry them
     * out; these and those that wait go elsewhere.
     *
     * @param cause null if it is idle
     */
    private void close(Throwable cause) {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            end();
            List<QueuedRequest> unanswered = pipeline.unanswered();
            if (cause == null && !unanswered.isEmpty()) {
                throw new IllegalStateException(unanswered.size() + " requests in flight on an idle connection");
            }
            if (announcedEnd && !(cause instanceof NotHttpException)) {
                owner.retire(this, unanswered);
            } else {
                failAll(unanswered, cause);
            }
            signalWriter();
            if (connection != null) {
                connection.peer().remove(this);
                connection.close();
            }
        } finally {
            lock.unlock();
        }
    }

    private static void failAll(List<QueuedRequest> unanswered, Throwable cause) {
        Throwable failure = cause;
        for (QueuedRequest request : unanswered) {
            Pipelines.fail(request, failure);
            if (cause instanceof NotHttpException) {
                // Only the first one's response was received.
                failure = new EOFException("it was closed because the response to an earlier request was not valid");
            }
        }
    }
}
