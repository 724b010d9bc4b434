package io.rawline.http;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The connections that nobody uses; the one used last is taken first.
 *
 * <p>Thousands of threads may take turns here, each with a connection for the time of a request. So more than are meant
 * to be kept stay until none of these was used for a second: to close and open one for each request would soon leave
 * the system without ports, since it holds back a closed connection's for a minute.
 */
final class Pool {
    private static final long UNUSED_NS_MAX = 1_000_000_000;

    private final int connectionsMax;
    private final ScheduledExecutorService timers;
    private final ReentrantLock lock = new ReentrantLock();
    /** The one that was unused for the longest time comes first. */
    private final Deque<Unused> unused = new ArrayDeque<>();

    private boolean trims;
    private boolean closed;

    /** A connection, and when it was given back. */
    private record Unused(Connection connection, long sinceNs) {}

    /** Keeps so many. */
    Pool(int connectionsMax, ScheduledExecutorService timers) {
        this.connectionsMax = connectionsMax;
        this.timers = timers;
    }

    /** One that can carry a request, as far as is known; null if there is none. */
    Connection take() {
        while (true) {
            Unused last;
            lock.lock();
            try {
                last = unused.pollLast();
            } finally {
                lock.unlock();
            }
            if (last == null || last.connection.isOpen()) {
                return last == null ? null : last.connection;
            }
            last.connection.close();
        }
    }

    /** Takes one back. */
    void give(Connection connection) {
        lock.lock();
        try {
            if (!closed && connectionsMax > 0) {
                unused.addLast(new Unused(connection, System.nanoTime()));
                trimLater();
                return;
            }
        } finally {
            lock.unlock();
        }
        connection.close();
    }

    /** Keeps none from now on. */
    void close() {
        lock.lock();
        try {
            closed = true;
            unused.forEach(each -> each.connection.close());
            unused.clear();
        } finally {
            lock.unlock();
        }
    }

    private void trimLater() {
        if (!trims && unused.size() > connectionsMax) {
            trims = true;
            timers.schedule(this::trim, UNUSED_NS_MAX, TimeUnit.NANOSECONDS);
        }
    }

    private void trim() {
        lock.lock();
        try {
            trims = false;
            long nowNs = System.nanoTime();
            while (unused.size() > connectionsMax && nowNs - unused.peekFirst().sinceNs >= UNUSED_NS_MAX) {
                unused.pollFirst().connection.close();
            }
            trimLater();
        } finally {
            lock.unlock();
        }
    }
}
