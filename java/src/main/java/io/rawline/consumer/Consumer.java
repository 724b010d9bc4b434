package io.rawline.consumer;

import io.rawline.error.RawlineException;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Arrivals;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Requests;
import io.rawline.internal.request.Responses;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.record.Start;
import io.rawline.topic.Extent;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.TopicPartition;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Reads a topic: all its partitions, or some. Each result has the records of one partition, and the records of a
 * partition are in order. While the caller processes one read, the next are in flight.
 *
 * <pre>{@code
 * for (ConsumedRecord record : consumer) {
 *     System.out.println(record.partition() + " " + record.offset() + " " + record.text());
 * }
 * }</pre>
 *
 * <p>The result of {@link #next()} is valid until the next call, because its memory is reused; the same holds for a
 * record of the loop until the loop needs another read. Copy what is needed longer.
 *
 * <p>Up to 16 partitions are read at a time. Of more, those that have records take turns: no partition waits for
 * another that always has more, and an idle consumer sends two requests a second.
 *
 * <p>Not thread-safe, except for {@link #close}, which ends a {@code next} that waits.
 */
public final class Consumer implements Iterable<ConsumedRecord>, AutoCloseable {
    /** The first wait for a topic that doesn't exist yet; each further one is twice as long. */
    private static final long TOPIC_WAIT_NS_MIN = 50_000_000;
    /** The longest such wait: a topic is read a second after it is created, at the latest. */
    private static final long TOPIC_WAIT_NS_MAX = 1_000_000_000;
    /** A request for the topic's description. */
    private static final int DESCRIPTION = -1;

    private final Requests client;
    private final String topic;
    private final ConsumerConfig config;
    private final Turns turns;
    /** By partition. */
    private final Arrivals<Reads.Result> arrivals;

    private final Reads reads;
    /** Whether the topic didn't exist at first. */
    private boolean createdLater;
    /** Whether the topic's description is in flight. */
    private boolean describing;

    /** A topic, and where to start in its partitions; no starts if it was described before. */
    private record Description(TopicInfo topic, Map<Integer, Long> starts) implements Reads.Result {}

    /**
     * A client's {@code consumer} makes one. Finds the offsets to start at; reads nothing yet.
     *
     * @param client the client's requests
     * @param topic the topic it reads
     * @param config the settings, which are copied
     * @hidden
     */
    @SuppressWarnings("exports")
    public Consumer(Requests client, String topic, ConsumerConfig config) {
        this.client = client;
        this.topic = Settings.notNull("topic", topic);
        this.config = new ConsumerConfig(Settings.notNull("config", config));
        turns = new Turns(Nanos.of(this.config.partitionsAgeMax));
        arrivals = new Arrivals<>(client.executor());
        reads = new Reads(arrivals, turns, this.config.bytesMax, this.config.waitMax, this::named, this::read);
        if (!this.config.startsAtOffsets()) {
            try {
                learn(describe(new Call(), true, false));
            } catch (TopicNotFoundException error) {
                if (!this.config.waitForTopic) {
                    throw error;
                }
                createdLater = true;
            }
        }
    }

    /**
     * Offset of the next record of the only partition.
     *
     * @return from 0 on
     * @throws IllegalStateException several partitions are read: each has its own offset
     */
    public long offset() {
        if (turns.count() > 1) {
            throw new IllegalStateException("several partitions are read; ask for the offset of one, or for offsets()");
        }
        if (turns.count() == 0) {
            return config.start instanceof Start.Offset at ? at.offset() : 0;
        }
        return offsets().values().iterator().next();
    }

    /**
     * Offset of the next record of a partition.
     *
     * @param partition its number, from 0
     * @return from 0 on
     * @throws IllegalArgumentException the partition is not read, or not known yet
     */
    public long offset(int partition) {
        if (!turns.has(partition)) {
            throw new IllegalArgumentException("partition " + partition + " is not read, or not known yet");
        }
        return turns.offset(partition);
    }

    /**
     * The offsets at which to continue: the next record of each partition. It is empty until the first call of
     * {@link #next()} if the start is an offset.
     *
     * @return by partition, in order
     */
    public Map<Integer, Long> offsets() {
        return turns.offsets();
    }

    /**
     * Whether every record before the end was returned.
     *
     * @return false for a consumer without an end
     */
    public boolean atEnd() {
        if (turns.count() > 0) {
            return turns.atEnd();
        }
        return config.starts.isEmpty()
                && config.endOffsets.isEmpty()
                && config.start instanceof Start.Offset at
                && at.offset() >= config.endOffset;
    }

    /**
     * Returns the next records of a partition, at least one; waits for them. Empty only if {@link #atEnd()}.
     *
     * <p>After an error, the next call continues where this one started.
     *
     * @return the records, valid until the next call
     */
    public Fetched next() {
        while (!atEnd()) {
            Fetched fetched = next(null);
            if (!fetched.isEmpty()) {
                return fetched;
            }
        }
        return nothing();
    }

    /**
     * As {@link #next()}, with a timeout: empty if there were no records in time. Nothing is lost then.
     *
     * @param wait the timeout; null to wait until a read ends, with or without records
     * @return the records, valid until the next call
     */
    public Fetched next(Duration wait) {
        long beganNs = System.nanoTime();
        long waitNs = wait == null ? Long.MAX_VALUE : Nanos.of(wait);
        while (!atEnd()) {
            long describeInNs = Long.MAX_VALUE;
            try {
                startReads();
                if (!describing) {
                    describeInNs = Math.max(0, turns.describeInNs(System.nanoTime()));
                }
            } catch (RawlineException | OutOfMemoryError error) {
                if (turns.reading() == 0 && !describing) {
                    throw error;
                }
            }
            long leftNs = wait == null ? waitNs : Math.max(0, waitNs - (System.nanoTime() - beganNs));
            Arrivals.Arrival<Reads.Result> arrival = arrivals.await(Math.min(leftNs, describeInNs));
            if (arrival == null) {
                if (leftNs <= describeInNs) {
                    return nothing();
                }
            } else if (arrival.key() == DESCRIPTION) {
                described(arrival);
            } else {
                Fetched fetched = read(arrival);
                if (!fetched.isEmpty() || wait == null) {
                    return fetched;
                }
            }
        }
        return nothing();
    }

    /** Takes the result of a read; an empty one is not kept. */
    private Fetched read(Arrivals.Arrival<Reads.Result> arrival) {
        if (arrival.error() != null) {
            turns.failed(arrival.key());
            throw arrival.known();
        }
        Fetched fetched = reads.take(arrival);
        if (fetched == null) {
            return nothing();
        }
        if (!atEnd()) {
            try {
                startReads();
            } catch (RawlineException | OutOfMemoryError error) {
                // The next call starts the reads, and throws this if it can't: the records at hand must not be lost.
                return fetched;
            }
        }
        return fetched;
    }

    private void described(Arrivals.Arrival<Reads.Result> arrival) {
        describing = false;
        if (arrival.error() == null) {
            learn((Description) arrival.result());
        } else if (turns.count() == 0 || !turns.readsWait()) {
            throw arrival.known();
        } else {
            // Reads are in flight for the partitions that are known; whether there are more is asked again later.
            turns.described(System.nanoTime());
        }
    }

    /**
     * The next records, without an end or up to the end; waits for them. Throws as {@link #next()} does.
     *
     * @return an iterator, before the next record
     */
    @Override
    public Iterator<ConsumedRecord> iterator() {
        return new Iterator<>() {
            private Iterator<ConsumedRecord> records = nothing().iterator();

            @Override
            public boolean hasNext() {
                while (!records.hasNext()) {
                    if (atEnd()) {
                        return false;
                    }
                    records = Consumer.this.next().iterator();
                }
                return true;
            }

            @Override
            public ConsumedRecord next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("the consumer is at its end");
                }
                return records.next();
            }
        };
    }

    /** Cancels the reads in flight; a {@code next} that waits for them throws {@link StoppedException}. */
    @Override
    public void close() {
        arrivals.close();
    }

    /**
     * A human-readable description.
     *
     * @return topic and offsets
     */
    @Override
    public String toString() {
        String at = turns.count() > 1 ? "the offsets " + offsets() : "offset " + offset();
        return "consumer of " + topic + " at " + at;
    }

    /** An empty result at the current offset; it never allocates memory. */
    private Fetched nothing() {
        Received nothing = new Received();
        Map<Integer, Long> offsets =
                turns.count() == 1 ? turns.offsets() : Map.of(0, turns.count() == 0 ? offset() : 0);
        offsets.forEach((partition, offset) -> nothing.begin(topic, partition, offset, Long.MAX_VALUE));
        return nothing;
    }

    /** Starts what is to be read now. */
    private void startReads() {
        if (!describing && turns.describeInNs(System.nanoTime()) <= 0) {
            boolean first = turns.count() == 0;
            arrivals.start(DESCRIPTION, call -> describe(call, first, config.waitForTopic));
            describing = true;
        }
        reads.start();
    }

    private TopicPartition named(int partition) {
        return new TopicPartition(topic, partition);
    }

    private Received read(Call call, String topic, ReadOptions options, long endOffset, Received into) {
        return onTopic(
                call, config.waitForTopic, () -> client.read(call, config.retries, topic, options, endOffset, into));
    }

    /** Does something with the topic; waits for the topic if so configured. */
    private static <T> T onTopic(Call call, boolean waits, Supplier<T> request) {
        long waitNs = TOPIC_WAIT_NS_MIN;
        while (true) {
            try {
                return request.get();
            } catch (TopicNotFoundException error) {
                if (!waits) {
                    throw error;
                }
                call.sleep(waitNs);
                waitNs = Math.min(2 * waitNs, TOPIC_WAIT_NS_MAX);
            }
        }
    }

    /** Asks for the topic's partitions and, the first time, where to start in them. */
    private Description describe(Call call, boolean first, boolean waits) {
        Supplier<TopicInfo> request = () -> client.topics().topic(call, config.retries, topic);
        boolean later = createdLater;
        TopicInfo found;
        try {
            found = request.get();
        } catch (TopicNotFoundException error) {
            if (!waits) {
                throw error;
            }
            later = true;
            found = onTopic(call, true, request);
        }
        if (found.offsets().isEmpty()) {
            throw client.responses().unexpected("a topic without the offsets of its partitions", null);
        }
        Map<Integer, Long> starts = new TreeMap<>();
        if (first) {
            for (int partition : partitionsOf(found)) {
                if (partition >= found.partitions()) {
                    throw Responses.noPartition(topic, partition, found.partitions());
                }
                starts.put(partition, startOffset(call, found, partition, later));
            }
        }
        return new Description(found, starts);
    }

    private int[] partitionsOf(TopicInfo topic) {
        return config.partitions != null
                ? config.partitions
                : IntStream.range(0, topic.partitions()).toArray();
    }

    private long startOffset(Call call, TopicInfo topic, int partition, boolean later) {
        Start start = config.startOf(partition);
        boolean isAllNew = later && !(start instanceof Start.Offset);
        return client.topics().startOffset(call, config.retries, topic, partition, isAllNew ? Start.earliest() : start);
    }

    /** Adds the partitions that are new, and notes which of the others have records. */
    private void learn(Description description) {
        TopicInfo found = description.topic();
        for (int partition : partitionsOf(found)) {
            if (partition >= found.partitions()) {
                // The topic was deleted and created again; a read of the partition reports it.
                continue;
            }
            Extent offsets = found.offsets().get(partition);
            if (turns.has(partition)) {
                turns.hasUpTo(partition, offsets.nextOffset());
            } else {
                long offset = description.starts().getOrDefault(partition, offsets.firstOffset());
                turns.add(partition, offset, config.endOffsetOf(partition), offset < offsets.nextOffset());
            }
        }
        turns.described(System.nanoTime());
    }
}
