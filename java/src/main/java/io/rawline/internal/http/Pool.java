package io.rawline.internal.http;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The idle connections; the most recently used one is taken first.
 *
 * <p>Thousands of threads may take turns here, each with a connection for the duration of a request. So connections
 * above the maximum are closed only after they have been idle for a second: closing and opening one per request would
 * soon exhaust the system's ports, since a closed connection's port stays reserved for a minute.
 */
final class Pool {
    private static final long IDLE_NS_MAX = 1_000_000_000;

    private final int connectionsMax;
    private final ScheduledExecutorService timers;
    private final ReentrantLock lock = new ReentrantLock();
    /** Longest idle first. */
    private final Deque<Idle> idle = new ArrayDeque<>();

    private boolean trimming;
    private boolean closed;

    /** A connection, and when it was given back. */
    private record Idle(Connection connection, long sinceNs) {}

    /** Keeps up to this many connections. */
    Pool(int connectionsMax, ScheduledExecutorService timers) {
        this.connectionsMax = connectionsMax;
        this.timers = timers;
    }

    /** An idle connection that is still open, as far as is known; null without one. */
    Connection take() {
        while (true) {
            Idle last;
            lock.lock();
            try {
                last = idle.pollLast();
            } finally {
                lock.unlock();
            }
            if (last == null || last.connection.isOpen()) {
                return last == null ? null : last.connection;
            }
            last.connection.close();
        }
    }

    /** Takes a connection back. */
    void give(Connection connection) {
        lock.lock();
        try {
            if (!closed && connectionsMax > 0) {
                idle.addLast(new Idle(connection, System.nanoTime()));
                trimLater();
                return;
            }
        } finally {
            lock.unlock();
        }
        connection.close();
    }

    /** Closes the idle connections, and from now on keeps none. */
    void close() {
        lock.lock();
        try {
            closed = true;
            idle.forEach(each -> each.connection.close());
            idle.clear();
        } finally {
            lock.unlock();
        }
    }

    private void trimLater() {
        if (!trimming && idle.size() > connectionsMax) {
            trimming = true;
            timers.schedule(this::trim, IDLE_NS_MAX, TimeUnit.NANOSECONDS);
        }
    }

    private void trim() {
        lock.lock();
        try {
            trimming = false;
            long nowNs = System.nanoTime();
            while (idle.size() > connectionsMax && nowNs - idle.peekFirst().sinceNs >= IDLE_NS_MAX) {
                idle.pollFirst().connection.close();
            }
            trimLater();
        } finally {
            lock.unlock();
        }
    }
}
