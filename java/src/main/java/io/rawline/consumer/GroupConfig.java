package io.rawline.consumer;

import io.rawline.error.RetryPolicy;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.record.Start;
import java.time.Duration;

/**
 * How a member of a group reads. A {@link GroupConsumer} takes a copy. A setter throws
 * {@link io.rawline.error.ConfigException} if the value is out of range.
 */
public final class GroupConfig {
    Start start = Start.earliest();
    Duration commitInterval = Duration.ofSeconds(5);
    String instance;
    String client = "rawline";
    Duration sessionTimeout = Duration.ofSeconds(30);
    Duration rebalanceTimeout = Duration.ofSeconds(60);
    Duration pollIntervalMax = Duration.ofMinutes(5);
    long bytesMax;
    Duration waitMax;
    RetryPolicy retries = RetryPolicy.DEFAULT;

    /** From the oldest record on, 4 MiB at a time, with a commit every 5 s. */
    public GroupConfig() {
        ConsumerConfig reads = new ConsumerConfig();
        bytesMax = reads.bytesMax;
        waitMax = reads.waitMax;
    }

    /** A copy. */
    GroupConfig(GroupConfig other) {
        start = other.start;
        commitInterval = other.commitInterval;
        instance = other.instance;
        client = other.client;
        sessionTimeout = other.sessionTimeout;
        rebalanceTimeout = other.rebalanceTimeout;
        pollIntervalMax = other.pollIntervalMax;
        bytesMax = other.bytesMax;
        waitMax = other.waitMax;
        retries = other.retries;
    }

    /**
     * The start in partitions without a committed offset; the oldest record by default.
     *
     * @param start such as {@code Start.latest()}
     * @return this
     */
    public GroupConfig start(Start start) {
        this.start = Settings.notNull("start", start);
        return this;
    }

    /**
     * How often the offsets of processed records are committed in the background; 5 s by default. After a crash, the
     * records since the last commit are read again.
     *
     * @param interval more than zero, or null for explicit commits only ({@link GroupConsumer#commit()})
     * @return this
     */
    public GroupConfig commitInterval(Duration interval) {
        commitInterval = interval == null ? null : Settings.positive("commitInterval", interval);
        return this;
    }

    /**
     * A name that no other member of the group has, with which this one gets its partitions back after a restart,
     * without the others being disturbed; none by default. Such a member doesn't leave the group when it is closed: its
     * partitions wait for it until its session is over.
     *
     * @param name the name, or null for none
     * @return this
     */
    public GroupConfig instance(String name) {
        instance = name;
        return this;
    }

    /**
     * Name of the program in descriptions of the group; {@code rawline} by default.
     *
     * @param name the name
     * @return this
     */
    public GroupConfig client(String name) {
        client = Settings.notNull("client", name);
        return this;
    }

    /**
     * The other members get the partitions when the broker has not heard of this one for this time; 30 s by default.
     * The consumer sends a heartbeat every tenth of it, or of {@link #rebalanceTimeout} if that is shorter.
     *
     * @param timeout 6 s to 30 min, unless the broker has other limits
     * @return this
     */
    public GroupConfig sessionTimeout(Duration timeout) {
        sessionTimeout = Settings.positive("sessionTimeout", timeout);
        return this;
    }

    /**
     * How long the broker waits for this member to join again when the partitions are divided anew: for the caller to
     * process its records, and to request more; 60 s by default.
     *
     * @param timeout more than zero
     * @return this
     */
    public GroupConfig rebalanceTimeout(Duration timeout) {
        rebalanceTimeout = Settings.positive("rebalanceTimeout", timeout);
        return this;
    }

    /**
     * Maximum time that the caller takes to process its records; 5 min by default. A member whose caller doesn't ask
     * for the next records in this time is assumed to hang: it leaves the group, and joins it again with the next call.
     *
     * @param interval more than zero
     * @return this
     */
    public GroupConfig pollIntervalMax(Duration interval) {
        pollIntervalMax = Settings.positive("pollIntervalMax", interval);
        return this;
    }

    /**
     * Maximum size of one read, as {@link ConsumerConfig#bytesMax}; 4 MiB by default.
     *
     * @param bytes 0 for the broker's limit
     * @return this
     */
    public GroupConfig bytesMax(long bytes) {
        bytesMax = new ConsumerConfig().bytesMax(bytes).bytesMax;
        return this;
    }

    /**
     * How long the broker holds a read open while there is no record, as {@link ConsumerConfig#waitMax}; 20 s by
     * default.
     *
     * @param wait 1 ms or more, in whole milliseconds
     * @return this
     */
    public GroupConfig waitMax(Duration wait) {
        waitMax = new ConsumerConfig().waitMax(wait).waitMax;
        return this;
    }

    /**
     * How failed requests are retried. Heartbeats are retried until the session is over.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public GroupConfig retries(RetryPolicy policy) {
        retries = Settings.notNull("retries", policy);
        return this;
    }

    /** Time between two heartbeats: a few may get lost, and the member learns soon enough that others have joined. */
    long heartbeatNs() {
        return Math.max(1_000_000, Math.min(Nanos.of(sessionTimeout), Nanos.of(rebalanceTimeout)) / 10);
    }
}
