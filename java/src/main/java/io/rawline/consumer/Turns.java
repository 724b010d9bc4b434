package io.rawline.consumer;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which partitions a consumer reads next, so that it reads all of them with a bounded number of requests.
 *
 * <p>Up to {@link #READS_MAX} partitions are read at a time. If there are no more, a request stays open at the end of
 * each until there are records. Otherwise requests that wait would keep the others from their turn: the consumer then
 * looks at the description of the topic, which has the offsets of all partitions, and reads only those that have
 * records, in turn. It looks twice a second, and sooner after the last records were read.
 *
 * <p>Plain state without threads, requests or a clock; not thread-safe.
 */
final class Turns {
    /** Maximum number of reads in flight or not yet taken, each of which needs a thread, a connection and memory. */
    static final int READS_MAX = 16;

    /** How often a topic is described whose partitions take turns. */
    static final long LOOK_NS_MAX = 500_000_000;
    /** The first wait after a poll without records; each further one doubles it. */
    static final long LOOK_NS_MIN = 10_000_000;

    private enum State {
        /** Waits for its turn. */
        WAITING,
        /** A read is in flight, or its result is not taken yet. */
        READING,
        /** Had no further records at the last poll. */
        IDLE,
        /** Was read to its end. */
        ENDED
    }

    /** A partition that is consumed. */
    private static final class Partition {
        private final long endOffset;
        private long offset;
        private State state;

        Partition(long offset, long endOffset) {
            this.offset = offset;
            this.endOffset = endOffset;
        }
    }

    /** How long a number of partitions counts as current, while each partition has an open request. */
    private final long ageNsMax;

    private final Map<Integer, Partition> partitions = new TreeMap<>();
    /** The partitions that wait for their turn, in order. */
    private final Deque<Integer> waiting = new ArrayDeque<>();
    /** Number of partitions that are not read to their end, and of those being read. */
    private int live;

    private int reading;

    private boolean described;
    private long describedAtNs;
    private long lookNs = LOOK_NS_MIN;

    Turns(long ageNsMax) {
        this.ageNsMax = ageNsMax;
    }

    /** Adds a partition, to be read from one offset to before another; {@code hasMore}: it has records there. */
    void add(int number, long offset, long endOffset, boolean hasMore) {
        Partition partition = new Partition(offset, endOffset);
        if (partitions.put(number, partition) != null) {
            throw new IllegalStateException("partition " + number + " is consumed twice");
        }
        live++;
        partition.state = State.READING;
        reading++;
        settle(number, partition, hasMore);
    }

    boolean has(int number) {
        return partitions.containsKey(number);
    }

    /** Number of partitions. */
    int count() {
        return partitions.size();
    }

    /** The partitions' numbers and offsets. */
    Map<Integer, Long> offsets() {
        Map<Integer, Long> offsets = new TreeMap<>();
        partitions.forEach((number, partition) -> offsets.put(number, partition.offset));
        return offsets;
    }

    long offset(int number) {
        return partitions.get(number).offset;
    }

    long endOffset(int number) {
        return partitions.get(number).endOffset;
    }

    /** Whether there are partitions, and all were read to their ends. */
    boolean atEnd() {
        return live == 0 && !partitions.isEmpty();
    }

    /** Number of reads in flight or not taken yet. */
    int reading() {
        return reading;
    }

    /** Whether a read stays open while there is no record: there are requests for all partitions. */
    boolean readsWait() {
        return live <= READS_MAX;
    }

    /** Number of reads that may be in flight or not taken yet, at least 1. */
    int readsMax() {
        return Math.max(1, Math.min(live, READS_MAX));
    }

    /** The partition to read now; -1 if no partition waits for its turn, or if enough are being read. */
    int next() {
        if (reading >= READS_MAX || waiting.isEmpty()) {
            return -1;
        }
        int number = waiting.pollFirst();
        partitions.get(number).state = State.READING;
        reading++;
        return number;
    }

    /** A read's records are taken, which end before an offset. */
    void taken(int number, long offset, boolean hasMore) {
        Partition partition = beingRead(number);
        if (offset <= partition.offset) {
            throw new IllegalStateException("a read at " + partition.offset + " ended at " + offset);
        }
        partition.offset = offset;
        lookNs = LOOK_NS_MIN;
        settle(number, partition, hasMore);
    }

    /** A read ended without records. */
    void empty(int number) {
        settle(number, beingRead(number), false);
    }

    /** A read failed or could not be started; the partition is read again from the same offset. */
    void failed(int number) {
        settle(number, beingRead(number), true);
    }

    /** A read found that the partition doesn't exist; it isn't read any more. */
    void gone(int number) {
        Partition partition = beingRead(number);
        reading--;
        end(partition);
    }

    private Partition beingRead(int number) {
        Partition partition = partitions.get(number);
        if (partition.state != State.READING) {
            throw new IllegalStateException("partition " + number + " was read while it was " + partition.state);
        }
        return partition;
    }

    /** Ends the turn of a partition. */
    private void settle(int number, Partition partition, boolean hasMore) {
        reading--;
        if (partition.offset >= partition.endOffset) {
            end(partition);
        } else {
            partition.state = State.IDLE;
            if (hasMore || readsWait()) {
                wake(number, partition);
            }
        }
    }

    private void end(Partition partition) {
        partition.state = State.ENDED;
        live--;
        if (readsWait()) {
            partitions.forEach(this::wake);
        }
    }

    private void wake(int number, Partition partition) {
        if (partition.state == State.IDLE) {
            partition.state = State.WAITING;
            waiting.addLast(number);
        }
    }

    /** The nanoseconds until the topic is to be described; 0 or less: now. */
    long describeInNs(long nowNs) {
        if (!described) {
            return 0;
        }
        long everyNs = ageNsMax;
        if (!readsWait()) {
            everyNs = reading == 0 && waiting.isEmpty() ? lookNs : LOOK_NS_MAX;
        }
        return describedAtNs + everyNs - nowNs;
    }

    /** The topic was described, and {@link #hasUpTo} called for each of its partitions. */
    void described(long nowNs) {
        described = true;
        describedAtNs = nowNs;
        lookNs = waiting.isEmpty() ? Math.min(2 * lookNs, LOOK_NS_MAX) : LOOK_NS_MIN;
    }

    /** A partition has records up to before an offset. */
    void hasUpTo(int number, long nextOffset) {
        Partition partition = partitions.get(number);
        if (partition != null && nextOffset > partition.offset) {
            wake(number, partition);
        }
    }
}
