package io.rawline.consumer;

import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.internal.group.GroupRequests;
import io.rawline.internal.group.Membership;
import io.rawline.internal.http.Call;
import io.rawline.internal.setting.Nanos;
import io.rawline.topic.TopicPartition;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;

/** Commits how far a member of a group has come: one commit at a time. Thread-safe. */
final class Commits {
    /** The consumer, as the commits see it. */
    interface Host {
        /** Whether the consumer is a member of its group. */
        boolean isMember();

        /** The broker has refused a commit of a membership. */
        void refused(Membership membership, RefusedException error);

        /** An automatic commit has failed. */
        void failed();
    }

    /** Of a commit after which the member has to join again. */
    private static final Set<String> MEMBERSHIP = Set.of("group_rebalancing", "member_not_found", "member_fenced");
    /** Of a commit in a partition that doesn't exist any more. */
    private static final Set<String> GONE = Set.of("topic_not_found", "partition_not_found");

    private final GroupRequests requests;
    private final String group;
    private final GroupConfig config;
    private final Host host;
    /** Null if only the caller commits. */
    private final Repeated automatic;
    /** Held during a commit. */
    private final ReentrantLock lock = new ReentrantLock();

    private volatile Assignment assignment = Assignment.NONE;
    /** Of an automatic commit; null once the caller knows it, and after a commit that succeeds. */
    private volatile RawlineException failure;

    Commits(Executor executor, GroupRequests requests, String group, GroupConfig config, Host host) {
        this.requests = requests;
        this.group = group;
        this.config = config;
        this.host = host;
        if (config.commitInterval == null) {
            automatic = null;
        } else {
            long intervalNs = Nanos.of(config.commitInterval);
            automatic = new Repeated(executor, intervalNs, call -> {
                if (!host.isMember()) {
                    return Repeated.OVER;
                }
                commitProcessed(call);
                return intervalNs;
            });
        }
    }

    /** Commits the progress in these partitions from now on; throws if no thread can be had for it. */
    void of(Assignment assignment) {
        this.assignment = assignment;
        if (automatic != null && assignment.membership() != null) {
            automatic.start();
        }
    }

    /** Ends the automatic commits. */
    void stop() {
        if (automatic != null) {
            automatic.stop();
        }
    }

    /** Throws why an automatic commit has failed, once. */
    void check() {
        RawlineException error = failure;
        if (error != null) {
            failure = null;
            throw error.copy();
        }
    }

    /**
     * Commits processed records automatically, if that is configured. If others have the partitions by now, they read
     * the records again; another failure is thrown by {@link #check}.
     */
    void commitProcessed(Call call) {
        if (automatic == null) {
            return;
        }
        try {
            commit(call, null);
            failure = null;
        } catch (StoppedException | InterruptedCallException ended) {
            // The consumer is closed, or its executor ends.
        } catch (RawlineException error) {
            if (!isLapsed(error)) {
                failure = error;
                host.failed();
            }
        }
    }

    /** The last automatic commit, if that is configured; throws if it fails, unless others have the partitions. */
    void commitLast() {
        if (automatic == null) {
            return;
        }
        try {
            commit(new Call(), null);
        } catch (RefusedException error) {
            if (!isLapsed(error)) {
                throw error;
            }
        }
    }

    private static boolean isLapsed(RawlineException error) {
        return error instanceof RefusedException refused
                && (MEMBERSHIP.contains(refused.code()) || GONE.contains(refused.code()));
    }

    /** Commits offsets, or all that is processed if they are null; throws if it fails. */
    void commit(Call call, Map<TopicPartition, Long> offsets) {
        try {
            lock.lockInterruptibly();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        }
        try {
            Assignment of = assignment;
            Map<TopicPartition, Long> wanted = offsets == null ? of.uncommitted() : offsets;
            if (!wanted.isEmpty()) {
                send(call, of, wanted);
                of.setCommitted(wanted);
            }
        } finally {
            lock.unlock();
        }
    }

    private void send(Call call, Assignment of, Map<TopicPartition, Long> offsets) {
        if (of.membership() == null) {
            String sentence = "the consumer is no member of the group \"" + group + "\" at the moment; next() joins it";
            throw new RefusedException(404, "member_not_found", sentence, null);
        }
        try {
            requests.commit(call, config.retries, group, of.membership(), config.instance, offsets);
        } catch (RefusedException error) {
            if (MEMBERSHIP.contains(error.code())) {
                host.refused(of.membership(), error);
            }
            throw error;
        }
    }
}
