package io.rawline;

import io.rawline.batch.BatchChecker;
import io.rawline.batch.BatchException;
import io.rawline.batch.Limits;
import io.rawline.batch.SealedBatch;
import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.http.Address;
import io.rawline.http.Call;
import io.rawline.http.Daemons;
import io.rawline.http.Exchange;
import io.rawline.http.Http;
import io.rawline.http.Json;
import io.rawline.http.Nanos;
import io.rawline.http.Request;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Sends requests to one broker, each on a connection of its own, and keeps connections for the next ones. For any
 * number of threads at once, virtual ones too; a method returns when the answer is there.
 *
 * <p>Everything it throws is a {@link RawlineException}. A thread that is interrupted while it waits gets an
 * {@link InterruptedCallException}.
 */
public final class Client implements AutoCloseable {
    private static final String BATCH_TYPE = "application/vnd.rawline.batch";
    /** Received at once of a long answer, in bytes: its checksum is computed while it is in the second-level cache. */
    private static final int PIECE_BYTES = 128 << 10;

    private final ClientConfig config;
    private final Http http;
    private final Executor executor;

    /**
     * A client with the usual settings; connects with the first request.
     *
     * @param broker the broker's address, such as {@code http://127.0.0.1:51313}
     */
    public Client(String broker) {
        this(new ClientConfig(broker));
    }

    /**
     * A client; connects with the first request.
     *
     * @param config the settings, of which it takes a copy
     * @throws ConfigException a setting that can't be
     */
    public Client(ClientConfig config) {
        config.check();
        this.config = new ClientConfig(config);
        this.http = new Http(this.config.http());
        this.executor = config.executor != null
                ? config.executor
                : new ThreadPoolExecutor(
                        0,
                        Integer.MAX_VALUE,
                        10,
                        TimeUnit.SECONDS,
                        new SynchronousQueue<>(),
                        Daemons.factory("rawline"));
    }

    /**
     * Closes the connections that nobody uses. Requests on their way go on, further ones use a connection each;
     * producers and consumers are closed by themselves.
     */
    @Override
    public void close() {
        http.close();
    }

    /**
     * A producer with the usual settings.
     *
     * @param topic the topic it appends to
     * @return the producer, to be closed by the caller
     */
    public Producer producer(String topic) {
        return new Producer(this, topic, new ProducerConfig());
    }

    /**
     * A consumer with the usual settings: from the oldest record on, for ever.
     *
     * @param topic the topic it reads
     * @return the consumer, to be closed by the caller
     */
    public Consumer consumer(String topic) {
        return new Consumer(this, topic, new ConsumerConfig());
    }

    /** Whether the broker answers and is well: returns, or throws what is wrong. */
    public void health() {
        text(Request.get("/health"));
    }

    /**
     * Appends batches; all or none become part of the topic.
     *
     * <p>Is not tried again by itself: when the connection breaks or the time runs out, the records may have been
     * appended and only the answer was lost, so sending them again may append them twice.
     *
     * @param topic the topic
     * @param pieces the batches' bytes back to back, however they are cut; not copied where they are direct, and not
     *     moved on
     * @return where the records lie
     */
    public Appended append(String topic, ByteBuffer... pieces) {
        return append(new Call(), topic, pieces);
    }

    /**
     * Appends records that lie back to back in {@code data}, as one batch without compression; as {@link #append}, is
     * not tried again by itself.
     *
     * @param topic the topic
     * @param sizes the records' lengths in bytes
     * @param data the records; not copied where it is direct, and not moved on
     * @return where the records lie
     */
    public Appended appendRecords(String topic, int[] sizes, ByteBuffer data) {
        return append(topic, SealedBatch.of(sizes, data, nowUs(), config.limits).pieces());
    }

    /**
     * As {@link #append}, without waiting.
     *
     * @param topic the topic
     * @param pieces the batches' bytes; to be left alone until the answer is there
     * @return where the records lie, or the {@link RawlineException}
     */
    public CompletableFuture<Appended> appendAsync(String topic, ByteBuffer... pieces) {
        return CompletableFuture.supplyAsync(() -> append(topic, pieces), executor);
    }

    /**
     * Reads what there is; what is fetched is empty if nothing came in time. Every batch's checksum has been found
     * right when this returns.
     *
     * @param topic the topic
     * @param options what is asked for
     * @return what came
     */
    public Fetched read(String topic, ReadOptions options) {
        return read(topic, options, new Fetched());
    }

    /**
     * As {@link #read(String, ReadOptions)}, into memory that is there already.
     *
     * @param topic the topic
     * @param options what is asked for
     * @param into what an earlier read gave; what it holds is replaced
     * @return {@code into}
     */
    public Fetched read(String topic, ReadOptions options, Fetched into) {
        return read(new Call(), config.retries, topic, options, Long.MAX_VALUE, into);
    }

    /**
     * As {@link #read(String, ReadOptions)}, without waiting.
     *
     * @param topic the topic
     * @param options what is asked for
     * @return what came, or the {@link RawlineException}
     */
    public CompletableFuture<Fetched> readAsync(String topic, ReadOptions options) {
        return CompletableFuture.supplyAsync(() -> read(topic, options), executor);
    }

    /**
     * One topic.
     *
     * @param topic its name
     * @return what the broker says of it
     */
    public TopicInfo topic(String topic) {
        return topic(config.retries, topic);
    }

    /**
     * Sets what a topic's records are.
     *
     * @param topic its name
     * @param payload what they are
     * @return the topic as it then is
     */
    public TopicInfo setPayload(String topic, Payload payload) {
        ByteBuffer body = StandardCharsets.UTF_8.encode("{\"payload\":\"" + payload + "\"}");
        return topicInfo(parse(text(new Request("PUT", "/topic?topic-name=" + Address.queryValue(topic), "", body))));
    }

    /**
     * All topics.
     *
     * @return in the broker's order
     */
    public List<TopicInfo> topics() {
        List<TopicInfo> topics = new ArrayList<>();
        if (!(parse(text(Request.get("/topics"))).get("topics") instanceof List<?> found)) {
            throw http.notABrokers("no topics", null);
        }
        for (Object topic : found) {
            topics.add(topicInfo(topic));
        }
        return topics;
    }

    /**
     * Offset of the first record appended at or after a time, by the broker's clock; the topic's next offset if there
     * is none.
     *
     * @param topic the topic
     * @param time the time
     * @return the offset
     */
    public long offsetAt(String topic, Instant time) {
        return offsetAt(config.retries, topic, time);
    }

    /**
     * Where it sends its requests, for people.
     *
     * @return without the key
     */
    @Override
    public String toString() {
        return "client of " + config.broker;
    }

    Executor executor() {
        return executor;
    }

    Limits limits() {
        return config.limits;
    }

    TopicInfo topic(RetryPolicy retries, String topic) {
        return topicInfo(parse(text(retries, Request.get("/topic?topic-name=" + Address.queryValue(topic)))));
    }

    long offsetAt(RetryPolicy retries, String topic, Instant time) {
        String target =
                "/offset?topic-name=" + Address.queryValue(topic) + "&time=" + Address.queryValue(time.toString());
        return number(parse(text(retries, Request.get(target))), "offset");
    }

    Appended append(Call call, String topic, ByteBuffer... pieces) {
        boolean any = false;
        for (ByteBuffer piece : pieces) {
            any |= piece.hasRemaining();
        }
        if (!any) {
            throw BatchException.empty();
        }
        Map<?, ?> answer = parse(http.text(
                call,
                new Request(
                        "POST",
                        "/records?topic-name=" + Address.queryValue(topic),
                        "content-type: " + BATCH_TYPE + "\r\n",
                        pieces)));
        Appended appended = new Appended(number(answer, "first_offset"), number(answer, "next_offset"));
        if (appended.firstOffset() >= appended.nextOffset()) {
            throw http.notABrokers(appended + " for an append", null);
        }
        return appended;
    }

    RawlineException notABrokers(String reason) {
        return http.notABrokers(reason, null);
    }

    /** Reads; {@code into} then leaves out the records at and behind {@code endOffset}. */
    Fetched read(Call call, RetryPolicy retries, String topic, ReadOptions options, long endOffset, Fetched into) {
        String target = "/records?topic-name=" + Address.queryValue(topic) + "&offset=" + options.offset()
                + "&max-records=" + options.recordsMax() + "&max-bytes=" + options.bytesMax() + "&timeout="
                + Nanos.of(options.waitMax()) / 1_000_000 + "ms";
        Request request = new Request("GET", target, "accept: " + BATCH_TYPE + "\r\n");
        return again(
                call,
                retries,
                () -> http.send(call, request, options.waitMax(), exchange -> {
                    into.begin(options.offset(), endOffset);
                    receive(exchange, options, into);
                    return into;
                }));
    }

    private void receive(Exchange exchange, ReadOptions options, Fetched into) throws IOException {
        long topicNextOffset = header(exchange, "rawline-next-offset");
        if (exchange.status() == 204) {
            into.end(0, options.offset(), topicNextOffset, List.of());
            return;
        }
        long firstOffset = header(exchange, "rawline-first-offset");
        checkLength(exchange.announcedBytes());
        ByteBuffer buffer = into.room(exchange.announcedBytes());
        BatchChecker checker = new BatchChecker(config.limits);
        int received = 0;
        while (!exchange.ended()) {
            if (received == buffer.capacity()) {
                buffer = into.room(received, received + 1);
            }
            buffer.limit(Math.min(buffer.capacity(), received + PIECE_BYTES)).position(received);
            received += Math.max(0, exchange.read(buffer));
            checkLength(received);
            buffer.clear();
            // While the piece is still in the processor's cache.
            checker.advance(buffer, received);
        }
        into.end(received, firstOffset, topicNextOffset, checker.finish(buffer, received));
        if (firstOffset < 0 || firstOffset > options.offset() || into.nextOffset() <= options.offset()) {
            throw http.notABrokers(
                    "records " + firstOffset + ".." + into.nextOffset() + " for offset " + options.offset(), null);
        }
    }

    private void checkLength(long bytes) {
        if (bytes > config.answerBytesMax) {
            throw http.notABrokers(
                    bytes + " bytes or more in one answer, the limit here is " + config.answerBytesMax, null);
        }
    }

    private byte[] text(Request request) {
        return text(config.retries, request);
    }

    private byte[] text(RetryPolicy retries, Request request) {
        Call call = new Call();
        return again(call, retries, () -> http.text(call, request));
    }

    /** What is done once or, after failures that may pass, more often. */
    private interface Once<T> {
        T run();
    }

    private static <T> T again(Call call, RetryPolicy retries, Once<T> once) {
        Attempts attempts = new Attempts(retries);
        while (true) {
            try {
                return once.run();
            } catch (RawlineException error) {
                long wait = attempts.waitAfter(error, System.nanoTime());
                if (wait == Attempts.GIVE_UP) {
                    throw error;
                }
                call.sleep(wait);
            }
        }
    }

    private long header(Exchange exchange, String name) {
        try {
            return Long.parseLong(String.valueOf(exchange.header(name)));
        } catch (NumberFormatException error) {
            throw http.notABrokers("the header " + name + " is missing or not a number", error);
        }
    }

    private Map<?, ?> parse(byte[] text) {
        try {
            if (Json.parse(new String(text, StandardCharsets.UTF_8)) instanceof Map<?, ?> map) {
                return map;
            }
            throw http.notABrokers("it is no JSON object", null);
        } catch (IllegalArgumentException error) {
            throw http.notABrokers(error.getMessage(), error);
        }
    }

    private long number(Map<?, ?> map, String name) {
        if (map.get(name) instanceof Long number) {
            return number;
        }
        throw http.notABrokers(name + " is missing or not a whole number", null);
    }

    private TopicInfo topicInfo(Object topic) {
        if (!(topic instanceof Map<?, ?> map) || !(map.get("name") instanceof String name)) {
            throw http.notABrokers("a topic without a name", null);
        }
        Optional<Instant> latest = Optional.empty();
        if (map.get("latest_commit_at") instanceof String time) {
            try {
                latest = Optional.of(Instant.parse(time));
            } catch (DateTimeParseException error) {
                throw http.notABrokers("latest_commit_at is not a time", error);
            }
        }
        return new TopicInfo(
                name,
                number(map, "first_offset"),
                number(map, "next_offset"),
                number(map, "bytes"),
                number(map, "objects"),
                latest,
                "value".equals(map.get("payload")) ? Payload.VALUE : Payload.BYTES);
    }

    /** Microseconds since the Unix epoch. */
    static long nowUs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
    }
}
