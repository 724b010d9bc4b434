package io.rawline.producer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.batch.Batch;
import io.rawline.batch.Limits;
import io.rawline.error.StoppedException;
import io.rawline.internal.request.ProducerInstance;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Batches by partition, without threads, a clock or a broker. */
class OutboxTest {
    private long nowNs = -5;

    private Outbox outbox(ProducerConfig config) {
        return new Outbox(
                config, Limits.DEFAULT, new ProducerInstance(7, 0), partitions -> 1 % partitions, () -> nowNs);
    }

    private static Receipt add(Outbox outbox, Route route, int bytes) {
        return outbox.add(route, ByteBuffer.allocate(bytes), null, bytes);
    }

    private static long sequence(Outbox.QueuedBatch batch) {
        ByteBuffer whole = ByteBuffer.allocate(batch.batch().bytes());
        List.of(batch.batch().pieces()).forEach(whole::put);
        return Batch.parse(whole.flip(), Limits.DEFAULT).header().sequence();
    }

    @Test
    void aBatchWaitsUntilItHasLingered() {
        Outbox outbox = outbox(new ProducerConfig().linger(Duration.ofNanos(100)));
        outbox.place(4);
        assertFalse(outbox.hasWork());
        add(outbox, Route.partition(2), 10);
        assertTrue(outbox.hasChanged());
        assertEquals(100, outbox.waitNs());
        assertNull(outbox.take());
        nowNs += 30;
        add(outbox, Route.partition(2), 10);
        assertFalse(outbox.hasChanged());
        add(outbox, Route.partition(0), 10);
        assertEquals(70, outbox.waitNs());
        nowNs += 70;
        Outbox.Due due = outbox.take();
        assertEquals(2, due.partition());
        assertEquals(2, due.batches().get(0).records());
        assertNull(outbox.take());
        assertEquals(30, outbox.waitNs());
        outbox.finish(due);
        assertEquals(14, outbox.heldBytes());
    }

    /** Without a setting, a lone record is sent at once; a batch waits while records arrive fast enough to fill it. */
    @Test
    void theFullerABatchTheLongerItWaits() {
        Outbox outbox = outbox(new ProducerConfig().batchBytes(1000).batchRecordsMax(100));
        outbox.place(3);
        add(outbox, Route.partition(0), 900);
        assertEquals(0, outbox.waitNs());
        assertEquals(1, outbox.take().batches().get(0).records());
        for (int record = 0; record < 9; record++) {
            add(outbox, Route.partition(1), 100);
        }
        assertEquals(4_500_000, outbox.waitNs());
        // By the number of records, if that fills it first. The batch that was opened later is sent earlier.
        nowNs += 1_000_000;
        for (int record = 0; record < 50; record++) {
            add(outbox, Route.partition(2), 1);
        }
        assertEquals(2_500_000, outbox.waitNs());
        assertNull(outbox.take());
        nowNs += 2_500_000;
        assertEquals(2, outbox.take().partition());
        assertEquals(1_000_000, outbox.waitNs());
        nowNs += 1_000_000;
        assertEquals(1, outbox.take().partition());
        assertEquals(Long.MAX_VALUE, outbox.waitNs());
    }

    @Test
    void aPartitionHasItsBatchesInOrderOneRequestAtATime() {
        Outbox outbox = outbox(new ProducerConfig().batchRecordsMax(2).requestBytesMax(0));
        outbox.place(2);
        for (int i = 0; i < 6; i++) {
            add(outbox, Route.partition(0), 1);
        }
        add(outbox, Route.partition(1), 1);
        add(outbox, Route.partition(1), 1);
        Outbox.Due first = outbox.take();
        assertEquals(0, first.partition());
        assertEquals(0, sequence(first.batches().get(0)));
        Outbox.Due other = outbox.take();
        assertEquals(1, other.partition());
        assertEquals(0, sequence(other.batches().get(0)));
        // Partition 0 has more, but a request in flight.
        assertNull(outbox.take());
        outbox.finish(first);
        Outbox.Due second = outbox.take();
        assertEquals(2, sequence(second.batches().get(0)));
        assertThrows(IllegalStateException.class, () -> outbox.finish(first));
    }

    @Test
    void aRequestHasBatchesOfOneKind() {
        Outbox outbox = outbox(new ProducerConfig());
        outbox.place(1);
        ProducerRecord keyed = ProducerRecord.of("value").key("k");
        add(outbox, Route.any(), 1);
        outbox.add(Route.any(), keyed.value, keyed, 100);
        add(outbox, Route.any(), 1);
        outbox.sealAll();
        add(outbox, Route.any(), 1);
        outbox.sealAll();
        List<Boolean> kinds = new ArrayList<>();
        List<Long> records = new ArrayList<>();
        long last = 0;
        while (outbox.hasWork()) {
            Outbox.Due due = outbox.take();
            kinds.add(due.isKafka());
            records.add(due.records());
            last = due.isKafka() ? 0 : sequence(due.batches().get(0));
            outbox.finish(due);
        }
        assertEquals(List.of(false, true, false), kinds);
        assertEquals(List.of(1L, 1L, 2L), records);
        assertEquals(2, last);
        assertEquals(0, outbox.heldBytes());
    }

    /** The broker counts on from the first batch of a request, in 31 bits if the next is one of Kafka's. */
    @Test
    void numbersOfKafkasBatchesStartOverInARequestOfTheirOwn() {
        Outbox outbox = outbox(new ProducerConfig().batchRecordsMax(2));
        outbox.place(1);
        outbox.startAt(0, (1L << 31) - 1);
        ProducerRecord keyed = ProducerRecord.of("value").key("k");
        for (int i = 0; i < 7; i++) {
            outbox.add(Route.any(), keyed.value, keyed, 100);
        }
        add(outbox, Route.any(), 1);
        outbox.sealAll();
        List<List<Long>> numbers = new ArrayList<>();
        while (outbox.hasWork()) {
            Outbox.Due due = outbox.take();
            numbers.add(due.batches().stream()
                    .map(batch -> due.isKafka() ? kafkaSequence(batch) : sequence(batch))
                    .toList());
            outbox.finish(due);
        }
        assertEquals(List.of(List.of((1L << 31) - 1), List.of(1L, 3L, 5L), List.of(6L)), numbers);
    }

    private static long kafkaSequence(Outbox.QueuedBatch batch) {
        return batch.batch().front().duplicate().getInt(53);
    }

    /** The broker takes what arrives first as the beginning of the sequence: nothing may overtake it. */
    @Test
    void theFirstRequestToAPartitionIsAlone() {
        ProducerConfig config =
                new ProducerConfig().batchRecordsMax(1).requestBytesMax(0).inFlightMax(2);
        Outbox outbox = outbox(config);
        outbox.place(1);
        for (int i = 0; i < 4; i++) {
            add(outbox, Route.partition(0), 1);
        }
        Outbox.Due first = outbox.take();
        assertNull(outbox.take());
        outbox.finish(first);
        assertEquals(1, sequence(outbox.take().batches().get(0)));
        assertEquals(2, sequence(outbox.take().batches().get(0)));
        assertNull(outbox.take());
    }

    @Test
    void requestsWaitForOneThatIsSentAgainWhileTheBrokerRemembersIt() {
        ProducerConfig config =
                new ProducerConfig().batchRecordsMax(1).requestBytesMax(0).inFlightMax(2);
        Outbox outbox = outbox(config);
        outbox.place(1);
        for (int i = 0; i < 8; i++) {
            add(outbox, Route.partition(0), 1);
        }
        outbox.finish(outbox.take());
        Outbox.Due lost = outbox.take();
        for (int sequence = 2; sequence < 6; sequence++) {
            Outbox.Due next = outbox.take();
            assertEquals(sequence, sequence(next.batches().get(0)));
            outbox.finish(next);
        }
        assertNull(outbox.take());
        outbox.finish(lost);
        assertEquals(6, sequence(outbox.take().batches().get(0)));
        assertEquals(7, sequence(outbox.take().batches().get(0)));
    }

    @Test
    void aPartitionThatAlwaysHasMoreTakesTurns() {
        Outbox outbox = outbox(
                new ProducerConfig().batchRecordsMax(1).requestBytesMax(0).linger(Duration.ZERO));
        outbox.place(3);
        List<Integer> turns = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            add(outbox, Route.partition(0), 1);
        }
        add(outbox, Route.partition(1), 1);
        add(outbox, Route.partition(2), 1);
        while (outbox.hasWork()) {
            Outbox.Due due = outbox.take();
            turns.add(due.partition());
            outbox.finish(due);
        }
        assertEquals(List.of(0, 1, 2, 0, 0, 0), turns);
        assertEquals(0, outbox.heldBytes());
    }

    @Test
    void recordsWithoutARouteStayTogetherForABatch() {
        Outbox outbox = outbox(new ProducerConfig().batchRecordsMax(3).linger(Duration.ZERO));
        // The number of partitions is not known yet.
        for (int i = 0; i < 7; i++) {
            add(outbox, Route.any(), 1);
        }
        assertTrue(outbox.hasUnplaced());
        assertFalse(outbox.hasWork());
        assertThrows(IllegalStateException.class, () -> add(outbox, Route.key("k"), 1));
        outbox.place(4);
        assertFalse(outbox.hasUnplaced());
        for (int i = 0; i < 8; i++) {
            add(outbox, Route.any(), 1);
        }
        List<Integer> partitions = new ArrayList<>();
        for (Outbox.Due due = outbox.take(); due != null; due = outbox.take()) {
            partitions.add(due.partition());
            due.batches().forEach(batch -> assertEquals(3, batch.records()));
        }
        // Batches 1, 2 and the open one, 3, 0, 1: partition 1 has two batches in one request.
        assertEquals(List.of(1, 2, 3, 0), partitions);
        // A flush or a linger moves on too.
        assertEquals(15L * 5, outbox.heldBytes());
        add(outbox, Route.any(), 1);
        outbox.sealAll();
        add(outbox, Route.any(), 1);
        outbox.sealAll();
        assertEquals(7, outbox.unresolved().size());
    }

    @Test
    void morePartitionsAreUsedOnceTheyAreKnown() {
        Outbox outbox = outbox(new ProducerConfig().batchRecordsMax(1).linger(Duration.ZERO));
        outbox.place(1);
        add(outbox, Route.any(), 1);
        assertEquals(0, outbox.take().partition());
        outbox.place(3);
        TreeSet<Integer> used = new TreeSet<>();
        for (int i = 0; i < 6; i++) {
            add(outbox, Route.any(), 1);
            Outbox.Due due = outbox.take();
            if (due != null) {
                used.add(due.partition());
                outbox.finish(due);
            }
        }
        assertTrue(used.containsAll(List.of(1, 2)), used.toString());
    }

    @Test
    void theBufferIsSharedAndAFullOneIsSent() {
        Outbox outbox = outbox(new ProducerConfig().linger(Duration.ofHours(1)));
        outbox.place(1024);
        for (int partition = 0; partition < 1024; partition++) {
            add(outbox, Route.partition(partition), 6);
        }
        assertEquals(10_240, outbox.heldBytes());
        assertNull(outbox.take());
        outbox.sealForRoom();
        outbox.sealForRoom();
        Outbox.Due due = outbox.take();
        assertEquals(0, due.partition());
        assertNull(outbox.take());
        outbox.sealForRoom();
        assertEquals(1, outbox.take().partition());
        outbox.finish(due);
        assertEquals(10_230, outbox.heldBytes());
    }

    @Test
    void whatIsDroppedFailsAndWhatIsInFlightDoesNot() {
        Outbox outbox = outbox(new ProducerConfig().batchRecordsMax(1));
        outbox.place(2);
        Receipt sent = add(outbox, Route.partition(0), 1);
        Outbox.Due due = outbox.take();
        Receipt sealed = add(outbox, Route.partition(0), 1);
        Receipt other = add(outbox, Route.partition(1), 1);
        outbox.drop(new StoppedException("stopped", null));
        assertThrows(StoppedException.class, sealed::offset);
        assertThrows(StoppedException.class, other::partition);
        assertEquals(5, outbox.heldBytes());
        outbox.finish(due);
        due.batches().get(0).delivery().complete(0, 41);
        assertEquals(41, sent.offset());
        assertEquals(0, sent.partition());
        assertEquals(0, outbox.heldBytes());
        assertFalse(outbox.hasWork());
        assertEquals(List.of(), outbox.unresolved());

        Outbox unplaced = outbox(new ProducerConfig().batchRecordsMax(2));
        List<Receipt> waiting = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiting.add(add(unplaced, Route.any(), 1));
        }
        unplaced.drop(new StoppedException("stopped", null));
        waiting.forEach(receipt -> assertThrows(StoppedException.class, receipt::offset));
        assertEquals(0, unplaced.heldBytes());
    }

    /** Any interleaving of adding, taking and finishing keeps the order of each partition and loses nothing. */
    @Test
    void anyInterleavingKeepsTheOrderOfEachPartition() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            Outbox outbox = outbox(new ProducerConfig()
                    .batchRecordsMax(1 + random.nextInt(5))
                    .batchBytes(1 + random.nextInt(40))
                    .requestBytesMax(random.nextInt(200))
                    .linger(Duration.ofNanos(random.nextInt(20))));
            if (random.nextBoolean()) {
                outbox.place(1 + random.nextInt(4));
            }
            List<Outbox.Due> inFlight = new ArrayList<>();
            Map<Integer, Long> next = new HashMap<>();
            long added = 0;
            long taken = 0;
            for (int step = 0; step < 400 || outbox.hasWork() || !inFlight.isEmpty(); step++) {
                nowNs += random.nextInt(10);
                if (outbox.partitions() == 0 && (random.nextInt(50) == 0 || step >= 400) || random.nextInt(100) == 0) {
                    outbox.place(Math.max(outbox.partitions(), 1 + random.nextInt(6)));
                }
                int what = random.nextInt(3);
                if (what == 0 && step < 400) {
                    boolean any = outbox.partitions() == 0 || random.nextBoolean();
                    add(outbox, any ? Route.any() : Route.key("k" + random.nextInt(9)), random.nextInt(12));
                    added++;
                } else if (what == 1) {
                    Outbox.Due due = outbox.take();
                    if (due == null) {
                        continue;
                    }
                    inFlight.forEach(other -> assertFalse(other.partition() == due.partition()));
                    for (Outbox.QueuedBatch batch : due.batches()) {
                        assertEquals(next.getOrDefault(due.partition(), 0L), sequence(batch));
                        next.merge(due.partition(), (long) batch.records(), Long::sum);
                        taken += batch.records();
                    }
                    inFlight.add(due);
                } else if (!inFlight.isEmpty()) {
                    outbox.finish(inFlight.remove(random.nextInt(inFlight.size())));
                }
            }
            if (outbox.hasUnplaced()) {
                outbox.place(3);
                outbox.sealAll();
                for (Outbox.Due due = outbox.take(); due != null; due = outbox.take()) {
                    taken += due.batches().stream()
                            .mapToInt(Outbox.QueuedBatch::records)
                            .sum();
                    outbox.finish(due);
                }
            }
            assertEquals(added, taken, "seed " + seed);
            assertEquals(0, outbox.heldBytes(), "seed " + seed);
            assertEquals(List.of(), outbox.unresolved(), "seed " + seed);
        }
    }
}
