package io.rawline;

import io.rawline.error.ConfigException;
import io.rawline.http.Nanos;
import java.time.Duration;
import java.util.Objects;

/** How a consumer reads. A {@link Consumer} takes a copy of it. */
public final class ConsumerConfig {
    Start start = Start.earliest();
    long endOffset = Long.MAX_VALUE;
    long bytesMax = 4 << 20;
    Duration waitMax = Duration.ofSeconds(20);
    RetryPolicy retries = RetryPolicy.DEFAULT;

    /** From the oldest record on, for ever, 4 MiB at a time. */
    public ConsumerConfig() {}

    /** A copy. */
    ConsumerConfig(ConsumerConfig other) {
        start = other.start;
        endOffset = other.endOffset;
        bytesMax = other.bytesMax;
        waitMax = other.waitMax;
        retries = other.retries;
    }

    /**
     * Where it begins; at the oldest record by default.
     *
     * @param start such as {@code Start.latest()}
     * @return this
     */
    public ConsumerConfig start(Start start) {
        this.start = Objects.requireNonNull(start);
        return this;
    }

    /**
     * Ends before this offset; by default it follows the topic for ever.
     *
     * @param offset 0 or more
     * @return this
     */
    public ConsumerConfig endOffset(long offset) {
        endOffset = offset;
        return this;
    }

    /**
     * Most bytes of one read, of which two are held at a time; 4 MiB by default. One record always comes.
     *
     * @param bytes 0 for as many as the broker gives
     * @return this
     */
    public ConsumerConfig bytesMax(long bytes) {
        bytesMax = bytes;
        return this;
    }

    /**
     * How long the broker holds one read open when there is nothing to give; 20 s by default. Only how often an idle
     * consumer asks depends on it.
     *
     * @param wait whole milliseconds, 1 or more; {@link Consumer#next(Duration)} is for those who do not want to wait
     * @return this
     */
    public ConsumerConfig waitMax(Duration wait) {
        waitMax = Objects.requireNonNull(wait);
        return this;
    }

    /**
     * How long a failing read is tried again.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ConsumerConfig retries(RetryPolicy policy) {
        retries = Objects.requireNonNull(policy);
        return this;
    }

    void check() {
        if (endOffset < 0 || bytesMax < 0) {
            throw new ConfigException("endOffset and bytesMax must not be negative", null);
        }
        if (Nanos.of(waitMax) < 1_000_000) {
            throw new ConfigException(
                    "waitMax must be at least 1 ms; with less an idle consumer asks without a pause", null);
        }
        if (start instanceof Start.Offset at && at.offset() < 0) {
            throw new ConfigException("a start's offset must not be negative", null);
        }
    }
}
