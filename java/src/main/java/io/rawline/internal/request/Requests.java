package io.rawline.internal.request;

import io.rawline.batch.Limits;
import io.rawline.error.RetryPolicy;
import io.rawline.internal.http.Address;
import io.rawline.internal.http.Call;
import io.rawline.internal.http.Daemons;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.HttpConfig;
import io.rawline.internal.http.Request;
import io.rawline.internal.setting.Nanos;
import io.rawline.record.ReadOptions;
import java.time.Instant;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Sends a client's requests; its producers, consumers and subscriptions share them. Thread-safe. */
public final class Requests {
    /** Both kinds of batches, so that the broker converts none. */
    private static final String ACCEPT_BATCHES =
            "accept: " + Responses.BATCH_TYPE + ", " + Responses.RECORD_BATCH_TYPE + "\r\n";

    private final Http http;
    private final Responses responses;
    private final TopicRequests topics;
    private final Owners owners;
    private final Owners nearer;
    private final Appends appends;
    private final Limits limits;
    private final Executor executor;

    /**
     * Requests to a broker; connects with the first one.
     *
     * @param bytesMax maximum size of a response
     * @param executor where requests run that no caller waits for; null for our own threads
     */
    public Requests(HttpConfig config, Limits limits, long bytesMax, Executor executor) {
        http = new Http(config);
        responses = new Responses(http, limits, bytesMax);
        topics = new TopicRequests(http, responses);
        Endpoint configured = new Endpoint(config.broker(), http, responses);
        owners = new Owners(configured, System::nanoTime);
        nearer = new Owners(configured, System::nanoTime);
        appends = new Appends(configured, owners);
        this.limits = limits;
        this.executor = executor != null
                ? executor
                : new ThreadPoolExecutor(
                        0,
                        Integer.MAX_VALUE,
                        10,
                        TimeUnit.SECONDS,
                        new SynchronousQueue<>(),
                        Daemons.factory("rawline"));
    }

    /** Closes idle connections; further requests throw a {@code StoppedException}. */
    public void close() {
        http.close();
        owners.close();
        nearer.close();
    }

    public Http http() {
        return http;
    }

    public Responses responses() {
        return responses;
    }

    public TopicRequests topics() {
        return topics;
    }

    public Appends appends() {
        return appends;
    }

    /** The brokers of the client's zone, by what is read there. */
    public Owners nearer() {
        return nearer;
    }

    /** The limits of batches. */
    public Limits limits() {
        return limits;
    }

    public Executor executor() {
        return executor;
    }

    /** Checks that the broker responds and is healthy: returns, or throws the error. */
    public void health(RetryPolicy retries) {
        Attempts.text(http, retries, Request.get("/health"));
    }

    /** Opens a new instance of a named producer: from then on, no older one can append. */
    public ProducerInstance openProducer(RetryPolicy retries, String name) {
        String target = "/producer?producer-name=" + Address.queryValue(name);
        return responses.producerInstance(Attempts.text(http, retries, new Request("POST", target, "")));
    }

    /** Reads; {@code into} then leaves out the records from {@code endOffset} on. */
    public Received read(
            Call call, RetryPolicy retries, String topic, ReadOptions options, long endOffset, Received into) {
        String partition = TopicRequests.query(topic, options.partition());
        String target = "/records" + partition + "&offset=" + options.offset()
                + "&max-records=" + options.recordsMax() + "&max-bytes=" + options.bytesMax() + "&timeout="
                + Nanos.of(options.waitMax()) / 1_000_000 + "ms";
        Request request = new Request("GET", target, ACCEPT_BATCHES);
        return Responses.onTopic(
                topic,
                () -> Attempts.retry(
                        call,
                        retries,
                        () -> nearer.send(partition, nearer.of(partition), endpoint -> endpoint.http()
                                .send(call, request, options.waitMax(), exchange -> {
                                    nearer.learn(partition, exchange.header(Http.NEARER));
                                    into.begin(topic, options.partition(), options.offset(), endOffset);
                                    endpoint.responses().receive(exchange, options, into);
                                    return into;
                                }))));
    }

    /** The current time in microseconds since the Unix epoch. */
    public static long nowUs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
    }
}
