package io.rawline.subscription;

import io.rawline.error.ConfigException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.setting.Settings;
import io.rawline.record.Start;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The settings of a {@link Subscription}, which takes a copy. A setter throws {@link ConfigException} if the value is
 * out of range.
 */
public final class SubscriptionConfig {
    final Set<String> topics = new LinkedHashSet<>();
    final List<String> prefixes = new ArrayList<>();
    /** -1 for all. */
    int partition = -1;

    Start start = Start.latest();
    /** Null for none. */
    String cursor;
    /** Null for none. */
    String where;

    Slow slow = Slow.DISCONNECT;
    /** -1 for the broker's default. */
    long lagMax = -1;

    RetryPolicy retries = RetryPolicy.DEFAULT;
    Consumer<Notice> onNotice = notice -> {};

    /** Of no topic yet: everything that is appended from now on. */
    public SubscriptionConfig() {}

    /** A copy. */
    SubscriptionConfig(SubscriptionConfig other) {
        topics.addAll(other.topics);
        prefixes.addAll(other.prefixes);
        partition = other.partition;
        start = other.start;
        cursor = other.cursor;
        where = other.where;
        slow = other.slow;
        lagMax = other.lagMax;
        retries = other.retries;
        onNotice = other.onNotice;
    }

    /**
     * Adds topics, which exist. With the prefixes, at most 1,024.
     *
     * @param names their names
     * @return this
     */
    public SubscriptionConfig topics(String... names) {
        for (String name : names) {
            topics.add(Settings.notNull("topic", name));
        }
        return this;
    }

    /**
     * Adds prefixes of topics' names: all topics that have one, also those that are created later.
     *
     * @param texts the prefixes; an empty one is every topic
     * @return this
     */
    public SubscriptionConfig prefixes(String... texts) {
        for (String text : texts) {
            prefixes.add(Settings.notNull("prefix", text));
        }
        return this;
    }

    /**
     * Only this partition of each topic; by default all.
     *
     * @param number from 0 on
     * @return this
     */
    public SubscriptionConfig partition(int number) {
        partition = Settings.partition(number);
        return this;
    }

    /**
     * The first record of each partition; by default {@link Start#latest()}. An offset needs exactly one topic and one
     * partition. Topics and partitions that come later begin with their first record.
     *
     * @param start such as {@code Start.earliest()}
     * @return this
     */
    public SubscriptionConfig start(Start start) {
        this.start = Settings.notNull("start", start);
        return this;
    }

    /**
     * Continues where an earlier subscription was, independent of the start.
     *
     * @param cursor what {@link Subscription#cursor()} has returned; null for none
     * @return this
     */
    public SubscriptionConfig cursor(String cursor) {
        try {
            this.cursor = cursor == null ? null : Cursor.parse(cursor).toString();
        } catch (IllegalArgumentException error) {
            throw new ConfigException(error.getMessage() + "; give what cursor() has returned", error);
        }
        return this;
    }

    /**
     * Only records with a field of this value, of topics with structured values.
     *
     * @param filter such as {@code id.resp_p=53/udp}
     * @return this
     */
    public SubscriptionConfig where(String filter) {
        where = Settings.notNull("filter", filter);
        return this;
    }

    /**
     * The action when the subscription lags more than {@link #lagMax} records in a partition.
     *
     * @param slow {@link Slow#DISCONNECT} by default
     * @return this
     */
    public SubscriptionConfig slow(Slow slow) {
        this.slow = Settings.notNull("slow", slow);
        return this;
    }

    /**
     * Maximum number of records between the subscription's position and a partition's end; by default none with
     * {@link Slow#DISCONNECT}, and 65,536 with {@link Slow#SKIP}.
     *
     * @param records 1 or more
     * @return this
     */
    public SubscriptionConfig lagMax(long records) {
        lagMax = Settings.atLeast("lagMax", 1L, records);
        return this;
    }

    /**
     * How a broken connection is retried.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public SubscriptionConfig retries(RetryPolicy policy) {
        retries = Settings.notNull("retries", policy);
        return this;
    }

    /**
     * Sets the listener for notices of skipped records and deleted topics. It is called in order with the records, in
     * the call of {@code next} that finds them.
     *
     * @param listener takes the notices; by default they are dropped
     * @return this
     */
    public SubscriptionConfig onNotice(Consumer<Notice> listener) {
        onNotice = Settings.notNull("listener", listener);
        return this;
    }
}
