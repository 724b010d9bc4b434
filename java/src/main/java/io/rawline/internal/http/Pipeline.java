package io.rawline.internal.http;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The requests of one connection, in order: those that wait, and those that were sent and have no response.
 *
 * <pre>
 * add ─► waiting ─► take: one write ─► sent ─► answered
 * </pre>
 *
 * <p>Plain state without threads or I/O; not thread-safe, since its connection holds a lock.
 */
final class Pipeline {
    /** Maximum number of requests in flight: more share a write and a commit so well that another connection gains. */
    static final int REQUESTS_MAX = 64;
    /** Maximum size of the requests in flight, in bytes: what sockets hold, so that a write seldom blocks. */
    static final int BYTES_MAX = 64 << 10;
    /**
     * How old the first request in flight may be if another one is to join it. Responses arrive in order: when one is
     * slow, because a bucket stores it or a disk stalls, later requests are faster on another connection.
     */
    static final long WAIT_NS_MAX = 20_000_000;

    private final Deque<QueuedRequest> waiting = new ArrayDeque<>();
    private final Deque<QueuedRequest> sent = new ArrayDeque<>();
    private int waitingBytes;
    private int sentBytes;
    /** Whether no further request is sent. */
    private boolean ended;

    /** Whether a request of this size can be sent without waiting for an earlier one's response. */
    boolean hasRoom(int bytes, long nowNs) {
        return !ended
                && waiting.size() + sent.size() < REQUESTS_MAX
                && waitingBytes + sentBytes + bytes <= BYTES_MAX
                && (sent.isEmpty() || nowNs - sent.peekFirst().sentAtNs() <= WAIT_NS_MAX);
    }

    /** Whether no further request is sent. */
    boolean hasEnded() {
        return ended;
    }

    /** Whether no request waits or is in flight. */
    boolean isEmpty() {
        return waiting.isEmpty() && sent.isEmpty();
    }

    /** Queues a request. */
    void add(QueuedRequest request) {
        if (ended) {
            throw new IllegalStateException("a request for a connection that sends no more");
        }
        waiting.addLast(request);
        waitingBytes += request.bytes().length;
    }

    /** Drops a request that waits. False if it was sent. */
    boolean remove(QueuedRequest request) {
        boolean waited = waiting.remove(request);
        if (waited) {
            waitingBytes -= request.bytes().length;
        }
        return waited;
    }

    /** Whether {@link #take} returns any. */
    boolean hasDue() {
        QueuedRequest next = waiting.peekFirst();
        return next != null && sent.size() < REQUESTS_MAX && sentBytes + next.bytes().length <= BYTES_MAX;
    }

    /** The next bytes to write, in one piece; from now on they count as sent. */
    List<QueuedRequest> take(long nowNs) {
        List<QueuedRequest> taken = new ArrayList<>(waiting.size());
        while (hasDue()) {
            QueuedRequest next = waiting.pollFirst();
            next.sendAt(nowNs);
            waitingBytes -= next.bytes().length;
            sentBytes += next.bytes().length;
            sent.addLast(next);
            taken.add(next);
        }
        return taken;
    }

    /** The request that has waited longest for its response; null if none is in flight. */
    QueuedRequest oldest() {
        return sent.peekFirst();
    }

    /** A response has arrived: removes its request; null if none is in flight. */
    QueuedRequest answered() {
        QueuedRequest first = sent.pollFirst();
        if (first != null) {
            sentBytes -= first.bytes().length;
        }
        return first;
    }

    /** Sends no further request, and returns those that waited. */
    List<QueuedRequest> end() {
        ended = true;
        List<QueuedRequest> left = List.copyOf(waiting);
        waiting.clear();
        waitingBytes = 0;
        return left;
    }

    /** Removes and returns the requests that were sent and get no response. */
    List<QueuedRequest> unanswered() {
        if (!ended) {
            throw new IllegalStateException(sent.size() + " requests given up on a connection that sends more");
        }
        List<QueuedRequest> left = List.copyOf(sent);
        sent.clear();
        sentBytes = 0;
        return left;
    }
}
