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
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Appends records to one topic, in the order in which they are sent.
 *
 * <pre>
 * send ─► open batch ─► sealed batches ─► one request at a time ─► offsets
 *         (full, or lingered long enough)   (all that waits goes together)
 * </pre>
 *
 * <p><b>At least once.</b> When a connection breaks after a request was sent, nobody knows whether it was carried
 * out, so it is sent again; if only the answer was lost, its records are then in the topic twice, side by side.
 *
 * <p><b>Failure.</b> When a request is refused, or fails for longer than the retries last, the producer stops: what it
 * still holds is not sent, so that no later record takes the place of a missing one; every receipt, {@code send},
 * {@code flush} and {@code close} from then on gives the error.
 *
 * <p>For any number of threads at once, virtual ones too.
 */
public final class Producer implements AutoCloseable {
    private final Client client;
    private final String topic;
    private final ProducerConfig config;
    private final Limits limits;

    /** Held for the time of a copy, or of a batch's compression; never while waiting for the broker. */
    private final ReentrantLock lock = new ReentrantLock();
    /** There is something to do for a sending thread. */
    private final Condition work = lock.newCondition();
    /** Something was stored, or the producer has stopped. */
    private final Condition room = lock.newCondition();

    private final Buffers sizesBuffers;
    private final Buffers dataBuffers;
    private final BatchBuilder open;
    /** When the open batch got its first record, by {@link System#nanoTime}. */
    private long openedAtNs;
    /** Told of the open batch. */
    private Delivery delivery = new Delivery();

    private final Deque<Queued> sealed = new ArrayDeque<>();
    /** Told of the batches that are sealed or on their way, in order. */
    private final List<Delivery> untold = new ArrayList<>();
    /** Of the requests on their way. */
    private final Set<Call> calls = new HashSet<>();
    /** What the open batch's records cost, and what all cost that are not stored yet: open, sealed or on their way. */
    private long openHeldBytes;

    private long heldBytes;
    private boolean closing;
    private RawlineException stopped;

    /** A batch on its way. */
    private record Queued(SealedBatch batch, int records, long heldBytes, Delivery delivery) {}

    /**
     * Starts a producer. Sends nothing by itself.
     *
     * @param client how it reaches the broker; stays the caller's
     * @param topic the topic it appends to
     * @param config the settings, of which it takes a copy
     * @throws ConfigException a setting that can't be
     */
    public Producer(Client client, String topic, ProducerConfig config) {
        this.client = Objects.requireNonNull(client, "client");
        this.topic = Objects.requireNonNull(topic, "topic");
        this.config = new ProducerConfig(config);
        this.limits = client.limits();
        this.config.check(limits);
        sizesBuffers = new Buffers(config.bufferBytes);
        dataBuffers = new Buffers(config.bufferBytes);
        open = new BatchBuilder(config.codec, limits, sizesBuffers, dataBuffers);
        for (int i = 0; i < config.inFlightMax; i++) {
            try {
                client.executor().execute(this::sendAll);
            } catch (RejectedExecutionException error) {
                abandon();
                throw new ConfigException("the client's executor takes no more tasks; give it one that does", error);
            }
        }
    }

    /**
     * Takes a record in; waits while the buffer is full. The record is stored when its receipt says so, or when
     * {@link #flush} has returned.
     *
     * @param record its bytes, copied
     * @return its receipt
     * @throws BatchException {@code batch_limit}: no batch can hold the record; the producer goes on
     * @throws InterruptedCallException the thread was interrupted while it waited for room; the record was not taken in
     * @throws RawlineException why the producer has stopped
     */
    public Receipt send(byte[] record) {
        return send(ByteBuffer.wrap(record));
    }

    /**
     * As {@link #send(byte[])}, of a text in UTF-8.
     *
     * @param record the text
     * @return its receipt
     */
    public Receipt send(String record) {
        return send(record.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * As {@link #send(byte[])}, of a buffer's bytes from its position to its limit.
     *
     * @param record the buffer; copied and not moved on
     * @return its receipt
     */
    public Receipt send(ByteBuffer record) {
        // Before the record is taken in, so that one which no batch can hold fails only for its sender.
        limits.checkRecord(record.remaining());
        // What a record counts for in the buffer: itself and its size.
        long cost = record.remaining() + 4L;
        lock.lock();
        try {
            checkHealthy();
            // Whatever its length, a record gets in when nothing else is there.
            while (heldBytes > 0 && heldBytes + cost > config.bufferBytes) {
                // What is open must go out for room to come.
                if (sealed.isEmpty()) {
                    seal();
                }
                room.await();
                checkHealthy();
            }
            return take(record, cost);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until every record taken in so far is stored.
     *
     * @throws RawlineException why one is not stored, or not known to be
     */
    public void flush() {
        List<Delivery> waited;
        lock.lock();
        try {
            checkHealthy();
            seal();
            waited = List.copyOf(untold);
        } finally {
            lock.unlock();
        }
        waited.forEach(Delivery::await);
    }

    /**
     * As {@link #flush}, and ends the producer. It ends it also where an error is thrown: what is not on its way by
     * then, as when the waiting thread is interrupted, is not sent, and its receipts say so.
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
                stop(new StoppedException("the producer is closed; make a new one", null));
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Ends the producer without sending what it still holds. A request on its way is given up, though it may have been
     * carried out.
     */
    public void abandon() {
        lock.lock();
        try {
            closing = true;
            RawlineException abandoned = new StoppedException(
                    "the producer was abandoned before it was closed; make a"
                            + " new one and send again what has no offset",
                    null);
            untold.forEach(waiting -> waiting.tell(abandoned));
            stop(abandoned);
            calls.forEach(Call::cancel);
        } finally {
            lock.unlock();
        }
    }

    /**
     * What it appends to, for people.
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

    /** The failure that stopped the producer, for one more who has to know. */
    private void checkHealthy() {
        if (stopped != null) {
            throw stopped.copy();
        }
    }

    /** Takes a record in for which there is room. */
    private Receipt take(ByteBuffer record, long cost) {
        if (open.count() > 0
                && (open.dataBytes() + (long) record.remaining() > config.batchBytes
                        || open.count() >= config.batchRecordsMax)) {
            seal();
        }
        if (!open.add(record)) {
            // The batch's limits are lower than its usual length.
            seal();
            if (!open.add(record)) {
                throw new IllegalStateException("an empty batch has no room for a record of " + record.remaining()
                        + " bytes, though it is within " + limits);
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
        Queued batch = new Queued(open.seal(Client.nowUs(), 0, 0), records, openHeldBytes, delivery);
        untold.add(delivery);
        sealed.addLast(batch);
        delivery = new Delivery();
        openHeldBytes = 0;
        work.signal();
    }

    /** What it holds will not be sent. Those who wait for a request that is on its way learn of its own end. */
    private void stop(RawlineException error) {
        RawlineException notSent = error instanceof StoppedException
                ? error
                : new StoppedException(
                        "the producer has stopped: " + error.getMessage()
                                + "; make a new one and send again what has no offset",
                        error);
        delivery.tell(notSent);
        sealed.forEach(batch -> batch.delivery.tell(notSent));
        sealed.clear();
        heldBytes = 0;
        if (stopped == null) {
            stopped = error;
        }
        work.signalAll();
        room.signalAll();
    }

    /** A sending thread: takes what is due and sends it until the producer is closed or has stopped. */
    private void sendAll() {
        List<Queued> due = new ArrayList<>();
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
                // Such as memory that is short; nobody would be left to send, and all would wait for ever.
                stop(mistake(error));
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

    /** Takes out what is to be sent now; false if that is nothing. */
    private boolean takeDue(List<Queued> due) {
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

    /** Sends batches as one request, again while that may help, and tells those who wait. */
    private void send(Call call, List<Queued> batches) {
        long firstOffset = 0;
        RawlineException failed = null;
        try {
            firstOffset = append(call, batches);
        } catch (RawlineException error) {
            failed = error;
        } catch (RuntimeException | Error error) {
            failed = mistake(error);
        }
        lock.lock();
        try {
            calls.remove(call);
            for (Queued batch : batches) {
                untold.remove(batch.delivery);
                sizesBuffers.give(batch.batch.front());
                dataBuffers.give(batch.batch.data());
                // A producer that stopped meanwhile counts from zero again.
                heldBytes = Math.max(0, heldBytes - batch.heldBytes);
            }
            if (failed != null) {
                stop(failed);
            }
            room.signalAll();
        } finally {
            lock.unlock();
        }
        // Without the lock, since what others hung on these runs here.
        for (Queued batch : batches) {
            if (failed == null) {
                batch.delivery.tell(firstOffset);
                firstOffset += batch.records;
            } else {
                batch.delivery.tell(failed);
            }
        }
    }

    private static RawlineException mistake(Throwable error) {
        return error instanceof VirtualMachineError
                ? new StoppedException(
                        "the producer can't go on (" + error
                                + "); give Java more memory, or the producer a smaller buffer",
                        error)
                : new StoppedException("the producer has a mistake in it (" + error + "); please report this", error);
    }

    /** The offset of the first record. */
    private long append(Call call, List<Queued> batches) {
        long records = 0;
        List<ByteBuffer> pieces = new ArrayList<>(3 * batches.size());
        for (Queued batch : batches) {
            records += batch.records;
            pieces.addAll(List.of(batch.batch.pieces()));
        }
        ByteBuffer[] body = pieces.toArray(ByteBuffer[]::new);
        Attempts attempts = new Attempts(config.retries);
        while (true) {
            try {
                Appended appended = client.append(call, topic, body);
                if (appended.nextOffset() - appended.firstOffset() != records) {
                    throw client.notABrokers(appended + " for an append of " + records + " records");
                }
                return appended.firstOffset();
            } catch (RawlineException error) {
                long wait = attempts.waitAfter(error, System.nanoTime());
                if (wait == Attempts.GIVE_UP) {
                    throw error;
                }
                call.sleep(wait);
            }
        }
    }
}
