package io.rawline;

import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import io.rawline.http.HttpConfig;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;

/** How a client reaches its broker. A {@link Client} takes a copy of it. */
public final class ClientConfig {
    final String broker;
    String apiKey;
    Duration connectTimeout = Duration.ofSeconds(5);
    Duration requestTimeout = Duration.ofSeconds(30);
    RetryPolicy retries = RetryPolicy.DEFAULT;
    int connectionsIdleMax = 64;
    // Twice what a broker answers with, so that one batch over the limit still passes.
    long answerBytesMax = 128 << 20;
    Limits limits = Limits.DEFAULT;
    Executor executor;
    SSLContext sslContext;

    /**
     * The usual settings for a broker.
     *
     * @param broker its address, such as {@code http://127.0.0.1:51313}; {@code https} where TLS is spoken
     */
    public ClientConfig(String broker) {
        this.broker = Objects.requireNonNull(broker, "broker");
    }

    /** A copy. */
    ClientConfig(ClientConfig other) {
        this(other.broker);
        apiKey = other.apiKey;
        connectTimeout = other.connectTimeout;
        requestTimeout = other.requestTimeout;
        retries = other.retries;
        connectionsIdleMax = other.connectionsIdleMax;
        answerBytesMax = other.answerBytesMax;
        limits = other.limits;
        executor = other.executor;
        sslContext = other.sslContext;
    }

    /**
     * The key that the broker was started with; none by default.
     *
     * @param key the key, or null for none
     * @return this
     */
    public ClientConfig apiKey(String key) {
        apiKey = key;
        return this;
    }

    /**
     * How long a connection may take to come about; 5 s by default.
     *
     * @param timeout more than zero
     * @return this
     */
    public ClientConfig connectTimeout(Duration timeout) {
        connectTimeout = Objects.requireNonNull(timeout);
        return this;
    }

    /**
     * How long a request may take from its first byte to the answer's last, beside what a read asks the broker to wait;
     * 30 s by default.
     *
     * @param timeout more than zero
     * @return this
     */
    public ClientConfig requestTimeout(Duration timeout) {
        requestTimeout = Objects.requireNonNull(timeout);
        return this;
    }

    /**
     * How failed reads and look-ups are tried again. Appends are not: see {@link Client#append}.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ClientConfig retries(RetryPolicy policy) {
        retries = Objects.requireNonNull(policy);
        return this;
    }

    /**
     * Connections kept open while nobody uses them; 64 by default. Those beyond are closed when a second has passed
     * without a use of them.
     *
     * @param count 0 or more
     * @return this
     */
    public ClientConfig connectionsIdleMax(int count) {
        connectionsIdleMax = count;
        return this;
    }

    /**
     * Longest answer to a read that is accepted; 128 MiB by default.
     *
     * @param bytes at most 2 GiB
     * @return this
     */
    public ClientConfig answerBytesMax(long bytes) {
        answerBytesMax = bytes;
        return this;
    }

    /**
     * What batches may look like, those received and those sent.
     *
     * @param limits {@link Limits#DEFAULT} by default
     * @return this
     */
    public ClientConfig limits(Limits limits) {
        this.limits = Objects.requireNonNull(limits);
        return this;
    }

    /**
     * Where producers send, consumers read ahead, and what ends in {@code Async} runs; by default threads of the
     * client's own that end when they are idle. It must begin each task at once: a producer's lasts as long as the
     * producer. On Java 21, {@code Executors.newVirtualThreadPerTaskExecutor()} does.
     *
     * @param executor the executor, or null for the client's own threads
     * @return this
     */
    public ClientConfig executor(Executor executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Whom an {@code https} broker's certificate must be signed by; whom Java trusts by default.
     *
     * @param context the context, or null for {@link SSLContext#getDefault}
     * @return this
     */
    public ClientConfig sslContext(SSLContext context) {
        sslContext = context;
        return this;
    }

    /** What the connections need. */
    HttpConfig http() {
        return new HttpConfig(broker, apiKey, connectTimeout, requestTimeout, connectionsIdleMax, sslContext);
    }

    void check() {
        if (connectTimeout.isNegative()
                || connectTimeout.isZero()
                || requestTimeout.isNegative()
                || requestTimeout.isZero()) {
            throw new ConfigException("connectTimeout and requestTimeout must be more than zero", null);
        }
        if (connectionsIdleMax < 0 || answerBytesMax < 1 || answerBytesMax > Integer.MAX_VALUE) {
            throw new ConfigException(
                    "connectionsIdleMax must be 0 or more, answerBytesMax 1 to " + Integer.MAX_VALUE, null);
        }
    }
}
