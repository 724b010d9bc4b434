package io.rawline;

import io.rawline.error.ConfigException;
import io.rawline.error.RawlineException;
import io.rawline.error.StoppedException;
import io.rawline.http.Call;
import io.rawline.http.Nanos;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads a topic from front to back: while the caller works on what came, the next read is already on its way.
 *
 * <pre>{@code
 * for (Record record : consumer) {
 *     System.out.println(record.offset() + " " + record.text());
 * }
 * }</pre>
 *
 * <p>What {@link #next()} gives lies in memory that is used again by the call after it; the same is true of a record
 * and of the step of the loop that goes beyond its answer. What is to live longer is copied.
 *
 * <p>For one thread at a time, but for {@link #close}, which ends a {@code next} that waits.
 */
public final class Consumer implements Iterable<Record>, AutoCloseable {
    private final Client client;
    private final String topic;
    private final ConsumerConfig config;
    private final Call call = new Call();
    /** Where the next read begins. */
    private long offset;
    /** The read on its way, if any. */
    private CompletableFuture<Fetched> coming;
    /** What the caller was handed last; the memory of the read after the next. */
    private Fetched current = new Fetched();

    /**
     * Finds out where to begin; reads nothing yet.
     *
     * @param client how it reaches the broker; stays the caller's
     * @param topic the topic it reads
     * @param config the settings, of which it takes a copy
     * @throws ConfigException a setting that can't be
     */
    public Consumer(Client client, String topic, ConsumerConfig config) {
        config.check();
        this.client = Objects.requireNonNull(client, "client");
        this.topic = Objects.requireNonNull(topic, "topic");
        this.config = new ConsumerConfig(config);
        RetryPolicy retries = this.config.retries;
        Start start = this.config.start;
        if (start instanceof Start.Offset at) {
            offset = at.offset();
        } else if (start instanceof Start.Time at) {
            offset = client.offsetAt(retries, topic, at.time());
        } else {
            TopicInfo info = client.topic(retries, topic);
            offset = start instanceof Start.Earliest ? info.firstOffset() : info.nextOffset();
        }
    }

    /**
     * Offset of the next record that will be given.
     *
     * @return from 0 on
     */
    public long offset() {
        return offset;
    }

    /**
     * Whether every record before {@code endOffset} was given.
     *
     * @return false for a consumer without an end
     */
    public boolean atEnd() {
        return offset >= config.endOffset;
    }

    /**
     * What comes next, at least one record; waits for it. Empty only where {@link #atEnd()}.
     *
     * <p>After an error it goes on where it was.
     *
     * @return what came, of use until the next call
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
     * As {@link #next()}, but waits no longer than so long: empty if nothing came in that time. Nothing is lost then.
     *
     * @param wait how long; null as long as one read lasts
     * @return what came, of use until the next call
     */
    public Fetched next(Duration wait) {
        if (atEnd()) {
            return nothing();
        }
        if (coming == null) {
            coming = startRead(new Fetched());
        }
        Fetched fetched;
        try {
            fetched = wait == null ? coming.get() : coming.get(Nanos.of(wait), TimeUnit.NANOSECONDS);
        } catch (TimeoutException error) {
            return nothing();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } catch (ExecutionException error) {
            coming = null;
            if (error.getCause() instanceof RawlineException known) {
                throw known.copy();
            }
            throw new StoppedException(
                    "the consumer has a mistake in it (" + error.getCause() + "); please report this", error);
        }
        coming = null;
        if (fetched.isEmpty()) {
            coming = startRead(fetched);
            return nothing();
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
     * The records that come next, for ever or to before {@code endOffset}; waits for them. Throws as {@link #next()}
     * does.
     *
     * @return before the next record
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

    /** Ends the read that is on its way, and with it a {@code next} that waits for it. */
    @Override
    public void close() {
        call.cancel();
    }

    /**
     * What it reads and where it is, for people.
     *
     * @return topic and offset
     */
    @Override
    public String toString() {
        return "consumer of " + topic + " at offset " + offset;
    }

    /** An answer without records, where the consumer is; its memory is never used. */
    private Fetched nothing() {
        Fetched nothing = new Fetched();
        nothing.begin(offset, config.endOffset);
        return nothing;
    }

    private void readAhead(Fetched into) {
        try {
            coming = startRead(into);
        } catch (RawlineException | OutOfMemoryError error) {
            // The next call begins the read, and says so if that can't be: what has come is not to be lost for it.
            coming = null;
        }
    }

    private CompletableFuture<Fetched> startRead(Fetched into) {
        long recordsMax = config.endOffset == Long.MAX_VALUE ? 0 : config.endOffset - offset;
        ReadOptions options = new ReadOptions(offset, recordsMax, config.bytesMax, config.waitMax);
        try {
            return CompletableFuture.supplyAsync(
                    () -> client.read(call, config.retries, topic, options, config.endOffset, into), client.executor());
        } catch (RejectedExecutionException error) {
            throw new ConfigException("the client's executor takes no more tasks; give it one that does", error);
        }
    }
}
