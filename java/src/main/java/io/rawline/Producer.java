package io.rawline;

import io.rawline.batch.BatchBuilder;
import io.rawline.batch.BatchException;
import io.rawline.batch.Buffers;
import io.rawline.batch.Limits;
import io.rawline.batch.SealedBatch;
import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.StoppedException;
import io.rawline.http.Call;
import io.rawline.http.Nanos;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Appends records to one topic, in the order in which they are sent.
 *
 * <pre>
 * send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
 *         (until full, or linger)          (all that is sealed by then)
 * </pre>
 *
 * <p><b>Exactly once in a bucket.</b> When a connection breaks after a request was sent, the producer can't know
 * whether the broker carried it out, and sends it again. A broker on a bucket with a journal recognizes its batches by
 * the producer's id and their sequence, and stores them once, also if the broker was killed in between.
 *
 * <p><b>At least once elsewhere.</b> If only the response was lost, the request's records are then stored twice, the
 * copies next to each other.
 *
 * <p><b>Failure.</b> When a request is refused, or its retries are exhausted, the producer stops: records that are not
 * in flight are not sent, so that no later record takes the place of a missing one. From then on every receipt,
 * {@code send}, {@code flush} and {@code close} throws the error.
 *
 * <p>Thread-safe, for virtual threads too.
 */
public final class Producer implements AutoCloseable {
    private final Client client;
    private final String topic;
    private final ProducerConfig config;
    private final Limits limits;

    /** Held while a record is copied or a batch is compressed; never while waiting for the broker. */
    private final ReentrantLock lock = new ReentrantLock();
    /** There is work for a sending thread. */
    private final Condition work = lock.newCondition();
    /** Something was stored, or the producer has stopped. */
    private final Condition room = lock.newCondition();

    private final Buffers sizesBuffers;
    private final Buffers dataBuffers;
    /** Distinguishes the producer from all others; 0 if it doesn't ask for exactly-once appends. */
    private final long producerId;

    private final BatchBuilder open;
    /** Number of records in the batches that were sealed: the sequence of the next. */
    private long nextSequence;
    /** When the open batch got its first record, by {@link System#nanoTime}. */
    private long openedAtNs;
    /** The outcome of the open batch. */
    private Delivery delivery = new Delivery();

    private final Deque<QueuedBatch> sealed = new ArrayDeque<>();
    /** The outcomes of the batches that are sealed or in flight, in order. */
    private final List<Delivery> unresolved = new ArrayList<>();
    /** The requests in flight. */
    private final Set<Call> calls = new HashSet<>();
    /** Size of the records of the open batch, as counted for the buffer. */
    private long openHeldBytes;
    /** Size of all records that are not stored yet: open, sealed or in flight. */
    private long heldBytes;

    private boolean closing;
    private RawlineException stopped;

    /** A batch that is sealed or in flight. */
    private record QueuedBatch(SealedBatch batch, int records, long heldBytes, Delivery delivery) {}

    /**
     * Starts a producer. Sends nothing by itself.
     *
     * @param client the client, which the caller closes after the producer
     * @param topic the topic it appends to
     * @param config the settings, which are copied
     * @throws ConfigException the batches' size is over the client's limits
     */
    public Producer(Client client, String topic, ProducerConfig config) {
        this.client = Settings.notNull("client", client);
        this.topic = Settings.notNull("topic", topic);
        this.config = new ProducerConfig(Settings.notNull("config", config));
        this.limits = client.limits();
        this.config.check(limits);
        producerId = config.exactlyOnce ? ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE) : 0;
        sizesBuffers = new Buffers(config.bufferBytes);
        dataBuffers = new Buffers(config.bufferBytes);
        open = new BatchBuilder(config.codec, limits, sizesBuffers, dataBuffers);
        for (int i = 0; i < config.inFlightMax; i++) {
            try {
                client.executor().execute(this::sendAll);
            } catch (RejectedExecutionException error) {
                abandon();
                throw new ConfigException(
                        "the client's executor rejects tasks; give the client one that accepts them", error);
            }
        }
    }

    /**
     * Adds a record to the open batch; waits while the buffer is full. The record is stored when its receipt says so,
     * or when {@link #flush} has returned.
     *
     * @param record its bytes, which are copied; empty is a record too
     * @return its receipt
     * @throws BatchException {@code batch_limit}: no batch can hold the record; the producer continues
     * @throws InterruptedCallException the thread was interrupted while it waited for room; the record was not added
     * @throws RawlineException why the producer has stopped
     */
    public Receipt send(byte[] record) {
        return send(ByteBuffer.wrap(notNull(record)));
    }

    /**
     * As {@link #send(byte[])}, of a text in UTF-8.
     *
     * @param record the text
     * @return its receipt
     */
    public Receipt send(String record) {
        return send(notNull(record).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * As {@link #send(byte[])}, of a buffer's bytes from its position to its limit.
     *
     * @param record the buffer, which is copied; its position is not changed
     * @return its receipt
     */
    public Receipt send(ByteBuffer record) {
        // Before the record is added, so that one which no batch can hold fails only for its sender.
        limits.checkRecord(notNull(record).remaining());
        // What a record counts for in the buffer: its bytes and its size's.
        long cost = record.remaining() + 4L;
        lock.lock();
        try {
            checkHealthy();
            // A record of any length is added when the buffer is empty.
            while (heldBytes > 0 && heldBytes + cost > config.bufferBytes) {
                // There will be room only after the open batch is sent.
                if (sealed.isEmpty()) {
                    seal();
                }
                room.await();
                checkHealthy();
            }
            return add(record, cost);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } finally {
            lock.unlock();
        }
    }

    private static <T> T notNull(T record) {
        return Objects.requireNonNull(record, "the record is null; a record without bytes is an empty array");
    }

    /**
     * Waits until every record sent so far is stored.
     *
     * @throws RawlineException why one is not stored, or not known to be
     */
    public void flush() {
        List<Delivery> waited;
        lock.lock();
        try {
            checkHealthy();
            seal();
            waited = List.copyOf(unresolved);
        } finally {
            lock.unlock();
        }
        waited.forEach(Delivery::await);
    }

    /**
     * Flushes and ends the producer. It also ends the producer if it throws: records that are not in flight by then,
     * for example because the waiting thread was interrupted, are not sent, and their receipts say so.
     */
    @Override
    public void close() {
        if (isClosed()) {
            return;
        }
        try {
            flush();
        } finally {
            lock.lock();
            try {
                closing = true;
                stop(new StoppedException("the producer is closed; create a new one", null));
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Ends the producer without sending what it still holds. Requests in flight are cancelled, though the broker may
     * have carried them out.
     */
    public void abandon() {
        lock.lock();
        try {
            closing = true;
            RawlineException abandoned = new StoppedException(
                    "the producer was abandoned before it was closed; create a new one and send the records without an"
                            + " offset again",
                    null);
            unresolved.forEach(waiting -> waiting.fail(abandoned));
            stop(abandoned);
            calls.forEach(Call::cancel);
        } finally {
            lock.unlock();
        }
    }

    /**
     * A human-readable description.
     *
     * @return the topic, and how much is not stored yet
     */
    @Override
    public String toString() {
        lock.lock();
        try {
            return "producer of " + topic + ", " + heldBytes + " bytes not stored yet"
                    + (stopped == null ? "" : ", stopped");
        } finally {
            lock.unlock();
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closing;
        } finally {
            lock.unlock();
        }
    }

    /** Throws the failure that stopped the producer, as a copy for this thread. */
    private void checkHealthy() {
        if (stopped != null) {
            throw stopped.copy();
        }
    }

    /** Adds a record for which there is room in the buffer. */
    private Receipt add(ByteBuffer record, long cost) {
        if (open.count() > 0
                && (open.dataBytes() + (long) record.remaining() > config.batchBytes
                        || open.count() >= config.batchRecordsMax)) {
            seal();
        }
        if (!open.add(record)) {
            // The limits leave less room than batchBytes, since they count header and sizes too.
            seal();
            if (!open.add(record)) {
                throw new IllegalStateException(
                        "an empty batch has no room for a record of " + record.remaining() + " bytes within " + limits);
            }
        }
        openHeldBytes += cost;
        heldBytes += cost;
        Receipt receipt = new Receipt(delivery, open.count() - 1);
        if (open.dataBytes() >= config.batchBytes || open.count() >= config.batchRecordsMax) {
            seal();
        } else if (open.count() == 1) {
            openedAtNs = System.nanoTime();
            work.signal();
        }
        return receipt;
    }

    /** Closes the open batch and queues it. */
    private void seal() {
        int records = open.count();
        if (records == 0) {
            return;
        }
        sealed.addLast(
                new QueuedBatch(open.seal(Client.nowUs(), producerId, nextSequence), records, openHeldBytes, delivery));
        nextSequence += records;
        unresolved.add(delivery);
        delivery = new Delivery();
        openHeldBytes = 0;
        work.signal();
    }

    /** Drops what is not in flight. Whoever waits for a request in flight gets that request's own outcome. */
    private void stop(RawlineException error) {
        RawlineException notSent = error instanceof StoppedException
                ? error
                : new StoppedException(
                        "the producer has stopped: " + error.getMessage()
                                + "; create a new one and send the records without an offset again",
                        error);
        delivery.fail(notSent);
        release(openHeldBytes);
        openHeldBytes = 0;
        for (QueuedBatch batch : sealed) {
            batch.delivery.fail(notSent);
            release(batch.heldBytes);
        }
        sealed.clear();
        if (stopped == null) {
            stopped = error;
        }
        work.signalAll();
        room.signalAll();
    }

    private void release(long bytes) {
        if (bytes > heldBytes) {
            throw new IllegalStateException("a batch of " + bytes + " bytes of a buffer that holds " + heldBytes);
        }
        heldBytes -= bytes;
    }

    /** A sending thread: takes the due batches and sends them, until the producer is closed or has stopped. */
    private void sendAll() {
        List<QueuedBatch> due = new ArrayList<>();
        while (true) {
            Call call = new Call();
            lock.lock();
            try {
                while (stopped == null && !takeDue(due)) {
                    awaitWork();
                }
                if (stopped != null) {
                    return;
                }
                calls.add(call);
            } catch (RuntimeException | Error error) {
                // Such as an allocation that failed. Without a thread that sends, everyone would wait forever.
                stop(bug(error));
                return;
            } finally {
                lock.unlock();
            }
            send(call, due);
            due.clear();
        }
    }

    /** Waits until a batch is sealed, or the open one has lingered. */
    private void awaitWork() {
        try {
            if (open.count() > 0) {
                work.awaitNanos(openedAtNs + Nanos.of(config.linger) - System.nanoTime());
            } else {
                work.await();
            }
        } catch (InterruptedException error) {
            stop(Call.interrupted(error));
        }
    }

    /** Takes the batches to send now; false if there are none. */
    private boolean takeDue(List<QueuedBatch> due) {
        boolean lingers = open.count() > 0 && System.nanoTime() - openedAtNs < Nanos.of(config.linger);
        if (!lingers) {
            seal();
        }
        long bytes = 0;
        while (!sealed.isEmpty()) {
            bytes += sealed.peekFirst().batch.bytes();
            if (!due.isEmpty() && bytes > config.requestBytesMax) {
                break;
            }
            due.add(sealed.pollFirst());
        }
        return !due.isEmpty();
    }

    /** Sends batches as one request, with retries, and resolves their outcomes. */
    private void send(Call call, List<QueuedBatch> batches) {
        long firstOffset = 0;
        RawlineException failed = null;
        try {
            firstOffset = append(call, batches);
        } catch (RawlineException error) {
            failed = error;
        } catch (RuntimeException | Error error) {
            failed = bug(error);
        }
        lock.lock();
        try {
            finish(call, batches);
            if (failed != null) {
                stop(failed);
            }
            room.signalAll();
        } catch (RuntimeException error) {
            failed = bug(error);
            stop(failed);
        } finally {
            lock.unlock();
        }
        // Without the lock, since dependent stages of the futures run here.
        for (QueuedBatch batch : batches) {
            if (failed == null) {
                batch.delivery.complete(firstOffset);
                firstOffset += batch.records;
            } else {
                batch.delivery.fail(failed);
            }
        }
    }

    /** Gives back what a request in flight held. */
    private void finish(Call call, List<QueuedBatch> batches) {
        calls.remove(call);
        for (QueuedBatch batch : batches) {
            if (!unresolved.remove(batch.delivery)) {
                throw new IllegalStateException("a batch of " + batch.records + " records was sent twice");
            }
            sizesBuffers.give(batch.batch.front());
            dataBuffers.give(batch.batch.data());
            release(batch.heldBytes);
        }
    }

    private static RawlineException bug(Throwable error) {
        return error instanceof VirtualMachineError
                ? new StoppedException(
                        "the producer can't continue (" + error + "); give Java more memory, or the producer a smaller"
                                + " buffer",
                        error)
                : new StoppedException(
                        "bug in the producer (" + error + "); please report it with the stack trace", error);
    }

    /** Returns the offset of the first record. */
    private long append(Call call, List<QueuedBatch> batches) {
        long records = 0;
        List<ByteBuffer> pieces = new ArrayList<>(3 * batches.size());
        for (QueuedBatch batch : batches) {
            records += batch.records;
            pieces.addAll(List.of(batch.batch.pieces()));
        }
        ByteBuffer[] body = pieces.toArray(ByteBuffer[]::new);
        Appended appended =
                Client.retry(call, config.retries, () -> client.append(call, config.exactlyOnce, topic, body));
        return client.responses().firstOffset(appended, records);
    }
}
