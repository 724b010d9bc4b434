package io.rawline;

import io.rawline.error.ConfigException;
import io.rawline.error.RawlineException;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.http.Call;
import io.rawline.http.Nanos;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads a topic in order. While the caller processes one read, the next is in flight.
 *
 * <pre>{@code
 * for (Record record : consumer) {
 *     System.out.println(record.offset() + " " + record.text());
 * }
 * }</pre>
 *
 * <p>The result of {@link #next()} is valid until the next call, because its memory is reused; the same holds for a
 * record of the loop until the loop needs another read. Copy what is needed longer.
 *
 * <p>Not thread-safe, except for {@link #close}, which ends a {@code next} that waits.
 */
public final class Consumer implements Iterable<Record>, AutoCloseable {
    /** The first wait for a topic that doesn't exist yet; each further one is twice as long. */
    private static final long TOPIC_WAIT_NS_MIN = 50_000_000;
    /** The longest such wait: a topic is read a second after it is created, at the latest. */
    private static final long TOPIC_WAIT_NS_MAX = 1_000_000_000;

    private final Client client;
    private final String topic;
    private final ConsumerConfig config;
    private final Call call = new Call();
    /** Where the next read starts. */
    private long offset;
    /** The read in flight, or null. */
    private CompletableFuture<Fetched> pending;
    /** The batches that the caller holds now; the buffer is reused for the read after next. */
    private Fetched current = new Fetched();

    /**
     * Finds the offset to start at; reads nothing yet.
     *
     * @param client the client, which the caller closes
     * @param topic the topic it reads
     * @param config the settings, which are copied
     * @throws TopicNotFoundException the topic doesn't exist; if the start is an offset, {@link #next()} throws this
     */
    public Consumer(Client client, String topic, ConsumerConfig config) {
        this.client = Settings.notNull("client", client);
        this.topic = Settings.notNull("topic", topic);
        this.config = new ConsumerConfig(Settings.notNull("config", config));
        offset = startOffset();
    }

    private long startOffset() {
        Start start = config.start;
        try {
            if (start instanceof Start.Offset at) {
                return at.offset();
            }
            if (start instanceof Start.Time at) {
                return client.offsetAt(config.retries, topic, at.time());
            }
            TopicInfo info = client.topic(config.retries, topic);
            return start instanceof Start.Earliest ? info.firstOffset() : info.nextOffset();
        } catch (TopicNotFoundException error) {
            if (config.waitForTopic) {
                return 0;
            }
            throw error;
        }
    }

    /**
     * Offset of the next record.
     *
     * @return from 0 on
     */
    public long offset() {
        return offset;
    }

    /**
     * Whether every record before {@code endOffset} has been returned.
     *
     * @return false for a consumer without an end
     */
    public boolean atEnd() {
        return offset >= config.endOffset;
    }

    /**
     * Returns the next records, at least one; waits for them. Empty only if {@link #atEnd()}.
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
     * @param wait the timeout; null to wait as long as one read takes
     * @return the records, valid until the next call
     */
    public Fetched next(Duration wait) {
        if (atEnd()) {
            return nothing();
        }
        if (pending == null) {
            pending = startRead(new Fetched());
        }
        Fetched fetched;
        try {
            fetched = wait == null ? pending.get() : pending.get(Nanos.of(wait), TimeUnit.NANOSECONDS);
        } catch (TimeoutException error) {
            return nothing();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } catch (ExecutionException error) {
            pending = null;
            if (error.getCause() instanceof RawlineException known) {
                throw known.copy();
            }
            throw new StoppedException(
                    "bug in the consumer (" + error.getCause() + "); please report it with the stack trace", error);
        }
        pending = null;
        if (fetched.isEmpty()) {
            pending = startRead(fetched);
            return nothing();
        }
        if (fetched.nextOffset() <= offset) {
            throw new IllegalStateException("a read at " + offset + " ended at " + fetched.nextOffset());
        }
        offset = fetched.nextOffset();
        Fetched free = current;
        current = fetched;
        if (!atEnd()) {
            readAhead(free);
        }
        return fetched;
    }

    /**
     * The next records, without an end or up to {@code endOffset}; waits for them. Throws as {@link #next()} does.
     *
     * @return an iterator, before the next record
     */
    @Override
    public Iterator<Record> iterator() {
        return new Iterator<>() {
            private Iterator<Record> records = nothing().iterator();

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
            public Record next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("the consumer is at its end");
                }
                return records.next();
            }
        };
    }

    /** Cancels the read in flight; a {@code next} that waits for it throws {@link StoppedException}. */
    @Override
    public void close() {
        call.cancel();
    }

    /**
     * A human-readable description.
     *
     * @return topic and offset
     */
    @Override
    public String toString() {
        return "consumer of " + topic + " at offset " + offset;
    }

    /** An empty result at the current offset; it never allocates memory. */
    private Fetched nothing() {
        Fetched nothing = new Fetched();
        nothing.begin(offset, Long.MAX_VALUE);
        return nothing;
    }

    private void readAhead(Fetched into) {
        try {
            pending = startRead(into);
        } catch (RawlineException | OutOfMemoryError error) {
            // The next call starts the read, and throws this if it can't: the records at hand must not be lost.
            pending = null;
        }
    }

    private CompletableFuture<Fetched> startRead(Fetched into) {
        long recordsMax = config.endOffset == Long.MAX_VALUE ? 0 : config.endOffset - offset;
        ReadOptions options = new ReadOptions(offset, recordsMax, config.bytesMax, config.waitMax);
        try {
            return CompletableFuture.supplyAsync(() -> read(options, into), client.executor());
        } catch (RejectedExecutionException error) {
            throw new ConfigException(
                    "the client's executor rejects tasks; give the client one that accepts them", error);
        }
    }

    private Fetched read(ReadOptions options, Fetched into) {
        long waitNs = TOPIC_WAIT_NS_MIN;
        while (true) {
            try {
                return client.read(call, config.retries, topic, options, config.endOffset, into);
            } catch (TopicNotFoundException error) {
                if (!config.waitForTopic) {
                    throw error;
                }
                call.sleep(waitNs);
                waitNs = Math.min(2 * waitNs, TOPIC_WAIT_NS_MAX);
            }
        }
    }
}
