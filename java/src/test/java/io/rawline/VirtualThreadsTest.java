package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.producer.Producer;
import io.rawline.record.Start;
import io.rawline.testkit.Broker;
import io.rawline.testkit.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Many threads that wait at once: virtual threads on Java 21 and newer, fewer platform threads before. */
class VirtualThreadsTest {
    private static ExecutorService threads() throws ReflectiveOperationException {
        return Runtime.version().feature() < 21
                ? Executors.newCachedThreadPool()
                : (ExecutorService) Executors.class
                        .getMethod("newVirtualThreadPerTaskExecutor")
                        .invoke(null);
    }

    @Test
    void eachOfManyThreadsGetsItsOwnResult() throws Exception {
        int count = Runtime.version().feature() < 21 ? 200 : 5000;
        ExecutorService threads = threads();
        try (Broker broker = Broker.start();
                Client client = new Client(new ClientConfig(broker.url()).executor(threads));
                Producer producer = client.producer("t")) {
            List<Future<Long>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                String record = "record " + i;
                sent.add(threads.submit(() -> producer.send(record).offset()));
            }
            TreeMap<Long, String> want = new TreeMap<>();
            for (int i = 0; i < count; i++) {
                want.put(sent.get(i).get(), "record " + i);
            }
            assertEquals(new ArrayList<>(want.values()), Reading.all(client, "t"));
            readOneEach(threads, client, want);
        } finally {
            threads.shutdownNow();
        }
    }

    private static void readOneEach(ExecutorService threads, Client client, TreeMap<Long, String> want)
            throws InterruptedException, ExecutionException {
        List<Future<String>> read = new ArrayList<>();
        for (long offset : want.keySet()) {
            read.add(threads.submit(() -> {
                ConsumerConfig one =
                        new ConsumerConfig().start(Start.offset(offset)).endOffset(offset + 1);
                try (Consumer consumer = client.consumer("t", one)) {
                    return consumer.next().iterator().next().text();
                }
            }));
        }
        int next = 0;
        for (String record : want.values()) {
            assertEquals(record, read.get(next++).get());
        }
    }
}
