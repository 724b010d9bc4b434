package io.rawline.internal.http;

import java.io.EOFException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The connections that carry the small requests of many callers: a request goes to the first one with room, or else a
 * further one is opened. Each closes when it is idle.
 */
final class Pipelines {
    /** Opens a connection; throws why there can't be one. */
    interface Opener {
        Connection open();
    }

    /**
     * How often a request whose connection closes before it is sent goes to another one: a server that does this every
     * time is not a broker.
     */
    private static final int MOVES_MAX = 8;

    private final Opener opener;
    /** Of the connections' state too: a request that waits can move from one to another. Never held during I/O. */
    private final ReentrantLock lock = new ReentrantLock();
    /** Those that accept requests. */
    private final List<PipelinedConnection> connections = new ArrayList<>();

    private boolean closed;

    Pipelines(Opener opener) {
        this.opener = opener;
    }

    /**
     * Queues a request.
     *
     * @param bytes head and body as sent
     * @param timeoutNs after this time it fails
     * @param after null, or a request that it is sent after, on the same connection while that one has no response
     */
    QueuedRequest begin(byte[] bytes, long timeoutNs, QueuedRequest after) {
        long nowNs = System.nanoTime();
        QueuedRequest request = new QueuedRequest(this, bytes, nowNs + timeoutNs);
        lock.lock();
        try {
            if (after != null && !after.isDone() && after.connection().isOpen()) {
                after.connection().add(request);
            } else {
                place(request, nowNs);
            }
        } finally {
            lock.unlock();
        }
        return request;
    }

    /** Stops waiting for a request. */
    void giveUp(QueuedRequest request) {
        lock.lock();
        try {
            if (!request.isDone()) {
                request.fail(new InterruptedIOException("its caller stopped waiting"));
                request.connection().giveUp(request);
            }
        } finally {
            lock.unlock();
        }
        request.wake();
    }

    /** Closes the connections that are idle, and the others when they are. */
    void close() {
        lock.lock();
        try {
            closed = true;
            List.copyOf(connections).forEach(PipelinedConnection::closeIfIdle);
        } finally {
            lock.unlock();
        }
    }

    /** Of the connections' state. */
    ReentrantLock lock() {
        return lock;
    }

    /** Whether connections close as soon as they are idle. */
    boolean isClosed() {
        return closed;
    }

    Connection open() {
        return opener.open();
    }

    /** The connection accepts no more requests: those that it hasn't carried out go elsewhere. The lock is held. */
    void retire(PipelinedConnection connection, List<QueuedRequest> waited) {
        connections.remove(connection);
        for (QueuedRequest request : waited) {
            if (request.isDone()) {
                // Its caller doesn't wait any more.
                continue;
            }
            if (request.move() > MOVES_MAX) {
                fail(request, new EOFException(MOVES_MAX + " connections closed before the request was sent"));
                continue;
            }
            try {
                place(request, System.nanoTime());
            } catch (OutOfMemoryError error) {
                // The system has no room for another thread.
                fail(request, error);
            }
        }
    }

    /** A request gets no response. The lock is held. */
    static void fail(QueuedRequest request, Throwable failure) {
        request.fail(failure);
        request.wake();
    }

    private void place(QueuedRequest request, long nowNs) {
        for (PipelinedConnection connection : connections) {
            if (connection.hasRoom(request.bytes().length, nowNs)) {
                connection.add(request);
                return;
            }
        }
        PipelinedConnection fresh = new PipelinedConnection(this);
        fresh.start();
        connections.add(fresh);
        fresh.add(request);
    }
}
