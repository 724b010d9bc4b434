package io.rawline.internal.request;

import io.rawline.batch.BatchChecker;
import io.rawline.batch.Limits;
import io.rawline.batch.RecordBatchChecker;
import io.rawline.batch.StreamChecker;
import io.rawline.error.ConfigException;
import io.rawline.error.FencedException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.internal.http.Exchange;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.Json;
import io.rawline.internal.setting.Settings;
import io.rawline.record.ReadOptions;
import io.rawline.topic.Appended;
import io.rawline.topic.CleanupPolicy;
import io.rawline.topic.Extent;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.Trimmed;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** Turns a broker's responses into results; an invalid response is an {@code AnswerException}. */
public final class Responses {
    /** Part of a long response received at once, in bytes: its checksum is computed while it is in the L2 cache. */
    private static final int PIECE_BYTES = 128 << 10;

    static final String BATCH_TYPE = "application/vnd.rawline.batch";
    static final String RECORD_BATCH_TYPE = "application/vnd.kafka.record-batch";

    private final Http http;
    private final Limits limits;
    private final long bytesMax;

    /**
     * Of the brokers that the connections lead to.
     *
     * @param limits the limits of batches
     * @param bytesMax maximum size of a response
     */
    public Responses(Http http, Limits limits, long bytesMax) {
        this.http = http;
        this.limits = limits;
        this.bytesMax = bytesMax;
    }

    /** The same of the connections to another broker. */
    Responses of(Http other) {
        return new Responses(other, limits, bytesMax);
    }

    /** Does something with a topic, whose name the broker's error doesn't have to say. */
    static <T> T onTopic(String topic, Supplier<T> request) {
        try {
            return request.get();
        } catch (RefusedException error) {
            throw switch (error.code()) {
                case "topic_not_found" -> new TopicNotFoundException(topic, error);
                case "producer_fenced" -> new FencedException(error);
                default -> error;
            };
        }
    }

    Appended appended(byte[] text) {
        Map<?, ?> response = parse(text);
        Appended appended = new Appended(number(response, "first_offset"), number(response, "next_offset"));
        if (appended.firstOffset() < 0 || appended.firstOffset() >= appended.nextOffset()) {
            throw unexpected(appended + " for an append", null);
        }
        return appended;
    }

    /** The offset of an append of a known number of records. */
    public long firstOffset(Appended appended, long records) {
        if (appended.nextOffset() - appended.firstOffset() != records) {
            throw unexpected(appended + " for an append of " + records + " records", null);
        }
        return appended.firstOffset();
    }

    long offset(byte[] text) {
        return number(parse(text), "offset");
    }

    /** Adds a page of topics to a list. Returns the name after which the next page begins, if there is one. */
    Optional<String> topics(byte[] text, List<TopicInfo> topics) {
        Map<?, ?> page = parse(text);
        if (!(page.get("topics") instanceof List<?> found)) {
            throw unexpected("no topics", null);
        }
        for (Object topic : found) {
            topics.add(topic(topic));
        }
        return page.get("next") instanceof String next ? Optional.of(next) : Optional.empty();
    }

    TopicInfo topic(byte[] text) {
        return topic(parse(text));
    }

    private TopicInfo topic(Object topic) {
        if (!(topic instanceof Map<?, ?> map) || !(map.get("name") instanceof String name)) {
            throw unexpected("a topic without a name", null);
        }
        Optional<Instant> latest = Optional.empty();
        if (map.get("latest_commit_at") instanceof String time) {
            try {
                latest = Optional.of(Instant.parse(time));
            } catch (DateTimeParseException error) {
                throw unexpected("latest_commit_at is not a time", error);
            }
        }
        Payload payload = "value".equals(map.get("payload")) ? Payload.VALUE : Payload.BYTES;
        long firstOffset = number(map, "first_offset");
        long nextOffset = number(map, "next_offset");
        if (firstOffset < 0 || firstOffset > nextOffset) {
            throw unexpected("a topic with the offsets " + firstOffset + ".." + nextOffset, null);
        }
        int partitions = partitions(map);
        return new TopicInfo(
                name,
                firstOffset,
                nextOffset,
                number(map, "bytes"),
                number(map, "objects"),
                latest,
                payload,
                retention(map),
                partitions,
                offsets(map, partitions, new Extent(firstOffset, nextOffset)),
                cleanupPolicy(map));
    }

    /** A broker omits the default. */
    private CleanupPolicy cleanupPolicy(Map<?, ?> topic) {
        Object name = topic.get("cleanup_policy");
        if (name == null) {
            return CleanupPolicy.DELETE;
        }
        for (CleanupPolicy policy : CleanupPolicy.values()) {
            if (policy.toString().equals(name)) {
                return policy;
            }
        }
        throw unexpected("a topic with the cleanup policy " + name, null);
    }

    /** The number of partitions; a topic of an earlier broker has one. */
    private int partitions(Map<?, ?> topic) {
        if (topic.get("partitions") == null) {
            return 1;
        }
        long partitions = number(topic, "partitions");
        if (partitions < 1 || partitions > Settings.PARTITIONS_MAX) {
            throw unexpected("a topic with " + partitions + " partitions", null);
        }
        return (int) partitions;
    }

    /** The extent of each partition, if the response has them; otherwise the extent of partition 0. */
    private List<Extent> offsets(Map<?, ?> topic, int partitions, Extent only) {
        if (topic.get("offsets") == null) {
            return partitions == 1 ? List.of(only) : List.of();
        }
        if (!(topic.get("offsets") instanceof List<?> found) || found.size() != partitions) {
            throw unexpected("offsets are not those of " + partitions + " partitions", null);
        }
        List<Extent> offsets = new ArrayList<>();
        for (Object each : found) {
            if (!(each instanceof Map<?, ?> extent)) {
                throw unexpected("offsets of a partition are not an object", null);
            }
            Extent read = new Extent(number(extent, "first_offset"), number(extent, "next_offset"));
            if (read.firstOffset() < 0 || read.firstOffset() > read.nextOffset()) {
                throw unexpected("a partition with the offsets " + read, null);
            }
            offsets.add(read);
        }
        return offsets;
    }

    /** The limits of a topic. */
    private Retention retention(Map<?, ?> topic) {
        OptionalDouble hours = topic.get("retain_hours") instanceof Number number
                ? OptionalDouble.of(number.doubleValue())
                : OptionalDouble.empty();
        OptionalLong bytes =
                topic.get("retain_bytes") instanceof Long number ? OptionalLong.of(number) : OptionalLong.empty();
        try {
            return new Retention(hours, bytes);
        } catch (ConfigException error) {
            throw unexpected(error.getMessage(), error);
        }
    }

    Trimmed trimmed(byte[] text) {
        Map<?, ?> map = parse(text);
        return new Trimmed(number(map, "first_offset"), number(map, "next_offset"));
    }

    ProducerInstance producerInstance(byte[] text) {
        Map<?, ?> map = parse(text);
        return new ProducerInstance(number(map, "producer_id"), (int) number(map, "producer_epoch"));
    }

    /** Receives batches, and checks them while they arrive. */
    void receive(Exchange exchange, ReadOptions options, Received into) throws IOException {
        long topicNextOffset = header(exchange, "rawline-next-offset");
        if (exchange.status() == 204) {
            into.endEmpty(topicNextOffset);
            return;
        }
        long firstOffset = header(exchange, "rawline-first-offset");
        boolean isEnded;
        if (RECORD_BATCH_TYPE.equals(exchange.header("content-type"))) {
            RecordBatchChecker checker = new RecordBatchChecker(limits);
            int bytes = receive(exchange, into, checker);
            isEnded =
                    into.endKafka(bytes, firstOffset, topicNextOffset, checker.finish(into.room(bytes, bytes), bytes));
        } else {
            BatchChecker checker = new BatchChecker(limits);
            int bytes = receive(exchange, into, checker);
            isEnded = into.end(bytes, firstOffset, topicNextOffset, checker.finish(into.room(bytes, bytes), bytes));
        }
        if (firstOffset < 0 || firstOffset > options.offset() || !isEnded) {
            throw unexpected("records from offset " + firstOffset + " for offset " + options.offset(), null);
        }
    }

    /** Receives a body; returns its length. */
    private int receive(Exchange exchange, Received into, StreamChecker<?, ?> checker) throws IOException {
        return receive(
                new Received.Source() {
                    @Override
                    public int read(ByteBuffer to) throws IOException {
                        return exchange.read(to);
                    }

                    @Override
                    public boolean hasEnded() {
                        return exchange.ended();
                    }

                    @Override
                    public long announcedBytes() {
                        return exchange.announcedBytes();
                    }
                },
                into,
                checker);
    }

    /** Receives a body, or the rest of a message; returns its length. Null for a checker checks nothing. */
    public int receive(Received.Source source, Received into, StreamChecker<?, ?> checker) throws IOException {
        checkLength(source.announcedBytes());
        ByteBuffer buffer = into.room(source.announcedBytes());
        int received = 0;
        while (!source.hasEnded()) {
            if (received == buffer.capacity()) {
                buffer = into.room(received, received + 1);
            }
            buffer.limit(Math.min(buffer.capacity(), received + PIECE_BYTES)).position(received);
            received += Math.max(0, source.read(buffer));
            checkLength(received);
            buffer.clear();
            if (checker != null) {
                // While the piece is still in the processor's cache.
                checker.advance(buffer, received);
            }
        }
        return received;
    }

    /** The limits of batches. */
    public Limits limits() {
        return limits;
    }

    private void checkLength(long bytes) {
        if (bytes > bytesMax) {
            throw unexpected(bytes + " bytes or more in one response, the limit here is " + bytesMax, null);
        }
    }

    private long header(Exchange exchange, String name) {
        try {
            return Long.parseLong(String.valueOf(exchange.header(name)));
        } catch (NumberFormatException error) {
            throw unexpected("the header " + name + " is missing or not a number", error);
        }
    }

    public Map<?, ?> parse(byte[] text) {
        try {
            if (Json.parse(new String(text, StandardCharsets.UTF_8)) instanceof Map<?, ?> map) {
                return map;
            }
            throw unexpected("it isn't a JSON object", null);
        } catch (IllegalArgumentException error) {
            throw unexpected(error.getMessage(), error);
        }
    }

    public long number(Map<?, ?> map, String name) {
        if (map.get(name) instanceof Long number) {
            return number;
        }
        throw unexpected(name + " is missing or not a whole number", null);
    }

    /** The error with which a broker would respond. */
    public static RefusedException noPartition(String topic, int partition, int partitions) {
        String sentence =
                "topic \"" + topic + "\" has " + partitions + " partition(s), numbered from 0, and no partition "
                        + partition + "; use one of these, or give the topic more partitions";
        return new RefusedException(404, "partition_not_found", sentence, null);
    }

    public RawlineException unexpected(String reason, Throwable cause) {
        return http.unexpected(reason, cause);
    }
}
