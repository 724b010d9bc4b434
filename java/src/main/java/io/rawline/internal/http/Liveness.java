package io.rawline.internal.http;

import io.rawline.internal.setting.Nanos;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Whether a broker lives that doesn't respond to a request. A broker that is paused, or whose machine has gone, keeps
 * its connections: nothing ends the requests in flight there. So while one waits for long, the broker is asked over
 * another connection. One that is only slow, since its bucket is, responds to that at once. Thread-safe.
 */
final class Liveness {
    /**
     * How long a request is without a response before the broker is asked, in addition to the time that a read lets it
     * wait: a commit to S3 takes a fraction of it, so that checks are rare.
     */
    static final long PATIENCE_NS = 2_000_000_000L;
    /**
     * Maximum time of a question. With the time before it, the 5 seconds after which the other brokers take over from
     * one that doesn't respond: until then they would still forward requests to it.
     */
    static final long QUESTION_NS_MAX = 3_000_000_000L;
    /** Interval of the checks of a broker. */
    static final long INTERVAL_NS = 2_000_000_000L;
    /** How long other brokers are tried before one that didn't respond. */
    static final long AVOIDED_NS = 30_000_000_000L;
    /** Interval at which pending requests are checked. */
    static final long TICK_NS = 250_000_000L;
    /** No time is near it, in nanoseconds from another one. */
    private static final long NEVER_NS = Nanos.MAX;

    /** Something that waits for the broker. */
    interface Waiting {
        /** The nanoseconds until the broker is checked; {@link Nanos#MAX} for never. */
        long askInNs(long nowNs);

        /** The broker has been found silent: ends. */
        void foundSilent();
    }

    /** The result of a check. */
    enum Answer {
        LIVES,
        SILENT,
        /** The check failed locally. */
        UNKNOWN
    }

    /** Asks whether the broker lives, in at most {@link #QUESTION_NS_MAX}. */
    private final Supplier<Answer> question;
    /** Runs questions. */
    private final Executor executor;
    /** Runs something after {@link #TICK_NS}. */
    private final Consumer<Runnable> later;
    /** As {@link System#nanoTime}. */
    private final LongSupplier clock;

    private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean ticks = new AtomicBoolean();
    /** How often the broker was found silent. Changed with the lock held. */
    private volatile long silences;

    private final ReentrantLock lock = new ReentrantLock();
    // All below is guarded by the lock.
    /** Null, or when it was found silent, unless it has responded since. */
    private Long silentAtNs;
    /** Null, or when it was asked. */
    private Long askedAtNs;

    private boolean isAsking;

    /** Nothing is known yet. */
    Liveness(Supplier<Answer> question, Executor executor, Consumer<Runnable> later, LongSupplier clock) {
        this.question = question;
        this.executor = executor;
        this.later = later;
        this.clock = clock;
    }

    /** How often the broker was found silent so far. Requests in flight before the latest time are abandoned. */
    long silences() {
        return silences;
    }

    /** Whether it was found silent so recently that other brokers are tried first. */
    boolean isAvoided() {
        lock.lock();
        try {
            return silentAtNs != null && clock.getAsLong() - silentAtNs < AVOIDED_NS;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Something waits for the broker from now on.
     *
     * @param seen how often the broker had been found silent before its connection was opened
     */
    void add(Waiting added, long seen) {
        waiting.add(added);
        if (silences > seen) {
            waiting.remove(added);
            added.foundSilent();
        } else if (!ticks.get() && ticks.compareAndSet(false, true)) {
            later.accept(this::tick);
        }
    }

    /** It waits no longer. */
    void remove(Waiting removed) {
        waiting.remove(removed);
    }

    private void tick() {
        if (waiting.isEmpty()) {
            ticks.set(false);
            if (waiting.isEmpty() || !ticks.compareAndSet(false, true)) {
                return;
            }
        }
        long nowNs = clock.getAsLong();
        long soonestNs = NEVER_NS;
        for (Waiting each : waiting) {
            soonestNs = Math.min(soonestNs, each.askInNs(nowNs));
        }
        if (soonestNs <= 0 && beginQuestion(nowNs)) {
            executor.execute(this::ask);
        }
        later.accept(this::tick);
    }

    /** Whether to check it now: not during a check, or shortly after one. */
    private boolean beginQuestion(long nowNs) {
        lock.lock();
        try {
            if (isAsking || askedAtNs != null && nowNs - askedAtNs < INTERVAL_NS) {
                return false;
            }
            isAsking = true;
            askedAtNs = nowNs;
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void ask() {
        Answer answer = Answer.UNKNOWN;
        try {
            answer = question.get();
        } finally {
            answered(answer);
        }
    }

    private void answered(Answer answer) {
        lock.lock();
        try {
            isAsking = false;
            if (answer == Answer.LIVES) {
                silentAtNs = null;
            } else if (answer == Answer.SILENT) {
                silentAtNs = clock.getAsLong();
                silences++;
            }
        } finally {
            lock.unlock();
        }
        if (answer == Answer.SILENT) {
            for (Waiting each : waiting) {
                if (waiting.remove(each)) {
                    each.foundSilent();
                }
            }
        }
    }
}
