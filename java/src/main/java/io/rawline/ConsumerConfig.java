package io.rawline;

import io.rawline.error.ConfigException;
import io.rawline.http.Nanos;
import java.time.Duration;

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
    }

    /**
     * Where it starts; at the oldest record by default.
     *
     * @param start such as {@code Start.latest()}
     * @return this
     */
    public ConsumerConfig start(Start start) {
        this.start = Settings.notNull("start", start);
        return this;
    }

    /**
     * Ends before this offset; by default it follows the topic without an end.
     *
     * @param offset 0 or more
     * @return this
     */
    public ConsumerConfig endOffset(long offset) {
        endOffset = Settings.atLeast("endOffset", 0L, offset);
        return this;
    }

    /**
     * Maximum size of one read, of which two are held at a time; 4 MiB by default. A read returns at least one record.
     *
     * @param bytes 0 for the broker's limit
     * @return this
     */
    public ConsumerConfig bytesMax(long bytes) {
        bytesMax = Settings.atLeast("bytesMax", 0L, bytes);
        return this;
    }

    /**
     * How long the broker holds a read open while there is no record; 20 s by default. It decides only how often an
     * idle consumer sends a request. To limit the wait of the caller, use {@link Consumer#next(Duration)}.
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
