package io.rawline.producer;

import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.setting.Settings;
import java.time.Duration;

/**
 * How a producer batches and sends. A {@link Producer} takes a copy. A setter throws
 * {@link io.rawline.error.ConfigException} if the value is out of range.
 */
public final class ProducerConfig {
    // From this size on, larger batches are not measurably faster: a request's fixed cost no longer shows.
    int batchBytes = 1 << 20;
    int batchRecordsMax = 1 << 20;
    /** Null if it depends on the rate of records. */
    Duration linger;

    long bufferBytes = 32 << 20;
    // The default size of a broker's commit.
    long requestBytesMax = 8 << 20;
    int inFlightMax = 1;
    Codec codec = Codec.NONE;
    RetryPolicy retries = RetryPolicy.DEFAULT;
    boolean exactlyOnce = true;
    /** Null without a name. */
    String name;

    Route route = Route.any();
    /** How long a number of partitions counts as current. */
    Duration partitionsAgeMax = Duration.ofMinutes(5);

    /** The default settings. */
    public ProducerConfig() {}

    /** A copy. */
    ProducerConfig(ProducerConfig other) {
        batchBytes = other.batchBytes;
        batchRecordsMax = other.batchRecordsMax;
        linger = other.linger;
        bufferBytes = other.bufferBytes;
        requestBytesMax = other.requestBytesMax;
        inFlightMax = other.inFlightMax;
        codec = other.codec;
        retries = other.retries;
        exactlyOnce = other.exactlyOnce;
        name = other.name;
        route = other.route;
        partitionsAgeMax = other.partitionsAgeMax;
    }

    /**
     * The partition of records that are sent without a {@link Route}; by default any.
     *
     * @param number its number, from 0
     * @return this
     */
    public ProducerConfig partition(int number) {
        route = Route.partition(number);
        return this;
    }

    /**
     * Size of the records at which a batch is closed, before compression; 1 MiB by default. A longer record gets a
     * separate batch.
     *
     * @param bytes 1 or more
     * @return this
     */
    public ProducerConfig batchBytes(int bytes) {
        batchBytes = Settings.atLeast("batchBytes", 1, bytes);
        return this;
    }

    /**
     * Maximum number of records in a batch; 1,048,576 by default.
     *
     * @param records 1 or more
     * @return this
     */
    public ProducerConfig batchRecordsMax(int records) {
        batchRecordsMax = Settings.atLeast("batchRecordsMax", 1, records);
        return this;
    }

    /**
     * How long a batch that is not full waits for more records while no request to its partition is in flight. By
     * default it waits only while records arrive fast enough to fill it within 5 ms: a lone record is sent at once, and
     * there is nothing to tune.
     *
     * @param wait zero or more
     * @return this
     */
    public ProducerConfig linger(Duration wait) {
        linger = Settings.notNegative("linger", wait);
        return this;
    }

    /**
     * Maximum size of the records that are not stored yet, of all partitions together; {@link Producer#send(byte[])}
     * waits while the buffer is full. 32 MiB by default.
     *
     * @param bytes 1 or more
     * @return this
     */
    public ProducerConfig bufferBytes(long bytes) {
        bufferBytes = Settings.atLeast("bufferBytes", 1L, bytes);
        return this;
    }

    /**
     * Maximum size of the batches in a request; 8 MiB by default. A request has at least one batch, whatever its size.
     *
     * @param bytes 0 or more
     * @return this
     */
    public ProducerConfig requestBytesMax(long bytes) {
        requestBytesMax = Settings.atLeast("requestBytesMax", 0L, bytes);
        return this;
    }

    /**
     * Maximum number of requests in flight to a partition. 1, the default, keeps the order of its records; with more,
     * requests can overtake each other, except if the appends are exactly once. Small ones are sent in
     * order on one connection. To all partitions together, up to 64 requests are in flight, or this number if it is
     * higher.
     *
     * @param requests 1 or more
     * @return this
     */
    public ProducerConfig inFlightMax(int requests) {
        inFlightMax = Settings.atLeast("inFlightMax", 1, requests);
        return this;
    }

    /**
     * How the batches' data is compressed. A batch that would grow is sent uncompressed.
     *
     * @param codec {@link Codec#NONE} by default
     * @return this
     */
    public ProducerConfig codec(Codec codec) {
        this.codec = Settings.notNull("codec", codec);
        return this;
    }

    /**
     * How a failed request is retried before the producer stops. Retries keep the order; see {@link Producer} for
     * duplicates.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ProducerConfig retries(RetryPolicy policy) {
        retries = Settings.notNull("retries", policy);
        return this;
    }

    /**
     * Whether batches are numbered, so that a journal stores each of them once, however often it is sent.
     *
     * @param on true by default
     * @return this
     */
    public ProducerConfig exactlyOnce(boolean on) {
        exactlyOnce = on;
        return this;
    }

    /**
     * A name of 1 to 200 bytes in UTF-8. The producer replaces the previous one with this name, even in another
     * process: records that it had in flight are stored before the first record of this one, or never. It stops
     * with {@link io.rawline.error.FencedException}. Needs a storage with one journal; otherwise the constructor
     * of {@link Producer} throws.
     *
     * @param name such as {@code orders-1}
     * @return this
     */
    public ProducerConfig name(String name) {
        this.name = Settings.notNull("name", name);
        return this;
    }

    /** Throws unless batches of this size are within the client's limits, and a name can have its effect. */
    void check(Limits limits) {
        if (name != null && !exactlyOnce) {
            throw new ConfigException(
                    "a producer with a name appends exactly once: leave exactlyOnce on, or leave the name out", null);
        }
        Settings.range("batchRecordsMax", 1, limits.recordsMax(), batchRecordsMax);
        Settings.range("batchBytes", 1, Math.min(limits.rawBytesMax(), limits.batchBytesMax()), batchBytes);
    }
}
