package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.batch.Codec;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RefusedException;
import io.rawline.error.UnreachableException;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.testkit.CuttingProxy;
import io.rawline.testkit.Reading;
import io.rawline.topic.Appended;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Small appends of many threads that share a client, against a real broker. */
class ConcurrentAppendsTest {
    private static final int THREADS = 32;

    /** The work of one thread, given its number. */
    private interface Work {
        void run(int thread);
    }

    private static void inThreads(int threads, Work work) throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int thread = i;
                ends.add(pool.submit(() -> work.run(thread)));
            }
            for (Future<?> end : ends) {
                end.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    private static Appended append(Client client, String record) {
        byte[] bytes = record.getBytes();
        return client.appendRecords("t", new int[] {bytes.length}, ByteBuffer.wrap(bytes));
    }

    /** Each thread appends records one by one; then each offset has its record, and there are no others. */
    static void appendAndCompare(Client client, int threads, int each) throws Exception {
        Map<Long, String> stored = new ConcurrentHashMap<>();
        inThreads(threads, thread -> {
            for (int i = 0; i < each; i++) {
                String record = thread + "/" + i;
                Appended appended = append(client, record);
                assertEquals(appended.firstOffset() + 1, appended.nextOffset());
                assertNull(stored.put(appended.firstOffset(), record));
            }
        });
        List<String> all = Reading.all(client, "t");
        assertEquals(threads * each, all.size());
        for (int offset = 0; offset < all.size(); offset++) {
            assertEquals(stored.get((long) offset), all.get(offset));
        }
    }

    @Test
    void theyShareAConnectionAndEachGetsItsOffset() throws Exception {
        try (Broker broker = Broker.start();
                CuttingProxy proxy = new CuttingProxy(broker.url(), Integer.MAX_VALUE);
                Client client = new Client(proxy.url())) {
            appendAndCompare(client, THREADS, 200);
            // Usually two: the one of a request that was alone, and one for all others. One more after each stall of 20
            // ms.
            assertTrue(proxy.connections() <= THREADS / 2, proxy.connections() + " connections");
        }
    }

    @Test
    void futuresShareAConnectionToo() throws Exception {
        int count = 1000;
        try (Broker broker = Broker.start();
                Client client = broker.client()) {
            List<CompletableFuture<Appended>> futures = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                futures.add(client.appendAsync("t", Batches.build(Codec.NONE, List.of("record " + i))));
            }
            List<String> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                all.add(null);
            }
            for (int i = 0; i < count; i++) {
                assertNull(all.set((int) futures.get(i).join().firstOffset(), "record " + i));
            }
            assertEquals(all, Reading.all(client, "t"));
        }
    }

    @Test
    void aDamagedBatchFailsAlone() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        try (Broker broker = Broker.start();
                Client client = broker.client()) {
            inThreads(THREADS, thread -> {
                for (int i = 0; i < 50; i++) {
                    ByteBuffer batch = Batches.build(Codec.NONE, List.of(thread + "/" + i));
                    if (i % 7 == 3) {
                        batch.put(batch.limit() - 1, (byte) 1);
                        assertThrows(RefusedException.class, () -> client.append("t", batch));
                        refused.incrementAndGet();
                    } else {
                        client.append("t", batch);
                    }
                }
            });
            assertEquals(50 * THREADS, Reading.all(client, "t").size() + refused.get());
        }
    }

    @Test
    void aBrokerThatDiesLosesNothingThatItHasAcknowledged() throws Exception {
        Map<Long, String> stored = new ConcurrentHashMap<>();
        Set<String> unknown = ConcurrentHashMap.newKeySet();
        try (Broker mortal = Broker.start();
                Client client = mortal.client()) {
            CompletableFuture<Void> killed = CompletableFuture.runAsync(() -> {
                try {
                    for (int deaths = 1; deaths <= 3; deaths++) {
                        while (stored.size() < 1000 * deaths) {
                            Thread.sleep(1);
                        }
                        mortal.kill();
                        mortal.startAgain();
                    }
                } catch (Exception error) {
                    throw new AssertionError(error);
                }
            });
            inThreads(THREADS, thread -> {
                for (int i = 0; stored.size() < 4000 || !killed.isDone(); i++) {
                    String record = thread + "/" + i;
                    try {
                        assertNull(stored.put(append(client, record).firstOffset(), record));
                    } catch (ConnectionBrokenException error) {
                        unknown.add(record);
                    } catch (UnreachableException error) {
                        // Not sent, so not stored: it is found below if that is wrong.
                        Thread.yield();
                    }
                }
            });
            killed.join();
            List<String> all = Reading.all(client, "t");
            Set<String> distinct = new HashSet<>(all);
            assertEquals(all.size(), distinct.size());
            stored.forEach((offset, record) -> assertEquals(record, all.get((int) (long) offset)));
            distinct.removeAll(stored.values());
            assertTrue(unknown.containsAll(distinct), distinct + " are stored without being in flight");
        }
    }
}
