package io.rawline.subscription;

import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.StoppedException;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Arrivals;
import io.rawline.internal.request.Received;
import io.rawline.internal.request.Requests;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Receives the records of topics, and of all topics with a prefix, as they are stored. Each result has records of one
 * partition, and the records of a partition are in order. While the caller processes one result, the next is received;
 * more waits in the broker.
 *
 * <pre>{@code
 * for (ConsumedRecord record : subscription) {
 *     System.out.println(record.topic() + " " + record.offset() + " " + record.text());
 * }
 * }</pre>
 *
 * <p>A broken connection is replaced, without loss or duplicates. After an
 * error, the next call continues where the subscription was.
 *
 * <p>The result of {@link #next()} is valid until the next call, because its memory is reused; the same holds for a
 * record of the loop until the loop needs another result. Not thread-safe, except for {@link #close}, which ends a
 * {@code next} that waits.
 */
public final class Subscription implements Iterable<ConsumedRecord>, AutoCloseable {
    private static final int MESSAGE = 0;

    private final SubscriptionConfig config;
    private final Arrivals<SubscriptionLink.Event> arrivals;
    private final SubscriptionLink link;
    /** The position after the records that the caller got. */
    private Cursor cursor;
    /** The message that the caller holds, and the memory for the one after the next. */
    private Received current = new Received();

    private Received spare = new Received();
    private boolean isReceiving;
    private long skipped;
    /** The loop's position in its current result; -1 at its end. */
    private long loopOffset = -1;

    /**
     * A client's {@code subscribe} makes one. Records appended after this returns are received.
     *
     * @param client the client's requests
     * @param config the settings, which are copied
     * @hidden
     */
    @SuppressWarnings("exports")
    public Subscription(Requests client, SubscriptionConfig config) {
        this.config = new SubscriptionConfig(Settings.notNull("config", config));
        Settings.atLeast(
                "the number of topics and prefixes", 1, this.config.topics.size() + this.config.prefixes.size());
        arrivals = new Arrivals<>(client.executor());
        link = new SubscriptionLink(client, this.config);
        cursor = link.open(new Call());
    }

    /**
     * The position after everything that {@link #next()} or the loop has returned.
     *
     * @return a text for {@link SubscriptionConfig#cursor}, also in another process
     */
    public String cursor() {
        if (loopOffset < 0) {
            return cursor.toString();
        }
        Cursor within = cursor.copy();
        within.set(current.topic(), current.partition(), loopOffset);
        return within.toString();
    }

    /**
     * Number of records that were skipped so far.
     *
     * @return 0 or more
     */
    public long skipped() {
        return skipped;
    }

    /**
     * Returns the next records of a partition, at least one; waits for them.
     *
     * @return the records, valid until the next call
     */
    public Fetched next() {
        return next(null);
    }

    /**
     * As {@link #next()}, with a timeout: empty if there were no records in time. Nothing is lost then.
     *
     * @param wait the timeout; null to wait without one
     * @return the records, valid until the next call
     */
    public Fetched next(Duration wait) {
        long beganNs = System.nanoTime();
        long waitNs = wait == null ? Long.MAX_VALUE : Nanos.of(wait);
        loopOffset = -1;
        while (true) {
            receive();
            long leftNs = wait == null ? waitNs : Math.max(0, waitNs - (System.nanoTime() - beganNs));
            Arrivals.Arrival<SubscriptionLink.Event> arrival = arrivals.await(leftNs);
            if (arrival == null) {
                return new Received();
            }
            isReceiving = false;
            if (arrival.error() != null) {
                throw arrival.known();
            }
            if (take(arrival.result())) {
                receiveAhead();
                return current;
            }
        }
    }

    /** Takes the received message; true if it has records. */
    private boolean take(SubscriptionLink.Event event) {
        if (event instanceof SubscriptionLink.Records records) {
            Received fetched = records.fetched();
            cursor.set(fetched.topic(), fetched.partition(), fetched.nextOffset());
            spare = fetched;
            if (!fetched.hasRecords()) {
                return false;
            }
            spare = current;
            current = fetched;
            return true;
        }
        if (event instanceof SubscriptionLink.At at) {
            cursor = at.cursor();
        } else if (event instanceof SubscriptionLink.Identified identified) {
            cursor.identify(identified.topic(), identified.id());
        } else if (event instanceof SubscriptionLink.Noticed noticed) {
            if (noticed.notice() instanceof Notice.Skipped skip) {
                cursor.set(skip.topic(), skip.partition(), skip.nextOffset());
                skipped += skip.records();
            } else if (noticed.notice() instanceof Notice.Deleted deleted) {
                cursor.forget(deleted.topic());
            }
            config.onNotice.accept(noticed.notice());
        }
        return false;
    }

    private void receive() {
        if (!isReceiving) {
            Received into = spare;
            arrivals.start(MESSAGE, call -> link.receive(call, into));
            isReceiving = true;
        }
    }

    private void receiveAhead() {
        try {
            receive();
        } catch (RawlineException | OutOfMemoryError error) {
            // The next call throws it: the records at hand must not be lost.
            isReceiving = false;
        }
    }

    /**
     * The records, without an end; waits for them. Throws as {@link #next()} does.
     *
     * @return an iterator, before the next record
     */
    @Override
    public Iterator<ConsumedRecord> iterator() {
        return new Iterator<>() {
            private Iterator<ConsumedRecord> records = Collections.emptyIterator();

            @Override
            public boolean hasNext() {
                while (!records.hasNext()) {
                    records = Subscription.this.next().iterator();
                }
                return true;
            }

            @Override
            public ConsumedRecord next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("a subscription has no end");
                }
                ConsumedRecord record = records.next();
                loopOffset = records.hasNext() ? record.offset() + 1 : -1;
                return record;
            }
        };
    }

    /** Closes the connection; a {@code next} that waits throws {@link StoppedException}. */
    @Override
    public void close() {
        arrivals.close();
        link.close();
    }

    /**
     * A human-readable description.
     *
     * @return topics and prefixes
     */
    @Override
    public String toString() {
        return "subscription of the topics " + config.topics + " and the prefixes " + config.prefixes;
    }

    /** Whether the broker has ended a subscription because it was too slow. */
    static boolean isSlow(RawlineException error) {
        return error instanceof RefusedException refused && refused.code().equals("subscriber_slow");
    }
}
