package io.rawline.consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.Codec;
import io.rawline.batch.Records;
import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.producer.Producer;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.Start;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The consumer against a real broker. */
class ConsumerTest {
    private static Broker broker;
    private static Client client;

    @BeforeAll
    static void start() {
        broker = Broker.start();
        client = broker.client();
    }

    @AfterAll
    static void stop() throws IOException {
        client.close();
        broker.close();
    }

    /** Creates a topic without records. */
    private static void create(String topic) {
        client.setPayload(topic, Payload.BYTES);
    }

    private static ByteBuffer numbers(Codec codec, int from, int to) {
        List<String> records = new ArrayList<>();
        for (int i = from; i < to; i++) {
            records.add(Integer.toString(i));
        }
        return Batches.build(codec, records);
    }

    @Test
    void itReadsTheConfiguredRange() {
        client.append("ranges", numbers(Codec.NONE, 0, 100));
        client.append("ranges", numbers(Codec.ZSTD, 100, 200));
        client.append("ranges", numbers(Codec.LZ4, 200, 250), numbers(Codec.NONE, 250, 300));
        Instant commit = client.topic("ranges").latestCommitAt().orElseThrow();
        Start[] starts = {
            Start.earliest(),
            Start.offset(250),
            Start.offset(5),
            Start.offset(120),
            Start.latest(),
            Start.time(commit.minusSeconds(3600)),
            Start.time(commit.plusSeconds(3600))
        };
        int[][] wanted = {{0, 300}, {250, 300}, {5, 6}, {120, 180}, {300, 300}, {0, 300}, {300, 300}};
        for (int i = 0; i < starts.length; i++) {
            for (long bytesMax : new long[] {1, 500, 1 << 20}) {
                ConsumerConfig config = new ConsumerConfig()
                        .start(starts[i])
                        .endOffset(wanted[i][1])
                        .bytesMax(bytesMax);
                int next = wanted[i][0];
                try (Consumer consumer = client.consumer("ranges", config)) {
                    for (ConsumedRecord record : consumer) {
                        assertEquals(next, record.offset());
                        assertEquals(Integer.toString(next++), record.text());
                    }
                    assertTrue(consumer.atEnd());
                    assertTrue(consumer.next().isEmpty());
                }
                assertEquals(wanted[i][1], next);
                next = wanted[i][0];
                try (Consumer consumer = client.consumer("ranges", config)) {
                    while (!consumer.atEnd()) {
                        Fetched fetched = consumer.next();
                        assertTrue(fetched.count() > 0);
                        long counted = 0;
                        for (Records records = fetched.records(); records.next(); counted++) {
                            assertEquals(next++, records.offset());
                        }
                        assertEquals(fetched.count(), counted);
                    }
                }
                assertEquals(wanted[i][1], next);
            }
        }
    }

    @Test
    void itFollowsATopic() {
        create("followed");
        try (Consumer consumer = client.consumer("followed");
                Producer producer = client.producer("followed")) {
            for (int number = 0; number < 5; number++) {
                // Times out at different points; nothing is lost.
                assertTrue(consumer.next(Duration.ofMillis(number)).isEmpty());
                assertEquals(number, producer.send(Integer.toString(number)).offset());
                ConsumedRecord record = consumer.next().iterator().next();
                assertEquals(number, record.offset());
                assertEquals(Integer.toString(number), record.text());
                assertEquals(number + 1, consumer.offset());
            }
        }
    }

    @Test
    void aResultIsValidUntilTheNextCall() {
        for (int i = 0; i < 10; i++) {
            client.append("kept", numbers(i % 2 == 0 ? Codec.NONE : Codec.ZSTD, i * 100, i * 100 + 100));
        }
        try (Consumer consumer =
                client.consumer("kept", new ConsumerConfig().bytesMax(1).endOffset(1000))) {
            while (!consumer.atEnd()) {
                List<ConsumedRecord> records = new ArrayList<>();
                consumer.next().forEach(records::add);
                // By now the next read has started, and may have ended.
                client.topic("kept");
                records.forEach(record -> assertEquals(Long.toString(record.offset()), record.text()));
            }
        }
    }

    @Test
    void itContinuesAfterACrash() throws IOException {
        try (Broker mortal = Broker.start();
                Client near = mortal.client()) {
            near.append("t", numbers(Codec.NONE, 0, 10));
            Consumer consumer = near.consumer("t");
            assertEquals(10, consumer.next().count());
            mortal.kill();
            mortal.startAgain();
            near.append("t", numbers(Codec.NONE, 10, 20));
            assertEquals("10", consumer.next().iterator().next().text());
        }
    }

    @Test
    void itContinuesAfterAnError() throws IOException {
        try (Broker mortal = Broker.start();
                Client near = mortal.client()) {
            near.append("t", numbers(Codec.NONE, 0, 10));
            ConsumerConfig config = new ConsumerConfig().retries(RetryPolicy.NONE);
            try (Consumer consumer = near.consumer("t", config)) {
                consumer.next();
                mortal.kill();
                assertTrue(assertThrows(RawlineException.class, consumer::next).isRetryable());
                mortal.startAgain();
                near.append("t", numbers(Codec.NONE, 10, 11));
                assertEquals("10", consumer.next().iterator().next().text());
            }
        }
    }

    @Test
    void receivedRecordsAreReturnedEvenIfTheNextReadCannotStart() {
        AtomicInteger tasks = new AtomicInteger(1);
        ClientConfig config = new ClientConfig(broker.url()).executor(task -> {
            if (tasks.getAndDecrement() <= 0) {
                throw new RejectedExecutionException();
            }
            task.run();
        });
        create("tired");
        try (Client tired = new Client(config);
                Consumer consumer = tired.consumer("tired")) {
            tired.append("tired", numbers(Codec.NONE, 0, 10));
            assertEquals(10, consumer.next().count());
            assertThrows(ConfigException.class, consumer::next);
            assertEquals(10, consumer.offset());
            tired.append("tired", numbers(Codec.NONE, 10, 20));
            tasks.set(1);
            assertEquals("10", consumer.next().iterator().next().text());
        }
    }

    @Test
    void anInterruptLosesNothing() throws Exception {
        create("interrupted");
        try (Consumer consumer = client.consumer("interrupted")) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedCallException.class, consumer::next);
            assertTrue(Thread.interrupted());
            client.append("interrupted", numbers(Codec.NONE, 0, 10));
            assertEquals(10, consumer.next(Duration.ofSeconds(Long.MAX_VALUE)).count());
        }
    }

    @Test
    void closingEndsAWait() {
        create("closed");
        Consumer consumer = client.consumer("closed");
        assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
        CompletableFuture<Fetched> waiting = CompletableFuture.supplyAsync(consumer::next);
        consumer.close();
        assertEquals(
                StoppedException.class,
                assertThrows(CompletionException.class, waiting::join)
                        .getCause()
                        .getClass());
        assertThrows(StoppedException.class, consumer::next);
    }

    @Test
    void itWaitsForATopicIfConfiguredTo() {
        for (Start start : List.of(Start.earliest(), Start.latest(), Start.offset(0))) {
            String topic = "later-" + start.getClass().getSimpleName();
            ConsumerConfig config = new ConsumerConfig().start(start).waitForTopic(true);
            try (Consumer consumer = client.consumer(topic, config)) {
                assertTrue(consumer.next(Duration.ofMillis(10)).isEmpty());
                client.append(topic, numbers(Codec.NONE, 0, 1));
                assertEquals("0", consumer.next().iterator().next().text());
            }
        }
    }

    @Test
    void invalidSettingsAreNamed() {
        create("t");
        assertThrows(ConfigException.class, () -> client.consumer("t", new ConsumerConfig().start(Start.offset(-1))));
        assertThrows(ConfigException.class, () -> client.consumer("t", new ConsumerConfig().bytesMax(-1)));
        for (Duration pause : List.of(Duration.ofMillis(-1), Duration.ZERO, Duration.ofNanos(999_999))) {
            assertThrows(ConfigException.class, () -> client.consumer("t", new ConsumerConfig().waitMax(pause)));
        }
        assertFalse(client.consumer("t").atEnd());
    }

    @Test
    void aConsumerReadsPartitionsThatAreAdded() {
        client.createTopic("added", Payload.BYTES, Retention.UNLIMITED, 1);
        client.append("added", numbers(Codec.NONE, 0, 3));
        ConsumerConfig curious = new ConsumerConfig().start(Start.latest());
        curious.partitionsAgeMax = Duration.ofMillis(1);
        try (Consumer consumer = client.consumer("added", curious)) {
            assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
            client.setPartitions("added", 2);
            client.append("added", 1, numbers(Codec.NONE, 0, 2));
            Fetched fetched = consumer.next();
            assertEquals(1, fetched.partition());
            // From its beginning: all its records are newer than the start.
            assertEquals(0, fetched.firstOffset());
            assertEquals(2, fetched.count());
        }
    }
}
