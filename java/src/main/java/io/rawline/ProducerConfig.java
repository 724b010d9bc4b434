package io.rawline;

import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import java.time.Duration;
import java.util.Objects;

/** How a producer gathers and sends. A {@link Producer} takes a copy of it. */
public final class ProducerConfig {
    // Where the cost of a request no longer shows.
    int batchBytes = 1 << 20;
    int batchRecordsMax = 1 << 20;
    Duration linger = Duration.ofMillis(5);
    long bufferBytes = 32 << 20;
    // What brokers gather for one commit anyway.
    long requestBytesMax = 8 << 20;
    int inFlightMax = 1;
    Codec codec = Codec.NONE;
    RetryPolicy retries = RetryPolicy.DEFAULT;

    /** The usual settings. */
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
    }

    /**
     * Length of the records at which a batch is closed, before compression; 1 MiB by default. A longer record gets a
     * batch of its own.
     *
     * @param bytes 1 or more
     * @return this
     */
    public ProducerConfig batchBytes(int bytes) {
        batchBytes = bytes;
        return this;
    }

    /**
     * Most records in one batch; 1,048,576 by default.
     *
     * @param records 1 or more
     * @return this
     */
    public ProducerConfig batchRecordsMax(int records) {
        batchRecordsMax = records;
        return this;
    }

    /**
     * How long a batch that is not full waits for further records while nothing else is being sent; 5 ms by default.
     *
     * @param wait zero or more
     * @return this
     */
    public ProducerConfig linger(Duration wait) {
        linger = Objects.requireNonNull(wait);
        return this;
    }

    /**
     * Most bytes of records that are held, gathered or on their way; {@link Producer#send(byte[])} waits while there is
     * no room. 32 MiB by default.
     *
     * @param bytes 1 or more
     * @return this
     */
    public ProducerConfig bufferBytes(long bytes) {
        bufferBytes = bytes;
        return this;
    }

    /**
     * Most bytes of one request, in batches as sent; 8 MiB by default. One batch goes out however long it is.
     *
     * @param bytes 0 or more
     * @return this
     */
    public ProducerConfig requestBytesMax(long bytes) {
        requestBytesMax = bytes;
        return this;
    }

    /**
     * Requests on their way at once. 1, the default, keeps the order of the records; with more, requests can overtake
     * each other.
     *
     * @param requests 1 or more
     * @return this
     */
    public ProducerConfig inFlightMax(int requests) {
        inFlightMax = requests;
        return this;
    }

    /**
     * How the batches' data is compressed. A batch that would grow is sent as it is.
     *
     * @param codec {@link Codec#NONE} by default
     * @return this
     */
    public ProducerConfig codec(Codec codec) {
        this.codec = Objects.requireNonNull(codec);
        return this;
    }

    /**
     * How long a request is tried again before the producer stops. Sending again keeps the order; see {@link Producer}
     * for what may appear twice.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ProducerConfig retries(RetryPolicy policy) {
        retries = Objects.requireNonNull(policy);
        return this;
    }

    void check(Limits limits) {
        if (batchBytes < 1 || bufferBytes < 1 || inFlightMax < 1 || requestBytesMax < 0 || linger.isNegative()) {
            throw new ConfigException(
                    "batchBytes, bufferBytes and inFlightMax must be at least 1, requestBytesMax and"
                            + " linger not negative",
                    null);
        }
        if (batchRecordsMax < 1 || batchRecordsMax > limits.recordsMax()) {
            throw new ConfigException("batchRecordsMax must be 1 to " + limits.recordsMax(), null);
        }
        long bytesMax = Math.min(limits.rawBytesMax(), limits.batchBytesMax());
        if (batchBytes > bytesMax) {
            throw new ConfigException(
                    "batchBytes must be at most " + bytesMax + "; a broker takes no longer batch", null);
        }
    }
}
