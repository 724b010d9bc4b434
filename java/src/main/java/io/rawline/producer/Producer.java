package io.rawline.producer;

import io.rawline.batch.BatchException;
import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import io.rawline.error.FencedException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.internal.http.Call;
import io.rawline.internal.request.Attempts;
import io.rawline.internal.request.ProducerInstance;
import io.rawline.internal.request.Requests;
import io.rawline.internal.request.Responses;
import io.rawline.internal.setting.Nanos;
import io.rawline.internal.setting.Settings;
import io.rawline.topic.Appended;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;

/**
 * Appends records to one topic. The records of a partition are stored in the order in which they are sent.
 *
 * <pre>
 * send ─► open batch of the partition ─► its sealed batches ─► one request at a time ─► offsets
 *         (until full, or linger)                              (all that is sealed by then)
 * </pre>
 *
 * <p><b>Partitions.</b> A {@link Route} chooses the partition of a record. Without one, all records of a batch go to
 * one partition, and those of the next batch to another. The topic's number of partitions is read before the first
 * request, again every 5 minutes, and when the broker or a route shows that it has changed. Requests to up to 64
 * partitions are in flight at a time.
 *
 * <p><b>Exactly once.</b> When a connection breaks after a request was sent, the producer can't know whether the broker
 * stored its records, and retries it. The broker recognizes its batches by the producer's id and their sequence in
 * their partition, and stores them once, even if it was killed in between.
 *
 * <p><b>Named producers.</b> When a process restarts, it can't know what its predecessor had in flight. A producer with
 * the same {@linkplain ProducerConfig#name name} fences the previous one: records that it had in flight are stored
 * before the first record of the new one, or never, in every partition. The older one stops with {@link
 * FencedException}.
 *
 * <p><b>At least once</b> with {@link ProducerConfig#exactlyOnce exactlyOnce(false)}. If only the response was lost, a
 * retry stores the records again, directly after the first copy.
 *
 * <p><b>Failure.</b> When a request is refused, or its retries are exhausted, the producer stops: records that are not
 * in flight are not sent, to no partition, so that no later record is stored after a missing one. From then on every
 * receipt, {@code send}, {@code flush} and {@code close} throws the error.
 *
 * <p>Thread-safe, for virtual threads too.
 */
public final class Producer implements AutoCloseable {
    /** Maximum number of requests in flight, each of which needs a thread and a connection. */
    private static final int REQUESTS_MAX = 64;

    private final Requests client;
    private final String topic;
    private final ProducerConfig config;
    private final Limits limits;

    /** Held while a record is copied or a batch is compressed; never while waiting for the broker. */
    private final ReentrantLock lock = new ReentrantLock();
    /** There is work for a sending thread. */
    private final Condition work = lock.newCondition();
    /** Something was stored, the number of partitions was read, or the producer has stopped. */
    private final Condition room = lock.newCondition();

    private final Outbox outbox;
    private final ProducerRequests requests;
    /** The requests in flight. */
    private final Set<Call> calls = new HashSet<>();
    /** Number of sending threads, and of those that wait for work. */
    private int senders;

    private int sendersIdle;
    /** How often the number of partitions was read, and when the last time. */
    private long partitionsReads;

    private long partitionsReadAtNs;
    /** Whether a thread reads it now. */
    private boolean readingPartitions;
    /** It is to be read until it was read this often. */
    private long partitionsReadsWanted;

    /** Whether the topic didn't exist when the number was read: the first append creates it, or another client. */
    private boolean partitionsGuessed;

    private boolean closing;
    private RawlineException stopped;

    /**
     * The next task of a sending thread: send, or, if there is nothing to send, read the number of partitions.
     *
     * @param sending the request to send, or null
     */
    private record Job(Call call, ProducerRequests.Sending sending) {}

    /**
     * A client's {@code producer} makes one.
     *
     * @param client the client's requests
     * @param topic the topic it appends to
     * @param config the settings, which are copied
     * @hidden
     */
    @SuppressWarnings("exports")
    public Producer(Requests client, String topic, ProducerConfig config) {
        this.client = client;
        this.topic = Settings.notNull("topic", topic);
        this.config = new ProducerConfig(Settings.notNull("config", config));
        this.limits = client.limits();
        this.config.check(limits);
        ThreadLocalRandom random = ThreadLocalRandom.current();
        ProducerInstance instance = instance(random);
        int offset = random.nextInt(Settings.PARTITIONS_MAX);
        outbox = new Outbox(this.config, limits, instance, partitions -> offset % partitions, System::nanoTime);
        requests = new ProducerRequests(client.appends(), topic, instance.epoch(), config.inFlightMax);
        senders = config.inFlightMax;
        for (int i = 0; i < config.inFlightMax; i++) {
            try {
                client.executor().execute(() -> sendAll(true));
            } catch (RejectedExecutionException error) {
                abandon();
                throw new ConfigException(
                        "the client's executor rejects tasks; give the client one that accepts them", error);
            }
        }
    }

    /** The identity of this producer. With a name, fences the instances before it. */
    private ProducerInstance instance(RandomGenerator random) {
        if (config.name != null) {
            return client.openProducer(config.retries, config.name);
        }
        // An id that is new has no earlier instance. The ids of names are smaller.
        return config.exactlyOnce
                ? new ProducerInstance(random.nextLong(1L << 62, Long.MAX_VALUE), 0)
                : new ProducerInstance(0, ProducerInstance.NO_EPOCH);
    }

    /**
     * Adds a record to the open batch; waits while the buffer is full. The record is stored when its receipt resolves,
     * or when {@link #flush} has returned.
     *
     * @param record its bytes, which are copied; empty is a record too
     * @return its receipt
     * @throws BatchException {@code batch_limit}: no batch can hold the record; the producer continues
     * @throws InterruptedCallException the thread was interrupted while it waited for room; the record was not added
     * @throws RawlineException why the producer has stopped
     */
    public Receipt send(byte[] record) {
        return send(record, config.route);
    }

    /**
     * As {@link #send(byte[])}, of a text in UTF-8.
     *
     * @param record the text
     * @return its receipt
     */
    public Receipt send(String record) {
        return send(record, config.route);
    }

    /**
     * As {@link #send(byte[])}, of a buffer's bytes from its position to its limit.
     *
     * @param record the buffer, which is copied; its position is not changed
     * @return its receipt
     */
    public Receipt send(ByteBuffer record) {
        return send(record, config.route);
    }

    /**
     * As {@link #send(byte[])}, to the partition of a key, or to one partition. The first such call waits until the
     * topic's number of partitions is known.
     *
     * @param record its bytes, which are copied; empty is a record too
     * @param route such as {@code Route.key("user-17")} or {@code Route.partition(3)}
     * @return its receipt
     * @throws RefusedException with the code {@code partition_not_found}: the topic doesn't have the partition; the
     *     producer continues
     */
    public Receipt send(byte[] record, Route route) {
        return send(ByteBuffer.wrap(notNull(record)), route);
    }

    /**
     * As {@link #send(byte[], Route)}, of a text in UTF-8.
     *
     * @param record the text
     * @param route such as {@code Route.key("user-17")} or {@code Route.partition(3)}
     * @return its receipt
     */
    public Receipt send(String record, Route route) {
        return send(notNull(record).getBytes(StandardCharsets.UTF_8), route);
    }

    /**
     * As {@link #send(byte[], Route)}, of a buffer's bytes from its position to its limit.
     *
     * @param record the buffer, which is copied; its position is not changed
     * @param route such as {@code Route.key("user-17")} or {@code Route.partition(3)}
     * @return its receipt
     */
    public Receipt send(ByteBuffer record, Route route) {
        // Before the record is added, so that one which no batch can hold fails only for its sender.
        limits.checkRecord(notNull(record).remaining());
        return add(record, null, record.remaining(), route);
    }

    /**
     * As {@link #send(byte[])}, of a record with a key, headers or a time. Unless {@link ProducerConfig#partition} says
     * otherwise, a key chooses the partition.
     *
     * @param record the record, which is copied
     * @return its receipt
     */
    public Receipt send(ProducerRecord record) {
        return send(record, notNull(record).route(config.route));
    }

    /**
     * As {@link #send(ProducerRecord)}, to a partition that the route chooses.
     *
     * @param record the record, which is copied
     * @param route such as {@code Route.partition(3)}
     * @return its receipt
     */
    public Receipt send(ProducerRecord record, Route route) {
        return notNull(record).isPlain()
                ? send(record.value, route)
                : add(record.value, record, record.bytesMax(limits), route);
    }

    private Receipt add(ByteBuffer value, ProducerRecord fields, int bytes, Route route) {
        Settings.notNull("route", route);
        long cost = Outbox.cost(bytes);
        lock.lock();
        try {
            checkHealthy();
            awaitPartitions(route);
            // A record of any length is added when the buffer is empty.
            while (outbox.heldBytes() > 0 && outbox.heldBytes() + cost > config.bufferBytes) {
                outbox.sealForRoom();
                signalWork();
                room.await();
                checkHealthy();
            }
            Receipt receipt = outbox.add(route, value, fields, bytes);
            if (outbox.hasChanged()) {
                signalWork();
            }
            return receipt;
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

    /** Waits until the number of partitions is known, if the route needs it, and has the route's partition. */
    private void awaitPartitions(Route route) throws InterruptedException {
        if (route instanceof Route.Any) {
            return;
        }
        int needed = route instanceof Route.Partition at ? at.number() + 1 : 1;
        // The read in flight may return an outdated number.
        long wanted = partitionsReads + (readingPartitions ? 2 : 1);
        while (outbox.partitions() < needed) {
            if (partitionsReads >= wanted) {
                throw Responses.noPartition(topic, needed - 1, outbox.partitions());
            }
            partitionsReadsWanted = Math.max(partitionsReadsWanted, wanted);
            signalWork();
            room.await();
            checkHealthy();
        }
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
            outbox.sealAll();
            signalWork();
            waited = outbox.unresolved();
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
     * Ends the producer without sending its pending records. Requests in flight are cancelled, though the broker may
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
            outbox.unresolved().forEach(waiting -> waiting.fail(abandoned));
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
            return "producer of " + topic + ", " + outbox.heldBytes() + " bytes not stored yet"
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

    /** Drops the records that aren't in flight. Callers that wait for a request in flight get its own outcome. */
    private void stop(RawlineException error) {
        RawlineException notSent = error instanceof StoppedException
                ? error
                : new StoppedException(
                        "the producer has stopped: " + error.getMessage()
                                + "; create a new one and send the records without an offset again",
                        error);
        outbox.drop(notSent);
        if (stopped == null) {
            stopped = error;
        }
        work.signalAll();
        room.signalAll();
    }

    /** Starts the due work on a waiting thread, or on a new one. */
    private void signalWork() {
        if (sendersIdle > 0) {
            work.signal();
        } else if (senders < Math.max(REQUESTS_MAX, config.inFlightMax) && (outbox.hasWork() || isReadDue())) {
            addSender();
        }
    }

    private void addSender() {
        senders++;
        try {
            client.executor().execute(() -> sendAll(false));
        } catch (RejectedExecutionException | OutOfMemoryError error) {
            // The threads that there are do the work, one request after the other.
            senders--;
        }
    }

    /** A sending thread: does one job after the other until the producer has stopped or, if added, without work. */
    private void sendAll(boolean lasting) {
        for (Job job = nextJob(lasting); job != null; job = nextJob(lasting)) {
            if (job.sending == null) {
                readPartitions(job.call);
            } else {
                send(job.call, job.sending);
            }
        }
    }

    /** Waits for the next job; null if the thread ends. */
    private Job nextJob(boolean lasting) {
        lock.lock();
        try {
            Job job = findJob(lasting);
            if (job == null) {
                senders--;
            }
            return job;
        } catch (RuntimeException | Error error) {
            // Such as an allocation that failed. Without a thread that sends, everyone would wait forever.
            stop(bug(error));
            senders--;
            return null;
        } finally {
            lock.unlock();
        }
    }

    private Job findJob(boolean lasting) {
        while (stopped == null) {
            boolean reads = isReadDue();
            Outbox.Due due = reads || !requests.canBegin() ? null : outbox.take();
            if (reads || due != null) {
                readingPartitions |= reads;
                Call call = new Call();
                Job job = new Job(call, reads ? null : requests.begin(call, due));
                calls.add(call);
                // There may be more, which must not wait for this one.
                signalWork();
                return job;
            }
            if (!lasting && !outbox.hasWork()) {
                return null;
            }
            awaitWork();
        }
        return null;
    }

    /** Waits until there is work, or a batch has lingered, and a request can begin. */
    private void awaitWork() {
        long waitNs = requests.canBegin() ? outbox.waitNs() : Long.MAX_VALUE;
        sendersIdle++;
        try {
            if (waitNs == Long.MAX_VALUE) {
                work.await();
            } else if (waitNs > 0) {
                work.awaitNanos(waitNs);
            }
        } catch (InterruptedException error) {
            stop(Call.interrupted(error));
        } finally {
            sendersIdle--;
        }
    }

    /** Whether the number of partitions is to be read now. */
    private boolean isReadDue() {
        if (readingPartitions) {
            return false;
        }
        if (partitionsReads < partitionsReadsWanted || outbox.hasUnplaced()) {
            return true;
        }
        return outbox.partitions() > 0
                && outbox.hasWork()
                && System.nanoTime() - partitionsReadAtNs >= Nanos.of(config.partitionsAgeMax);
    }

    /** Reads the number of partitions. If it is only to be kept current, a failure is not an error. */
    private void readPartitions(Call call) {
        int known = knownPartitions();
        int found = 0;
        boolean guessed = false;
        RawlineException failed = null;
        try {
            found = client.topics()
                    .topic(call, known == 0 ? config.retries : RetryPolicy.NONE, topic)
                    .partitions();
        } catch (RefusedException error) {
            if (error instanceof TopicNotFoundException || error.code().equals("grant_missing")) {
                // The first append creates the topic, or gets an error: with a key that doesn't see the topic, one that
                // names the missing grant.
                found = Math.max(1, known);
                guessed = true;
            } else {
                failed = error;
            }
        } catch (RawlineException error) {
            failed = error;
        } catch (RuntimeException | Error error) {
            failed = bug(error);
        }
        lock.lock();
        try {
            calls.remove(call);
            readingPartitions = false;
            if (failed == null || known > 0) {
                learnPartitions(failed == null ? found : known);
                partitionsGuessed = guessed;
            } else {
                outbox.dropUnplaced(failed);
                stop(failed);
            }
        } catch (RuntimeException | Error error) {
            stop(bug(error));
        } finally {
            lock.unlock();
        }
    }

    /** The number of partitions; 0 if it isn't known, or if a caller waits for it. */
    private int knownPartitions() {
        lock.lock();
        try {
            return partitionsReads < partitionsReadsWanted ? 0 : outbox.partitions();
        } finally {
            lock.unlock();
        }
    }

    private void learnPartitions(int partitions) {
        outbox.place(partitions);
        partitionsReads++;
        partitionsReadAtNs = System.nanoTime();
        room.signalAll();
    }

    /** Sends batches as one request, with retries, and resolves their outcomes. */
    private void send(Call call, ProducerRequests.Sending sending) {
        Outbox.Due due = sending.due();
        long firstOffset = 0;
        RawlineException failed = null;
        try {
            firstOffset = append(call, sending);
        } catch (RawlineException error) {
            failed = error;
        } catch (RuntimeException | Error error) {
            failed = bug(error);
        }
        lock.lock();
        try {
            calls.remove(call);
            outbox.finish(due);
            if (requests.end()) {
                // Others wait for this.
                signalWork();
            }
            if (failed != null) {
                stop(failed);
            } else if (partitionsGuessed) {
                // Now the topic exists, perhaps with more partitions: what was read counts as old.
                partitionsGuessed = false;
                partitionsReadAtNs = System.nanoTime() - Nanos.of(config.partitionsAgeMax);
            }
            room.signalAll();
        } catch (RuntimeException error) {
            failed = bug(error);
            stop(failed);
        } finally {
            lock.unlock();
        }
        // Without the lock, since dependent stages of the futures run here.
        for (Outbox.QueuedBatch batch : due.batches()) {
            if (failed == null) {
                batch.delivery().complete(due.partition(), firstOffset);
                firstOffset += batch.records();
            } else {
                batch.delivery().fail(failed);
            }
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
    private long append(Call call, ProducerRequests.Sending sending) {
        Outbox.Due due = sending.due();
        Appended appended;
        try {
            appended = Attempts.retry(call, config.retries, sending.first(), sending.again());
        } catch (RefusedException error) {
            if (!error.code().equals("partition_not_found") || !existsNow(call, due.partition())) {
                throw error;
            }
            appended = Attempts.retry(call, config.retries, sending.again());
        }
        return client.responses().firstOffset(appended, due.records());
    }

    /** Reads the number of partitions again, after the broker said that it has changed. */
    private boolean existsNow(Call call, int partition) {
        int partitions = client.topics().topic(call, config.retries, topic).partitions();
        lock.lock();
        try {
            learnPartitions(partitions);
        } finally {
            lock.unlock();
        }
        return partition < partitions;
    }
}
