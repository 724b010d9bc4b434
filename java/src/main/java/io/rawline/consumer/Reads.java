package io.rawline.consumer;

import io.rawline.internal.http.Call;
import io.rawline.internal.request.Arrivals;
import io.rawline.internal.request.Received;
import io.rawline.record.ReadOptions;
import io.rawline.topic.TopicPartition;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntFunction;

/**
 * Reads partitions ahead of the caller: starts the reads whose turn it is, and reuses their memory. Each partition has
 * a number. Not thread-safe; the reads run on other threads.
 */
final class Reads {
    private final Arrivals<Result> arrivals;
    private final long bytesMax;
    private final Duration waitMax;
    private final IntFunction<TopicPartition> names;
    private final Reader reader;
    private Turns turns;
    /** The batches that the caller holds now; the buffer is reused for a later read. */
    private Received current = new Received();

    private final Deque<Received> free = new ArrayDeque<>();

    /** The result of a request. */
    interface Result {}

    /** A read. */
    private record Read(Received fetched) implements Result {}

    /** Sends the request of a read. */
    interface Reader {
        /**
         * Reads.
         *
         * @param topic the topic
         * @param options the range and limits
         * @param endOffset records from here on are left out
         * @param into memory
         */
        Received read(Call call, String topic, ReadOptions options, long endOffset, Received into);
    }

    /**
     * Nothing is read yet.
     *
     * @param names the partitions by their numbers
     */
    Reads(
            Arrivals<Result> arrivals,
            Turns turns,
            long bytesMax,
            Duration waitMax,
            IntFunction<TopicPartition> names,
            Reader reader) {
        this.arrivals = arrivals;
        this.turns = turns;
        this.bytesMax = bytesMax;
        this.waitMax = waitMax;
        this.names = names;
        this.reader = reader;
    }

    /** Reads other partitions from now on. */
    void turns(Turns turns) {
        this.turns = turns;
    }

    /** Starts the due reads. */
    void start() {
        for (int number = turns.next(); number >= 0; number = turns.next()) {
            boolean started = false;
            try {
                start(number);
                started = true;
            } finally {
                if (!started) {
                    turns.failed(number);
                }
            }
        }
    }

    private void start(int number) {
        long offset = turns.offset(number);
        long endOffset = turns.endOffset(number);
        int reads = turns.readsMax();
        TopicPartition name = names.apply(number);
        ReadOptions options = new ReadOptions(
                offset,
                endOffset == Long.MAX_VALUE ? 0 : endOffset - offset,
                // As much is held at a time as of one partition: a read and the one that the caller has.
                reads == 1 || bytesMax == 0 ? bytesMax : Math.max(1, bytesMax / (reads + 1) * 2),
                turns.readsWait() ? waitMax : Duration.ZERO,
                name.partition());
        Received into = free.isEmpty() ? new Received() : free.pollLast();
        arrivals.start(number, call -> new Read(reader.read(call, name.topic(), options, endOffset, into)));
    }

    /** Takes the result of a read that didn't fail: records, which the caller holds until the next ones, or null. */
    Received take(Arrivals.Arrival<Result> arrival) {
        int number = arrival.key();
        Received fetched = ((Read) arrival.result()).fetched();
        if (fetched.isEmpty()) {
            turns.empty(number);
            free.addLast(fetched);
            return null;
        }
        turns.taken(number, fetched.nextOffset(), fetched.nextOffset() < fetched.topicNextOffset());
        free.addLast(current);
        current = fetched;
        return fetched;
    }

    /** Takes back the memory of an abandoned read. */
    void drop(Arrivals.Arrival<Result> arrival) {
        if (arrival.result() instanceof Read read) {
            free.addLast(read.fetched());
        }
    }
}
