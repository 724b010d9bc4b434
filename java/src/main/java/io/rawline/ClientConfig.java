package io.rawline;

import io.rawline.batch.Limits;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.http.HttpConfig;
import io.rawline.internal.setting.Settings;
import java.time.Duration;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;

/**
 * How a client reaches its broker. A {@link Client} takes a copy. A setter throws
 * {@link io.rawline.error.ConfigException} if the value is out of range.
 */
public final class ClientConfig {
    final String broker;
    String apiKey;
    String zone;
    Duration connectTimeout = Duration.ofSeconds(5);
    Duration requestTimeout = Duration.ofSeconds(30);
    RetryPolicy retries = RetryPolicy.DEFAULT;
    int connectionsIdleMax = 64;
    // Twice the limit of a broker's responses, so that one batch above the broker's limit is still accepted.
    long answerBytesMax = 128 << 20;
    Limits limits = Limits.DEFAULT;
    Executor executor;
    SSLContext sslContext;

    /**
     * The default settings for a broker.
     *
     * @param broker the broker's URL, such as {@code http://127.0.0.1:51313}; {@code https} for TLS. Several that
     *     share a storage are separated by commas: while one can't be reached or doesn't respond, the client uses the
     *     next
     */
    public ClientConfig(String broker) {
        this.broker = Settings.notNull("broker", broker);
    }

    /** A copy. */
    ClientConfig(ClientConfig other) {
        this(other.broker);
        apiKey = other.apiKey;
        zone = other.zone;
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
     * The API key that the broker requires; none by default.
     *
     * @param key the key, or null for none
     * @return this
     */
    public ClientConfig apiKey(String key) {
        apiKey = key;
        return this;
    }

    /**
     * The zone that this client runs in, such as {@code eu-central-1a}; none by default. Reads and subscriptions go to
     * a broker of this zone while one lives, and brokers count what crosses zones.
     *
     * @param name the zone, or null for none
     * @return this
     */
    public ClientConfig zone(String name) {
        zone = name;
        return this;
    }

    /**
     * Maximum time to establish a connection; 5 s by default.
     *
     * @param timeout more than zero
     * @return this
     */
    public ClientConfig connectTimeout(Duration timeout) {
        connectTimeout = Settings.positive("connectTimeout", timeout);
        return this;
    }

    /**
     * Maximum time from a request's first byte to the response's last, in addition to the time that a read asks the
     * broker to wait; 30 s by default.
     *
     * @param timeout more than zero
     * @return this
     */
    public ClientConfig requestTimeout(Duration timeout) {
        requestTimeout = Settings.positive("requestTimeout", timeout);
        return this;
    }

    /**
     * How failed reads and queries are retried. Appends are not retried: see {@link Client#append}.
     *
     * @param policy {@link RetryPolicy#DEFAULT} by default
     * @return this
     */
    public ClientConfig retries(RetryPolicy policy) {
        retries = Settings.notNull("retries", policy);
        return this;
    }

    /**
     * Maximum number of idle connections that are kept open; 64 by default. Further ones are closed after they have
     * been idle for a second.
     *
     * @param count 0 or more
     * @return this
     */
    public ClientConfig connectionsIdleMax(int count) {
        connectionsIdleMax = Settings.atLeast("connectionsIdleMax", 0, count);
        return this;
    }

    /**
     * Maximum size of the response to a read; 128 MiB by default.
     *
     * @param bytes 1 to 2,147,483,647
     * @return this
     */
    public ClientConfig answerBytesMax(long bytes) {
        answerBytesMax = Settings.range("answerBytesMax", 1, Integer.MAX_VALUE, bytes);
        return this;
    }

    /**
     * Limits of batches, received and sent.
     *
     * @param limits {@link Limits#DEFAULT} by default
     * @return this
     */
    public ClientConfig limits(Limits limits) {
        this.limits = Settings.notNull("limits", limits);
        return this;
    }

    /**
     * Where producers send, consumers read ahead, and methods whose names end in {@code Async} run; by default the
     * client's own threads, which end when they are idle. It must start each task at once: a producer's task lasts as
     * long as the producer, and further ones while it has requests to several partitions in flight; a consumer has a
     * task for each of up to 16 partitions, and as a member of a group a few more. On Java 21,
     * {@code Executors.newVirtualThreadPerTaskExecutor()} does.
     *
     * @param executor the executor, or null for the client's own threads
     * @return this
     */
    public ClientConfig executor(Executor executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Which certificates are trusted for {@code https}; by default those that Java trusts.
     *
     * @param context the context, or null for {@link SSLContext#getDefault}
     * @return this
     */
    public ClientConfig sslContext(SSLContext context) {
        sslContext = context;
        return this;
    }

    /** The part of the settings that the connections need. */
    HttpConfig http() {
        return new HttpConfig(broker, apiKey, zone, connectTimeout, requestTimeout, connectionsIdleMax, sslContext);
    }
}
