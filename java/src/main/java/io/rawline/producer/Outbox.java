package io.rawline.producer;

import io.rawline.batch.BatchBuilder;
import io.rawline.batch.Buffers;
import io.rawline.batch.Limits;
import io.rawline.batch.RecordBatchBuilder;
import io.rawline.batch.SealedBatch;
import io.rawline.error.RawlineException;
import io.rawline.internal.request.ProducerInstance;
import io.rawline.internal.setting.Nanos;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;

/**
 * The records of a producer that are not stored yet, by partition.
 *
 * <pre>
 * add ─► open batch of the partition ─► its sealed batches ─► take: one request
 *        (until full, or linger)                              (finish: stored)
 * </pre>
 *
 * <p>Until the number of partitions is known, records without a route wait in batches without a partition.
 *
 * <p>Plain state without threads or requests; not thread-safe, since a producer holds its lock.
 */
final class Outbox {
    private static final int UNPLACED = -1;

    /**
     * The longest time that a batch waits for more records, unless the caller chooses: as many records as arrive within
     * it make the cost of a request negligible, and a person doesn't notice it.
     */
    private static final long LINGER_NS_MAX = 5_000_000;
    /** Number of appends of a producer that a partition remembers: it recognizes these when they are sent again. */
    private static final int REMEMBERED_MAX = 5;

    private final ProducerConfig config;
    private final Limits limits;
    private final ProducerInstance producer;
    /** A random number below its argument. */
    private final IntUnaryOperator random;
    /** As {@link System#nanoTime}. */
    private final LongSupplier clock;

    private final Buffers sizesBuffers;
    private final Buffers dataBuffers;
    /** Empty ones, of our batches and of Kafka's. */
    private final Deque<Draft> plainDrafts = new ArrayDeque<>();

    private final Deque<Draft> kafkaDrafts = new ArrayDeque<>();

    /** By partition; null where nothing was added. */
    private Lane[] lanes = new Lane[0];
    /** Records added before the number of partitions is known, and their full batches. */
    private final Lane unplaced = new Lane(UNPLACED);

    private final Deque<OpenBatch> unplacedFull = new ArrayDeque<>();
    /** Number of partitions; 0 while it isn't known. */
    private int partitions;
    /** The partition of the records without a route. */
    private int sticky;

    /** With an open batch that isn't known to have lingered, in the order in which these were opened. */
    private final Set<Lane> lingering = new LinkedHashSet<>();
    /** With a batch to send, in turn. */
    private final Deque<Lane> ready = new ArrayDeque<>();
    /** The outcomes of all batches that are open, sealed or in flight, in the order in which these were opened. */
    private final Set<Delivery> unresolved = new LinkedHashSet<>();
    /** Number of sealed batches. */
    private int sealedCount;
    /** Whether a batch was opened or sealed since the last call. */
    private boolean changed;
    /** Size of all records that are not stored yet. */
    private long heldBytes;

    /** A partition's part. */
    private static final class Lane {
        private final int partition;
        private final Deque<QueuedBatch> sealed = new ArrayDeque<>();
        /** Null, or a batch of one or more records. */
        private OpenBatch open;
        /** The sequence of the next batch, counted from the number that the one before it has. */
        private long nextSequence;
        /** Number of requests so far. */
        private long requests;
        /** The numbers of those in flight. */
        private final TreeSet<Long> inFlight = new TreeSet<>();
        /** Whether a request has ended. */
        private boolean begun;
        /** Whether it waits for its turn. */
        private boolean ready;

        Lane(int partition) {
            this.partition = partition;
        }
    }

    /** A batch that records are added to. */
    private static final class OpenBatch {
        private final Draft draft;
        private final Delivery delivery = new Delivery();
        private final long openedAtNs;
        /** Size of its records, as counted for the buffer. */
        private long heldBytes;

        OpenBatch(Draft draft, long openedAtNs) {
            this.draft = draft;
            this.openedAtNs = openedAtNs;
        }
    }

    /**
     * A batch that is sealed or in flight.
     *
     * @param startsOver whether its first number is lower than the one before it, which a request can't tell
     */
    record QueuedBatch(
            SealedBatch batch, boolean isKafka, boolean startsOver, int records, long heldBytes, Delivery delivery) {}

    /**
     * The content of one request to a partition: one or more consecutive batches of one kind.
     *
     * @param number the number of the partition's requests before it
     */
    record Due(int partition, long number, List<QueuedBatch> batches) {
        /** Whether they are Kafka's. */
        boolean isKafka() {
            return batches.get(0).isKafka;
        }

        /** Number of records. */
        long records() {
            return batches.stream().mapToLong(QueuedBatch::records).sum();
        }

        /** The batches' bytes; new views with each call. */
        ByteBuffer[] pieces() {
            return batches.stream()
                    .flatMap(batch -> Arrays.stream(batch.batch().pieces()))
                    .toArray(ByteBuffer[]::new);
        }
    }

    Outbox(
            ProducerConfig config,
            Limits limits,
            ProducerInstance producer,
            IntUnaryOperator random,
            LongSupplier clock) {
        this.config = config;
        this.limits = limits;
        this.producer = producer;
        this.random = random;
        this.clock = clock;
        sizesBuffers = new Buffers(config.bufferBytes);
        dataBuffers = new Buffers(config.bufferBytes);
    }

    /** Number of partitions; 0 while it isn't known. */
    int partitions() {
        return partitions;
    }

    /** Size of all records that are not stored yet. */
    long heldBytes() {
        return heldBytes;
    }

    /** Whether a batch was opened or sealed since the last call. */
    boolean hasChanged() {
        boolean had = changed;
        changed = false;
        return had;
    }

    /** Whether records wait for the number of partitions. */
    boolean hasUnplaced() {
        return unplaced.open != null || !unplacedFull.isEmpty();
    }

    /** The outcomes of all batches that are open, sealed or in flight, in the order in which these were opened. */
    List<Delivery> unresolved() {
        return List.copyOf(unresolved);
    }

    /** Sets the number of partitions, and places the records that waited for it. */
    void place(int partitions) {
        if (partitions < 1) {
            throw new IllegalStateException("a topic with " + partitions + " partitions");
        }
        boolean first = this.partitions == 0;
        this.partitions = partitions;
        sticky = first ? random.applyAsInt(partitions) : sticky % partitions;
        while (!unplacedFull.isEmpty()) {
            Lane lane = lane(sticky);
            lane.open = unplacedFull.pollFirst();
            seal(lane);
        }
        if (unplaced.open != null) {
            Lane lane = lane(sticky);
            lane.open = unplaced.open;
            unplaced.open = null;
            lingering.add(lane);
        }
    }

    /**
     * Adds a record. The number of partitions must be known, unless the route is any.
     *
     * @param value its value, or null
     * @param fields its key, headers and time, or null
     * @param bytes its length in a batch
     */
    Receipt add(Route route, ByteBuffer value, ProducerRecord fields, int bytes) {
        Lane lane = lane(route);
        // The limits may leave less room than batchBytes, since they count header and sizes too.
        while (lane.open != null && (isFull(lane.open, bytes) || !lane.open.draft.add(value, fields))) {
            seal(lane);
            // The next batch of records without a route has another partition.
            lane = lane(route);
        }
        if (lane.open == null) {
            open(lane, value, fields, bytes);
        }
        OpenBatch open = lane.open;
        open.heldBytes += cost(bytes);
        heldBytes += cost(bytes);
        Receipt receipt = new Receipt(open.delivery, open.draft.count() - 1);
        if (isFull(open, 1)) {
            seal(lane);
        }
        return receipt;
    }

    /** The share of a record of this length in the buffer: its bytes and its size's. */
    static long cost(int bytes) {
        return bytes + 4L;
    }

    /** Gives the next batch of a partition this number. For tests: no producer sends this many records. */
    void startAt(int partition, long sequence) {
        lane(partition).nextSequence = sequence;
    }

    private Lane lane(Route route) {
        if (route instanceof Route.Any) {
            return partitions == 0 ? unplaced : lane(sticky);
        }
        if (partitions == 0) {
            throw new IllegalStateException(route + " of an unknown number of partitions");
        }
        return lane(
                route instanceof Route.Key key
                        ? Partitioner.ofHash(key.hash(), partitions)
                        : ((Route.Partition) route).number());
    }

    private Lane lane(int partition) {
        if (partition >= lanes.length) {
            lanes = Arrays.copyOf(lanes, Math.max(partition + 1, partitions));
        }
        if (lanes[partition] == null) {
            lanes[partition] = new Lane(partition);
        }
        return lanes[partition];
    }

    /** Opens a batch with its first record. */
    private void open(Lane lane, ByteBuffer value, ProducerRecord fields, int bytes) {
        Draft draft = draft(fields != null);
        if (!draft.add(value, fields)) {
            throw new IllegalStateException(
                    "an empty batch has no room for a record of " + bytes + " bytes within " + limits);
        }
        lane.open = new OpenBatch(draft, clock.getAsLong());
        changed = true;
        unresolved.add(lane.open.delivery);
        if (lane != unplaced) {
            lingering.add(lane);
        }
    }

    private Draft draft(boolean isKafka) {
        Deque<Draft> drafts = isKafka ? kafkaDrafts : plainDrafts;
        if (!drafts.isEmpty()) {
            return drafts.pollLast();
        }
        return isKafka
                ? new Draft.Kafka(new RecordBatchBuilder(config.codec, limits, sizesBuffers, dataBuffers))
                : new Draft.Plain(new BatchBuilder(config.codec, limits, sizesBuffers, dataBuffers));
    }

    /** Whether a batch with records has no room for a further one of this length, according to the settings. */
    private boolean isFull(OpenBatch open, int recordBytes) {
        return open.draft.count() >= config.batchRecordsMax
                || open.draft.dataBytes() + (long) recordBytes > config.batchBytes;
    }

    /** Closes the open batch and queues it. */
    private void seal(Lane lane) {
        OpenBatch open = lane.open;
        if (lane == unplaced) {
            unplacedFull.addLast(open);
            lane.open = null;
            return;
        }
        int records = open.draft.count();
        // Nothing is changed until nothing can fail any more.
        Draft draft = open.draft;
        SealedBatch batch = draft.seal(producer, lane.nextSequence);
        long number = draft.number(lane.nextSequence);
        boolean startsOver = number != lane.nextSequence;
        lane.sealed.addLast(
                new QueuedBatch(batch, draft.isKafka(), startsOver, records, open.heldBytes, open.delivery));
        sealedCount++;
        changed = true;
        lane.nextSequence = number + records;
        lane.open = null;
        lingering.remove(lane);
        (draft.isKafka() ? kafkaDrafts : plainDrafts).addLast(draft);
        if (lane.partition == sticky) {
            sticky = (sticky + 1) % partitions;
        }
        makeReady(lane);
    }

    /** Seals all open batches. */
    void sealAll() {
        if (unplaced.open != null) {
            seal(unplaced);
        }
        for (Lane lane : lanes) {
            if (lane != null && lane.open != null) {
                seal(lane);
            }
        }
    }

    /** Makes sure that something can be sent, so that there will be room, however long batches may linger. */
    void sealForRoom() {
        if (sealedCount == 0 && ready.isEmpty() && !lingering.isEmpty()) {
            seal(lingering.iterator().next());
        }
    }

    /**
     * Whether a request to the partition can begin. The first one is alone: a broker that doesn't know the producer
     * takes whatever arrives first as the beginning of its sequence. Others wait for one that is sent again while the
     * broker can still tell that it was stored.
     */
    private boolean hasCapacity(Lane lane) {
        if (!config.exactlyOnce || lane.inFlight.isEmpty()) {
            return lane.inFlight.size() < config.inFlightMax;
        }
        long sinceOldest = lane.requests - lane.inFlight.first();
        return lane.begun
                && lane.inFlight.size() < config.inFlightMax
                && sinceOldest < Math.max(REMEMBERED_MAX, config.inFlightMax);
    }

    private void makeReady(Lane lane) {
        if (!lane.ready && hasCapacity(lane) && !lane.sealed.isEmpty()) {
            lane.ready = true;
            ready.addLast(lane);
        }
    }

    /** Whether a batch is to be sent now, or when it has lingered. */
    boolean hasWork() {
        return waitNs() != Long.MAX_VALUE;
    }

    /** Time until a batch is to be sent, in nanoseconds; the maximum without batches. */
    long waitNs() {
        if (!ready.isEmpty()) {
            return 0;
        }
        long nowNs = clock.getAsLong();
        long waitNs = Long.MAX_VALUE;
        for (Lane lane : lingering) {
            if (hasCapacity(lane)) {
                waitNs = Math.min(waitNs, Math.max(0, lane.open.openedAtNs - nowNs + lingerNs(lane.open)));
                if (config.linger != null) {
                    // All wait equally long, so the oldest is the first.
                    break;
                }
            }
        }
        return waitNs;
    }

    /**
     * How long a batch waits for more records, from its first one on. Without a setting, it waits as long as the time
     * that it needs to be filled, at the rate of its records so far, is at most {@link #LINGER_NS_MAX}. So the records
     * of a caller that waits for each of them, or sends a few, are sent at once; those of a caller that sends as fast
     * as it can fill batches. Records that arrive while a request is in flight wait for the end of that request
     * anyway: the slower the broker, the larger the batches.
     */
    private long lingerNs(OpenBatch open) {
        if (config.linger != null) {
            return Nanos.of(config.linger);
        }
        int records = open.draft.count();
        if (records <= 1) {
            // One record has no rate.
            return 0;
        }
        double filled = Math.max(
                (double) open.draft.dataBytes() / config.batchBytes, (double) records / config.batchRecordsMax);
        return (long) (LINGER_NS_MAX * Math.min(filled, 1.0));
    }

    /** Takes the batches to send to the next partition in turn; null without any. */
    Due take() {
        long nowNs = clock.getAsLong();
        for (Iterator<Lane> oldest = lingering.iterator(); oldest.hasNext(); ) {
            Lane lane = oldest.next();
            boolean hasLingered = hasLingered(lane.open, nowNs);
            if (!hasLingered && config.linger != null) {
                // All wait equally long, so no later one has either.
                break;
            }
            if (hasLingered && hasCapacity(lane)) {
                oldest.remove();
                if (!lane.ready) {
                    lane.ready = true;
                    ready.addLast(lane);
                }
            }
        }
        Lane lane = ready.peekFirst();
        if (lane == null) {
            return null;
        }
        if (lane.open != null && (lane.sealed.isEmpty() || hasLingered(lane.open, nowNs))) {
            seal(lane);
        }
        ready.removeFirst();
        lane.ready = false;
        List<QueuedBatch> batches = new ArrayList<>();
        long bytes = 0;
        while (!lane.sealed.isEmpty()) {
            QueuedBatch next = lane.sealed.peekFirst();
            bytes += next.batch.bytes();
            boolean isSeparate = next.startsOver || !batches.isEmpty() && next.isKafka != batches.get(0).isKafka;
            if (!batches.isEmpty() && (isSeparate || bytes > config.requestBytesMax)) {
                break;
            }
            batches.add(lane.sealed.pollFirst());
        }
        if (batches.isEmpty()) {
            throw new IllegalStateException("partition " + lane.partition + " had its turn without a batch");
        }
        sealedCount -= batches.size();
        long number = lane.requests++;
        lane.inFlight.add(number);
        makeReady(lane);
        return new Due(lane.partition, number, batches);
    }

    private boolean hasLingered(OpenBatch open, long nowNs) {
        return nowNs - open.openedAtNs >= lingerNs(open);
    }

    /** Releases the buffer of a request whose outcome is known. */
    void finish(Due due) {
        Lane lane = lanes[due.partition];
        lane.inFlight.remove(due.number);
        lane.begun = true;
        for (QueuedBatch batch : due.batches) {
            if (!unresolved.remove(batch.delivery)) {
                throw new IllegalStateException("a batch of " + batch.records + " records was sent twice");
            }
            sizesBuffers.give(batch.batch.front());
            dataBuffers.give(batch.batch.data());
            release(batch.heldBytes);
        }
        makeReady(lane);
    }

    /** Fails the batches that wait for the number of partitions. */
    void dropUnplaced(RawlineException error) {
        if (unplaced.open != null) {
            seal(unplaced);
        }
        for (OpenBatch open : unplacedFull) {
            drop(open.delivery, open.heldBytes, error);
        }
        unplacedFull.clear();
    }

    /** Fails all batches that are not in flight. */
    void drop(RawlineException error) {
        dropUnplaced(error);
        for (Lane lane : lanes) {
            if (lane == null) {
                continue;
            }
            if (lane.open != null) {
                drop(lane.open.delivery, lane.open.heldBytes, error);
                lane.open = null;
            }
            lane.sealed.forEach(batch -> drop(batch.delivery, batch.heldBytes, error));
            lane.sealed.clear();
            lane.ready = false;
        }
        sealedCount = 0;
        lingering.clear();
        ready.clear();
    }

    private void drop(Delivery delivery, long bytes, RawlineException error) {
        unresolved.remove(delivery);
        release(bytes);
        delivery.fail(error);
    }

    private void release(long bytes) {
        if (bytes > heldBytes) {
            throw new IllegalStateException("a batch of " + bytes + " bytes of a buffer that holds " + heldBytes);
        }
        heldBytes -= bytes;
    }
}
