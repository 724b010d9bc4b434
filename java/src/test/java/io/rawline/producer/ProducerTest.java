package io.rawline.producer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.BatchException;
import io.rawline.batch.BatchHeader;
import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.error.UnreachableException;
import io.rawline.record.ReadOptions;
import io.rawline.testkit.Broker;
import io.rawline.testkit.Reading;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The producer against a real broker: order, offsets, limits, failures. */
class ProducerTest {
    private static final RetryPolicy SHORT =
            new RetryPolicy(Duration.ofMillis(1), Duration.ofMillis(10), Duration.ofMillis(100));

    private static Broker broker;

    @BeforeAll
    static void start() {
        broker = Broker.start();
    }

    @AfterAll
    static void stop() throws IOException {
        broker.close();
    }

    /** Its first request describes the topic, for which any of three grants would do. */
    @Test
    void aProducerWithoutAGrantIsShownWhichOneToAdd(@TempDir Path directory) throws IOException {
        Path keys = directory.resolve("keys.toml");
        String key = Broker.addKey(keys, "reader", "--read", "t");
        try (Broker guarded = Broker.start("--keys", keys.toString());
                Client client = new Client(new ClientConfig(guarded.url()).apiKey(key))) {
            for (String topic : List.of("t", "other")) {
                RefusedException refused = assertThrows(RefusedException.class, () -> {
                    try (Producer producer = client.producer(topic)) {
                        producer.send("a").offset();
                    }
                });
                String expected = "no grant to write to topic " + topic;
                assertTrue(refused.getMessage().contains(expected), refused.getMessage());
            }
        }
    }

    @Test
    void receiptsHaveTheOffsets() {
        List<String> want = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            want.add("record " + i);
        }
        for (Codec codec : Codec.values()) {
            String topic = "receipts-" + codec;
            // Small batches, and a buffer for only a few of them, which is usually full.
            ProducerConfig config = new ProducerConfig()
                    .batchBytes(1000)
                    .batchRecordsMax(60)
                    .bufferBytes(5000)
                    .requestBytesMax(3000)
                    .codec(codec);
            try (Client client = broker.client();
                    Producer producer = client.producer(topic, config)) {
                List<Receipt> receipts = new ArrayList<>();
                List<CompletableFuture<Long>> futures = new ArrayList<>();
                for (String record : want) {
                    receipts.add(producer.send(record));
                    futures.add(receipts.get(receipts.size() - 1).future());
                }
                producer.flush();
                for (int i = 0; i < want.size(); i++) {
                    assertEquals(i, receipts.get(i).offset());
                    assertEquals(i, futures.get(i).join());
                }
                assertEquals(want, Reading.all(client, topic));
                // A second flush has no effect.
                producer.flush();
                assertEquals(5000, client.topic(topic).nextOffset());
            }
        }
    }

    @Test
    void batchesAreNumberedUnlessAskedNotToBe() {
        for (boolean exactlyOnce : List.of(true, false)) {
            String topic = "numbered-" + exactlyOnce;
            // Only full batches and the flushed one are sent, however slowly this thread runs.
            ProducerConfig config = new ProducerConfig()
                    .batchRecordsMax(3)
                    .linger(Duration.ofHours(1))
                    .exactlyOnce(exactlyOnce);
            try (Client client = broker.client();
                    Producer producer = client.producer(topic, config)) {
                for (int i = 0; i < 10; i++) {
                    producer.send("record " + i);
                }
                producer.flush();
                List<BatchHeader> headers = new ArrayList<>();
                client.read(topic, ReadOptions.from(0).recordsMax(0))
                        .batches()
                        .forEach(one -> headers.add(one.header()));
                assertEquals(4, headers.size());
                long producerId = headers.get(0).producerId();
                assertEquals(exactlyOnce, producerId != 0);
                for (int i = 0; i < headers.size(); i++) {
                    assertEquals(producerId, headers.get(i).producerId());
                    assertEquals(3 * i, headers.get(i).sequence());
                }
            }
        }
    }

    @Test
    void aRecordLongerThanBatchAndBufferIsSent() {
        try (Client client = broker.client()) {
            ProducerConfig config = new ProducerConfig().batchBytes(10).bufferBytes(10);
            List<String> want = List.of("", "a".repeat(5_000_000), "b", "c".repeat(100), "", "last");
            try (Producer producer = client.producer("long-records", config)) {
                want.subList(0, 5).forEach(producer::send);
                // A record that no batch can hold fails alone.
                ByteBuffer tooLong = ByteBuffer.allocate((int) Limits.DEFAULT.batchBytesMax());
                assertEquals(
                        "batch_limit",
                        assertThrows(BatchException.class, () -> producer.send(tooLong))
                                .code());
                producer.send("last");
            }
            assertEquals(want, Reading.all(client, "long-records"));
        }
    }

    @Test
    void aRecordIsSentWithoutAFlush() {
        for (int lingerMs : new int[] {0, 5}) {
            ProducerConfig config = new ProducerConfig().linger(Duration.ofMillis(lingerMs));
            try (Client client = broker.client();
                    Producer producer = client.producer("unflushed", config)) {
                long first = producer.send("x").offset();
                assertEquals(first + 1, producer.send("x").offset());
            }
        }
    }

    @Test
    void manySendersShareAProducer() {
        for (int inFlightMax : new int[] {1, 4}) {
            String topic = "shared-" + inFlightMax;
            ProducerConfig config = new ProducerConfig()
                    .inFlightMax(inFlightMax)
                    .batchBytes(500)
                    .bufferBytes(4000);
            try (Client client = broker.client();
                    Producer producer = client.producer(topic, config)) {
                TreeMap<Long, String> placed = new TreeMap<>();
                List<CompletableFuture<Void>> senders = new ArrayList<>();
                for (int sender = 0; sender < 8; sender++) {
                    int name = sender;
                    senders.add(CompletableFuture.runAsync(
                            () -> sendSome(producer, name, placed), task -> new Thread(task).start()));
                }
                senders.forEach(CompletableFuture::join);
                assertEquals(4000, placed.size());
                assertEquals(new ArrayList<>(placed.values()), Reading.all(client, topic));
            }
        }
    }

    private static void sendSome(Producer producer, int sender, TreeMap<Long, String> placed) {
        TreeMap<String, Receipt> receipts = new TreeMap<>();
        for (int number = 0; number < 500; number++) {
            String record = sender + " " + number;
            receipts.put(record, producer.send(record));
            if (number % 100 == 99) {
                producer.flush();
            }
        }
        receipts.forEach((record, receipt) -> {
            long offset = receipt.offset();
            synchronized (placed) {
                placed.put(offset, record);
            }
        });
    }

    @Test
    void aFullBufferBlocksTheSender() throws Exception {
        try (Broker paused = Broker.start();
                Client client = paused.client()) {
            ProducerConfig config =
                    new ProducerConfig().batchBytes(1000).bufferBytes(10_000).linger(Duration.ZERO);
            try (Producer producer = client.producer("t", config)) {
                producer.send("first").offset();
                paused.pause();
                AtomicInteger sent = new AtomicInteger();
                byte[] record = new byte[96];
                Thread sender = new Thread(() -> {
                    for (int i = 0; i < 1000; i++) {
                        producer.send(record);
                        sent.incrementAndGet();
                    }
                });
                sender.start();
                while (sent.get() < 100 || sender.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait();
                }
                // 100 bytes each with their sizes: number 101 waits for the paused broker.
                assertEquals(100, sent.get());
                paused.resume();
                sender.join();
                producer.flush();
                assertEquals(1001, client.topic("t").nextOffset());
            }
        }
    }

    @Test
    void severalSmallRequestsInFlightArriveInOrder() {
        // Without retries, a request that overtakes another is an error: it leaves a gap.
        ProducerConfig config = new ProducerConfig()
                .inFlightMax(5)
                .batchRecordsMax(1)
                .requestBytesMax(0)
                .retries(RetryPolicy.NONE);
        try (Client client = broker.client();
                Producer producer = client.producer("in-sequence", config)) {
            List<Receipt> receipts = new ArrayList<>();
            for (int i = 0; i < 3000; i++) {
                receipts.add(producer.send("record " + i));
            }
            for (int i = 0; i < 3000; i++) {
                assertEquals(i, receipts.get(i).offset());
            }
        }
    }

    @Test
    void aProducerThatFailedSendsNothingMore() throws IOException {
        try (Broker strict = Broker.start("--no-create-topics");
                Client client = strict.client()) {
            Producer producer = client.producer("t");
            Receipt receipt = producer.send("x");
            for (int i = 0; i < 2; i++) {
                assertEquals(
                        "topic_not_found",
                        assertThrows(RefusedException.class, receipt::offset).code());
            }
            assertTrue(
                    assertThrows(CompletionException.class, () -> receipt.future()
                                            .join())
                                    .getCause()
                            instanceof RefusedException);
            assertEquals(
                    "topic_not_found",
                    assertThrows(RefusedException.class, () -> producer.send("y"))
                            .code());
            assertEquals(
                    "topic_not_found",
                    assertThrows(RefusedException.class, producer::flush).code());
            assertEquals(
                    "topic_not_found",
                    assertThrows(RefusedException.class, producer::close).code());
            // Closed by a try statement after a failure in its body.
            assertThrows(RefusedException.class, () -> {
                try (Producer another = client.producer("t")) {
                    another.send("x").offset();
                }
            });
        }
    }

    @Test
    void aProducerStopsWhenItsRetriesAreExhausted() throws IOException {
        try (Broker mortal = Broker.start();
                Client client = mortal.client()) {
            ProducerConfig config = new ProducerConfig().batchBytes(10).retries(SHORT);
            Producer producer = client.producer("t", config);
            producer.send("stored").offset();
            mortal.kill();
            Receipt first = producer.send("in flight");
            assertThrows(UnreachableException.class, first::offset);
            assertThrows(UnreachableException.class, () -> producer.send("more"));
            assertThrows(UnreachableException.class, producer::close);
            // A second close has no effect.
            producer.close();
            mortal.startAgain();
            assertEquals(List.of("stored"), Reading.all(client, "t"));
        }
    }

    @Test
    void anAbandonedProducerFailsItsReceipts() throws Exception {
        try (Broker paused = Broker.start();
                Client client = paused.client()) {
            ProducerConfig config =
                    new ProducerConfig().batchBytes(4).bufferBytes(16).linger(Duration.ofHours(1));
            Producer producer = client.producer("t", config);
            paused.pause();
            List<Receipt> receipts = List.of(producer.send("sent"), producer.send("x"));
            CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> producer.send("no room"));
            CompletableFuture<Void> flushing = CompletableFuture.runAsync(producer::flush);
            producer.abandon();
            for (Receipt receipt : receipts) {
                assertThrows(StoppedException.class, receipt::offset);
            }
            for (CompletableFuture<Void> blocked : List.of(waiting, flushing)) {
                Throwable cause =
                        assertThrows(CompletionException.class, blocked::join).getCause();
                assertEquals(StoppedException.class, cause.getClass());
            }
            assertThrows(StoppedException.class, () -> producer.send("y"));
            producer.close();
            paused.resume();
        }
    }

    @Test
    void anInterruptedSenderFailsAndTheOthersContinue() throws Exception {
        try (Broker paused = Broker.start();
                Client client = paused.client()) {
            ProducerConfig config =
                    new ProducerConfig().batchBytes(4).bufferBytes(16).linger(Duration.ZERO);
            Producer producer = client.producer("t", config);
            paused.pause();
            List<Receipt> receipts = List.of(producer.send("1"), producer.send("2"), producer.send("3"));
            Thread.currentThread().interrupt();
            assertThrows(InterruptedCallException.class, () -> producer.send("no room"));
            assertTrue(Thread.currentThread().isInterrupted());
            assertThrows(InterruptedCallException.class, producer::flush);
            assertThrows(InterruptedCallException.class, receipts.get(0)::offset);
            assertTrue(Thread.interrupted());
            paused.resume();
            for (int i = 0; i < 3; i++) {
                assertEquals(i, receipts.get(i).offset());
            }
            // Paused again, so that the close has to wait.
            paused.pause();
            producer.send("4");
            Thread.currentThread().interrupt();
            assertThrows(InterruptedCallException.class, producer::close);
            assertTrue(Thread.interrupted());
            assertThrows(StoppedException.class, () -> producer.send("5"));
        }
    }

    @Test
    void theLongestDurationsAreAccepted() {
        Duration ever = Duration.ofSeconds(Long.MAX_VALUE);
        ClientConfig patient = new ClientConfig(broker.url())
                .requestTimeout(ever)
                .connectTimeout(ever)
                .retries(RetryPolicy.lasting(ever));
        ProducerConfig config = new ProducerConfig().linger(ever).retries(RetryPolicy.lasting(ever));
        try (Client client = new Client(patient);
                Producer producer = client.producer("patient", config)) {
            Receipt receipt = producer.send("x");
            producer.flush();
            assertEquals(0, receipt.offset());
        }
    }

    @Test
    void crashesKeepTheOrderAndLoseNothingAcknowledged() throws Exception {
        for (Codec codec : new Codec[] {Codec.NONE, Codec.LZ4}) {
            try (Broker mortal = Broker.start();
                    Client client = mortal.client()) {
                ProducerConfig config = new ProducerConfig()
                        .batchBytes(400)
                        .linger(Duration.ZERO)
                        .codec(codec);
                LinkedBlockingQueue<Receipt> told = new LinkedBlockingQueue<>(100);
                List<Long> offsets = new ArrayList<>();
                try (Producer producer = client.producer("t", config)) {
                    CompletableFuture<Void> sender = CompletableFuture.runAsync(() -> {
                        for (int number = 0; number < 20_000; number++) {
                            Receipt receipt = producer.send(Integer.toString(number));
                            try {
                                told.put(receipt);
                            } catch (InterruptedException error) {
                                throw new AssertionError(error);
                            }
                        }
                    });
                    for (int number = 0; number < 20_000; number++) {
                        offsets.add(told.take().offset());
                        if (number == 3000 || number == 9000 || number == 15_000) {
                            mortal.kill();
                            mortal.startAgain();
                        }
                    }
                    sender.join();
                }
                List<String> all = Reading.all(client, "t");
                for (int number = 0; number < offsets.size(); number++) {
                    assertEquals(Integer.toString(number), all.get((int) (long) offsets.get(number)));
                }
                // A batch whose response was lost may be stored twice, in sequence: the first copy of each record is
                // after the record before it.
                int next = 0;
                for (String text : all) {
                    int number = Integer.parseInt(text);
                    assertTrue(number <= next, number + " came before " + next);
                    next = Math.max(next, number + 1);
                }
                assertEquals(20_000, next);
            }
        }
    }

    @Test
    void aNullRecordIsNamed() {
        try (Client client = broker.client();
                Producer producer = client.producer("nulls")) {
            List<Executable> sends = List.of(
                    () -> producer.send((byte[]) null),
                    () -> producer.send((String) null),
                    () -> producer.send((ByteBuffer) null));
            for (Executable send : sends) {
                assertEquals(
                        "the record is null; a record without bytes is an empty array",
                        assertThrows(NullPointerException.class, send).getMessage());
            }
            assertEquals(0, producer.send(new byte[0]).offset());
        }
    }

    @Test
    void invalidSettingsAreNamed() {
        try (Client client = broker.client()) {
            ProducerConfig config = new ProducerConfig();
            assertThrows(ConfigException.class, () -> config.batchBytes(0));
            assertThrows(ConfigException.class, () -> config.batchRecordsMax(0));
            assertThrows(ConfigException.class, () -> config.bufferBytes(0));
            assertThrows(ConfigException.class, () -> config.requestBytesMax(-1));
            assertThrows(ConfigException.class, () -> config.inFlightMax(0));
            ConfigException error = assertThrows(ConfigException.class, () -> config.linger(Duration.ofMillis(-1)));
            assertEquals("linger must not be negative, not -1.0 ms", error.getMessage());
            for (ProducerConfig tooLarge :
                    List.of(new ProducerConfig().batchRecordsMax(2 << 20), new ProducerConfig().batchBytes(33 << 20))) {
                assertThrows(ConfigException.class, () -> client.producer("t", tooLarge));
            }
            ClientConfig full = new ClientConfig(broker.url()).executor(task -> {
                throw new RejectedExecutionException();
            });
            try (Client busy = new Client(full)) {
                assertThrows(ConfigException.class, () -> busy.producer("t"));
            }
        }
    }
}
