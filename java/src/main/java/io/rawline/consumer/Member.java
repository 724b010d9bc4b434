package io.rawline.consumer;

import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.internal.group.GroupRequests;
import io.rawline.internal.group.Joining;
import io.rawline.internal.group.Membership;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Attempts;
import io.rawline.internal.setting.Nanos;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A consumer's membership in its group: joins, sends heartbeats while the caller processes records, and leaves.
 * Thread-safe.
 *
 * <pre>
 *   OUT ── join ──► IN ── others come or go ──► REBALANCING ── join ──► IN
 *    ▲              │                               │
 *    └──────────────┴── silent for too long ────────┘
 * </pre>
 */
final class Member {
    /** The consumer, as the membership sees it. */
    interface Host {
        /** The state has changed. */
        void changed();

        /** The member is about to leave because its caller doesn't request records. */
        void leaves();
    }

    /** A consumer's state in its group. */
    enum State {
        /** No member, or no longer: others have its partitions. */
        OUT,
        /** It reads its partitions. */
        IN,
        /** The partitions are divided anew: it stops reading, commits, and joins again. */
        REBALANCING,
        /** A newer member has joined with its instance. */
        FENCED
    }

    /** The first wait before a failed heartbeat is sent again. */
    private static final Duration WAIT_MIN = Duration.ofMillis(50);

    private final GroupRequests requests;
    private final String group;
    private final Joining joining;
    private final GroupConfig config;
    private final Host host;
    private final Repeated heartbeats;
    private final ReentrantLock lock = new ReentrantLock();
    private State state = State.OUT;
    /** The member's id; null if it has none. */
    private String id;
    /** Null while it is OUT. */
    private Membership membership;
    /** Whether a join is in flight, during which the broker needs no heartbeats. */
    private boolean isJoining;
    /** The earliest time at which the broker may have received the last heartbeat. */
    private long heardNs;
    /** Whether the caller waits for records, and otherwise since when it doesn't. */
    private boolean isAsked;

    private long awaySinceNs;
    /** Why it is OUT or FENCED, if it is an error. */
    private RawlineException failure;

    private boolean isClosed;

    Member(
            Executor executor,
            GroupRequests requests,
            String group,
            List<String> topics,
            GroupConfig config,
            Host host) {
        this.requests = requests;
        this.group = group;
        joining = new Joining(topics, config.instance, config.client, config.sessionTimeout, config.rebalanceTimeout);
        this.config = config;
        this.host = host;
        heartbeats = new Repeated(executor, config.heartbeatNs(), this::beat);
    }

    /** The consumer's current state. */
    State state() {
        lock.lock();
        try {
            if (membership != null && !isJoining && System.nanoTime() - heardNs > Nanos.of(config.sessionTimeout)) {
                out();
            }
            return state;
        } finally {
            lock.unlock();
        }
    }

    /** Throws why it isn't a member, if that is an error; once, unless it can't become one again. */
    void check() {
        lock.lock();
        try {
            RawlineException error = failure;
            if (state != State.FENCED) {
                failure = null;
            }
            if (error != null) {
                throw error.copy();
            }
        } finally {
            lock.unlock();
        }
    }

    /** The caller waits for records from now on, or doesn't. */
    void asked(boolean isAsked) {
        lock.lock();
        try {
            this.isAsked = isAsked;
            awaySinceNs = System.nanoTime();
        } finally {
            lock.unlock();
        }
    }

    /** Joins the group, for the first time or again, and waits for its other members. */
    Membership join(Call call) {
        String known = begin();
        try {
            Membership joined;
            try {
                joined = request(call, known);
            } catch (RefusedException error) {
                if (known == null || !error.code().equals("member_not_found")) {
                    throw error;
                }
                begin(null);
                joined = request(call, null);
            }
            return joined(joined);
        } catch (RefusedException error) {
            if (error.code().equals("member_fenced")) {
                fenced(error);
            }
            throw error;
        } finally {
            ended();
        }
    }

    /** Begins to join with the id that it has. */
    private String begin() {
        lock.lock();
        try {
            return begin(id);
        } finally {
            lock.unlock();
        }
    }

    private String begin(String id) {
        lock.lock();
        try {
            if (isClosed) {
                throw closed();
            }
            if (state == State.FENCED) {
                throw failure.copy();
            }
            this.id = id;
            isJoining = true;
            return id;
        } finally {
            lock.unlock();
        }
    }

    private Membership request(Call call, String id) {
        // A request isn't cancelled: it could leave a member whose id is lost. Only the waits between requests are.
        return Attempts.retry(call, config.retries, () -> requests.join(new Call(), group, joining, id));
    }

    private Membership joined(Membership joined) {
        lock.lock();
        try {
            if (!isClosed) {
                id = joined.member();
                membership = joined;
                state = State.IN;
                failure = null;
                heardNs = System.nanoTime();
            }
        } finally {
            lock.unlock();
        }
        if (isClosed()) {
            leave(joined.member());
            throw closed();
        }
        heartbeats.start();
        return joined;
    }

    private void ended() {
        lock.lock();
        try {
            isJoining = false;
        } finally {
            lock.unlock();
        }
    }

    private void fenced(RefusedException error) {
        lock.lock();
        try {
            membership = null;
            state = State.FENCED;
            failure = error;
        } finally {
            lock.unlock();
        }
    }

    /** It can't read its share, and joins again. */
    void joinAgain() {
        lock.lock();
        try {
            if (state == State.IN) {
                state = State.REBALANCING;
            }
        } finally {
            lock.unlock();
        }
    }

    /** The broker has refused a request of a membership. */
    void refused(Membership of, RefusedException error) {
        lock.lock();
        try {
            if (of != membership) {
                // It has joined again since, or isn't a member any more.
                return;
            }
            switch (error.code()) {
                case "group_rebalancing" -> {
                    if (state == State.REBALANCING) {
                        return;
                    }
                    state = State.REBALANCING;
                }
                case "member_not_found" -> {
                    out();
                    id = null;
                }
                case "member_fenced" -> fenced(error);
                default -> {
                    out();
                    failure = error.isRetryable() ? null : error;
                }
            }
        } finally {
            lock.unlock();
        }
        host.changed();
    }

    /** It isn't a member any more, as far as it knows. It keeps its id, in case that the broker knows it. */
    private void out() {
        membership = null;
        state = State.OUT;
    }

    /** Sends a heartbeat, and returns the time before the next one. */
    private long beat(Call call) {
        Membership of;
        long awayNs;
        lock.lock();
        try {
            of = membership;
            awayNs = isAsked ? 0 : System.nanoTime() - awaySinceNs;
            if (isClosed || of == null && !isJoining) {
                return Repeated.OVER;
            }
            if (isJoining) {
                return config.heartbeatNs();
            }
        } finally {
            lock.unlock();
        }
        long leftNs = Nanos.of(config.pollIntervalMax) - awayNs;
        if (leftNs <= 0) {
            leaveUnasked(of);
        } else {
            beat(call, of);
        }
        return leftNs <= 0 || awayNs == 0 ? config.heartbeatNs() : Math.min(leftNs, config.heartbeatNs());
    }

    private void beat(Call call, Membership of) {
        Duration waitMax = Duration.ofNanos(Math.max(config.heartbeatNs(), Nanos.of(WAIT_MIN)));
        RetryPolicy untilOver = new RetryPolicy(WAIT_MIN, waitMax, config.sessionTimeout);
        long limitNs = Nanos.of(config.sessionTimeout) / 3;
        try {
            Attempts.retry(call, untilOver, () -> {
                long sentNs = System.nanoTime();
                try {
                    requests.heartbeat(new Call(), group, of, config.instance, limitNs);
                } catch (RefusedException error) {
                    if (error.code().equals("group_rebalancing")) {
                        heard(of, sentNs);
                    }
                    throw error;
                }
                heard(of, sentNs);
                return null;
            });
        } catch (StoppedException closed) {
            throw closed;
        } catch (RefusedException error) {
            refused(of, error);
        } catch (RawlineException error) {
            lost(of, error.isRetryable() ? null : error);
        }
    }

    private void heard(Membership of, long atNs) {
        lock.lock();
        try {
            if (of == membership) {
                heardNs = atNs;
            }
        } finally {
            lock.unlock();
        }
    }

    private void lost(Membership of, RawlineException error) {
        lock.lock();
        try {
            if (of != membership) {
                return;
            }
            out();
            failure = error;
        } finally {
            lock.unlock();
        }
        host.changed();
    }

    /**
     * Leaves the group, unless the caller requests records after all. A member with an instance only stops its
     * heartbeats: the group keeps its place until the session is over.
     */
    private void leaveUnasked(Membership of) {
        host.leaves();
        lock.lock();
        try {
            if (isAsked || of != membership) {
                return;
            }
            out();
            if (config.instance == null) {
                id = null;
            }
        } finally {
            lock.unlock();
        }
        leave(of.member());
    }

    private void leave(String id) {
        if (config.instance != null) {
            return;
        }
        try {
            requests.leave(new Call(), group, id);
        } catch (RawlineException error) {
            // The broker notices it when the session is over.
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return isClosed;
        } finally {
            lock.unlock();
        }
    }

    private static StoppedException closed() {
        return new StoppedException("the consumer is closed; create a new one", null);
    }

    /** Leaves the group, without waiting for a join in flight; a member with an instance doesn't leave. */
    void close() {
        String leaving;
        lock.lock();
        try {
            isClosed = true;
            leaving = id;
        } finally {
            lock.unlock();
        }
        heartbeats.stop();
        if (leaving != null) {
            leave(leaving);
        }
    }
}
