package io.rawline.consumer;

import io.rawline.error.ConfigException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.record.Start;
import io.rawline.topic.TopicInfo;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * How a consumer reads. A {@link Consumer} takes a copy. A setter throws {@link ConfigException} if the value is out of
 * range.
 */
public final class ConsumerConfig {
    Start start = Start.earliest();
    long endOffset = Long.MAX_VALUE;
    long bytesMax = 4 << 20;
    Duration waitMax = Duration.ofSeconds(20);
    boolean waitForTopic;
    RetryPolicy retries = RetryPolicy.DEFAULT;
    /** How long a number of partitions counts as current. */
    Duration partitionsAgeMax = Duration.ofMinutes(5);
    /** Null for all. */
    int[] partitions;

    /** Of partitions that don't start or end where the others do. */
    final Map<Integer, Start> starts = new TreeMap<>();

    final Map<Integer, Long> endOffsets = new TreeMap<>();

    /** From the oldest record on, without an end, 4 MiB at a time. */
    public ConsumerConfig() {}

    /** A copy. */
    ConsumerConfig(ConsumerConfig other) {
        start = other.start;
        endOffset = other.endOffset;
        bytesMax = other.bytesMax;
        waitMax = other.waitMax;
        waitForTopic = other.waitForTopic;
        retries = other.retries;
        partitionsAgeMax = other.partitionsAgeMax;
        partitions = other.partitions;
        starts.putAll(other.starts);
        endOffsets.putAll(other.endOffsets);
    }

    Start startOf(int partition) {
        return starts.getOrDefault(partition, start);
    }

    long endOffsetOf(int partition) {
        return endOffsets.getOrDefault(partition, endOffset);
    }

    /** Whether the offsets to start at are known without a request. */
    boolean startsAtOffsets() {
        return start instanceof Start.Offset && starts.values().stream().allMatch(each -> each instanceof Start.Offset);
    }

    /**
     * Which partitions it reads; by default all, those included that are added later.
     *
     * @param numbers one or more numbers, from 0
     * @return this
     */
    public ConsumerConfig partitions(int... numbers) {
        int[] distinct = IntStream.of(Settings.notNull("partitions", numbers))
                .map(Settings::partition)
                .distinct()
                .toArray();
        Settings.atLeast("the number of partitions to read", 1, distinct.length);
        partitions = distinct;
        return this;
    }

    /**
     * The start in each partition; the oldest record by default. A partition that is added later is always
     * read from its oldest record on.
     *
     * @param start such as {@code Start.latest()}
     * @return this
     */
    public ConsumerConfig start(Start start) {
        this.start = Settings.notNull("start", start);
        return this;
    }

    /**
     * The start in one partition, such as the position of an earlier consumer.
     *
     * @param partition its number, from 0
     * @param start such as {@code Start.offset(1000)}
     * @return this
     */
    public ConsumerConfig start(int partition, Start start) {
        starts.put(Settings.partition(partition), Settings.notNull("start", start));
        return this;
    }

    /**
     * Ends before this offset of each partition; by default it follows the topic without an end.
     *
     * @param offset 0 or more
     * @return this
     */
    public ConsumerConfig endOffset(long offset) {
        endOffset = Settings.atLeast("endOffset", 0L, offset);
        return this;
    }

    /**
     * Ends before this offset of one partition.
     *
     * @param partition its number, from 0
     * @param offset 0 or more
     * @return this
     */
    public ConsumerConfig endOffset(int partition, long offset) {
        endOffsets.put(Settings.partition(partition), Settings.atLeast("endOffset", 0L, offset));
        return this;
    }

    /**
     * Ends where the topic ended when it was described: reads what each partition had then. Partitions that are added
     * later are not read.
     *
     * @param topic the topic, by {@code Client.topic}
     * @return this
     */
    public ConsumerConfig endAt(TopicInfo topic) {
        int count = Settings.notNull("topic", topic).offsets().size();
        Settings.atLeast("the number of partitions whose offsets the topic has", 1, count);
        for (int partition = 0; partition < count; partition++) {
            endOffset(partition, topic.offsets().get(partition).nextOffset());
        }
        return partitions == null ? partitions(IntStream.range(0, count).toArray()) : this;
    }

    /**
     * Maximum size of one read, of which two are held at a time; 4 MiB by default. With several partitions, their reads
     * share the size of these two. A read returns at least one record.
     *
     * @param bytes 0 for the broker's limit
     * @return this
     */
    public ConsumerConfig bytesMax(long bytes) {
        bytesMax = Settings.atLeast("bytesMax", 0L, bytes);
        return this;
    }

    /**
     * How long the broker holds a read open while there is no record; 20 s by default. It only determines how often an
     * idle consumer sends a request. Of more than 16 partitions, no read is held open. To limit the wait of the caller,
     * use {@link Consumer#next(Duration)}.
     *
     * @param wait 1 ms or more, in whole milliseconds
     * @return this
     */
    public ConsumerConfig waitMax(Duration wait) {
        if (Nanos.of(Settings.notNull("waitMax", wait)) < 1_000_000) {
            throw new ConfigException(
                    "waitMax must be at least 1 ms: with less, an idle consumer sends requests without a pause", null);
        }
        waitMax = wait;
        return this;
    }

    /**
     * Whether to wait for a topic that doesn't exist yet; by default that is a
     * {@link io.rawline.error.TopicNotFoundException}. A consumer that waits starts at the topic's first record,
     * whatever {@link #start} says, unless that is an offset.
     *
     * @param wait true to wait
     * @return this
     */
    public ConsumerConfig waitForTopic(boolean wait) {
        waitForTopic = wait;
        return this;
    }

    /**
     * How a failed read is retried.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ConsumerConfig retries(RetryPolicy policy) {
        retries = Settings.notNull("retries", policy);
        return this;
    }
}
