package io.rawline.producer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.batch.Codec;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConfigException;
import io.rawline.error.ErrorKind;
import io.rawline.error.FencedException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.record.Start;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.testkit.CuttingProxy;
import io.rawline.testkit.S3Server;
import io.rawline.topic.Appended;
import io.rawline.topic.Extent;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.Trimmed;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Topics of several partitions against a real broker. */
class PartitionsTest {
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

    private static void create(String topic, int partitions) {
        client.createTopic(topic, Payload.BYTES, Retention.UNLIMITED, partitions);
    }

    private static ByteBuffer numbers(int from, int to) {
        List<String> records = new ArrayList<>();
        for (int i = from; i < to; i++) {
            records.add(Integer.toString(i));
        }
        return Batches.build(Codec.NONE, records);
    }

    /** The records of each partition until now. */
    private static Map<Integer, List<String>> readAll(Client client, String topic) {
        Map<Integer, List<String>> all = new TreeMap<>();
        ConsumerConfig untilNow = new ConsumerConfig().endAt(client.topic(topic));
        try (Consumer consumer = client.consumer(topic, untilNow)) {
            for (ConsumedRecord record : consumer) {
                List<String> records = all.computeIfAbsent(record.partition(), partition -> new ArrayList<>());
                assertEquals(records.size(), record.offset());
                records.add(record.text());
            }
        }
        return all;
    }

    @Test
    void everyKeysRecordsAreInOrderInItsPartition() {
        create("keys", 4);
        ProducerConfig config = new ProducerConfig().batchRecordsMax(50).bufferBytes(20_000);
        Map<String, Receipt> receipts = new HashMap<>();
        try (Producer producer = client.producer("keys", config)) {
            for (int i = 0; i < 5000; i++) {
                String key = "key-" + i % 37;
                receipts.put(key + " " + i, producer.send(key + " " + i, Route.key(key)));
            }
        }
        Map<Integer, List<String>> all = readAll(client, "keys");
        assertEquals(List.of(0, 1, 2, 3), List.copyOf(all.keySet()));
        Map<String, Integer> latest = new HashMap<>();
        all.forEach((partition, records) -> {
            for (int offset = 0; offset < records.size(); offset++) {
                String[] parts = records.get(offset).split(" ");
                assertEquals(Partitioner.partition(parts[0].getBytes(), 4), partition);
                int number = Integer.parseInt(parts[1]);
                assertTrue(latest.getOrDefault(parts[0], -1) < number, records.get(offset));
                latest.put(parts[0], number);
                Receipt receipt = receipts.remove(records.get(offset));
                assertEquals(partition, receipt.partition());
                assertEquals(offset, receipt.offset());
            }
        });
        assertEquals(Map.of(), receipts);
        TopicInfo info = client.topic("keys");
        assertEquals(4, info.partitions());
        assertEquals(5000, info.records());
    }

    @Test
    void recordsWithoutAKeyGoToAllPartitionsBatchByBatch() {
        create("sticky", 4);
        ProducerConfig config = new ProducerConfig().batchRecordsMax(10).linger(Duration.ofHours(1));
        try (Producer producer = client.producer("sticky", config)) {
            for (int i = 0; i < 400; i++) {
                producer.send(Integer.toString(i));
            }
            producer.flush();
            readAll(client, "sticky").forEach((partition, records) -> {
                assertEquals(100, records.size(), "partition " + partition);
                for (int i = 0; i < 100; i++) {
                    int first = Integer.parseInt(records.get(i - i % 10));
                    assertEquals(0, first % 10);
                    assertEquals(first + i % 10, Integer.parseInt(records.get(i)));
                }
            });
        }
        try (Producer fixed = client.producer("sticky", new ProducerConfig().partition(2))) {
            assertEquals(2, fixed.send("fixed").partition());
            assertEquals(3, fixed.send("chosen", Route.partition(3)).partition());
        }
    }

    /** In a bucket, a retried request is stored once; its responses are truncated here. */
    @Test
    void appendsWhoseResponsesWereCutOffAreStoredOnceInEachPartition() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        try (S3Server bucket = server.get();
                Broker stored = Broker.onBucket(bucket, "cut");
                CuttingProxy proxy = new CuttingProxy(stored.url(), 3);
                Client cut = new Client(proxy.url());
                Client whole = stored.client()) {
            whole.createTopic("t", Payload.BYTES, Retention.UNLIMITED, 2);
            ProducerConfig config = new ProducerConfig().batchRecordsMax(20).requestBytesMax(0);
            Map<Integer, List<String>> sent = new TreeMap<>(Map.of(0, new ArrayList<>(), 1, new ArrayList<>()));
            try (Producer producer = cut.producer("t", config)) {
                for (int i = 0; i < 400; i++) {
                    String record = Integer.toString(i);
                    int partition = Partitioner.partition(record.getBytes(), 2);
                    sent.get(partition).add(record);
                    producer.send(record, Route.key(record));
                }
            }
            assertTrue(proxy.cuts() >= 5, proxy.cuts() + " responses were truncated");
            assertEquals(sent, readAll(whole, "t"));
        }
    }

    /** Records that the older instance had in flight are stored before the first record of the newer one, or never. */
    @Test
    void aNamedProducerTakesOverFromTheOneBeforeIt() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        try (S3Server bucket = server.get();
                Broker stored = Broker.onBucket(bucket, "named");
                Client client = stored.client()) {
            client.createTopic("t", Payload.BYTES, Retention.UNLIMITED, 2);
            ProducerConfig config =
                    new ProducerConfig().name("orders 1").batchRecordsMax(3).inFlightMax(4);
            Producer older = client.producer("t", config);
            List<Receipt> receipts = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                receipts.add(older.send("older " + i / 2, Route.partition(i % 2)));
            }
            try (Producer newer = client.producer("t", config)) {
                for (int i = 0; i < 100; i++) {
                    newer.send("newer " + i / 2, Route.partition(i % 2));
                }
            }
            // At the latest this one shows that it is fenced.
            assertThrows(RawlineException.class, () -> older.send("late", Route.partition(0))
                    .offset());
            FencedException fenced = assertThrows(FencedException.class, older::flush);
            assertEquals("producer_fenced", fenced.code());
            assertEquals(ErrorKind.FIX_REQUEST, fenced.kind());
            assertThrows(FencedException.class, () -> older.send("late"));
            older.abandon();
            for (List<String> records : readAll(client, "t").values()) {
                int before = records.size() - 50;
                for (int i = 0; i < records.size(); i++) {
                    assertEquals(i < before ? "older " + i : "newer " + (i - before), records.get(i));
                }
            }
        }
    }

    @Test
    void aNamedProducerIsExactlyOnce() {
        ProducerConfig twice = new ProducerConfig().name("p").exactlyOnce(false);
        assertThrows(ConfigException.class, () -> client.producer("t", twice));
    }

    @Test
    void partitionsThatAreAddedAreUsedOnceTheProducerLearnsOfThem() {
        create("grown", 1);
        ProducerConfig curious = new ProducerConfig().linger(Duration.ZERO);
        curious.partitionsAgeMax = Duration.ofMillis(1);
        try (Producer producer = client.producer("grown", curious);
                Producer asked = client.producer("grown")) {
            assertEquals(0, producer.send("first").partition());
            assertEquals(0, asked.send("first", Route.key("k")).partition());
            // The broker is asked before the sender gets the error.
            RefusedException error =
                    assertThrows(RefusedException.class, () -> asked.send("nowhere", Route.partition(2)));
            assertEquals("partition_not_found", error.code());
            assertTrue(error.getMessage().contains("has 1 partition(s)"), error.getMessage());

            assertEquals(3, client.setPartitions("grown", 3).partitions());
            TreeSet<Integer> used = new TreeSet<>();
            while (used.size() < 3) {
                used.add(producer.send("more").partition());
            }
            assertEquals(2, asked.send("there", Route.partition(2)).partition());
            for (String key : List.of("21", "foobar", "abc")) {
                assertEquals(
                        Partitioner.partition(key.getBytes(), 3),
                        asked.send("keyed", Route.key(key)).partition());
            }
        }
        RefusedException fewer = assertThrows(RefusedException.class, () -> client.setPartitions("grown", 2));
        assertEquals("partitions_fewer", fewer.code());
        assertEquals(409, fewer.status());
        assertThrows(ConfigException.class, () -> client.setPartitions("grown", 1025));
        assertThrows(ConfigException.class, () -> client.setPartitions("grown", 0));
    }

    @Test
    void aProducerStopsWhenItsPartitionIsGone() {
        create("recreated", 4);
        Producer producer = client.producer("recreated");
        assertEquals(0, producer.send("x", Route.partition(3)).offset());
        client.deleteTopic("recreated");
        create("recreated", 1);
        Receipt receipt = producer.send("y", Route.partition(3));
        assertEquals(
                "partition_not_found",
                assertThrows(RefusedException.class, receipt::offset).code());
        assertThrows(RefusedException.class, producer::close);
        assertEquals(0, client.topic("recreated").records());
    }

    @Test
    void requestsNameAPartition() {
        create("named", 3);
        assertEquals(new Appended(0, 10), client.append("named", 2, numbers(0, 10)));
        assertEquals(
                new Appended(10, 12),
                client.appendRecords("named", 2, new int[] {1, 2}, ByteBuffer.wrap(new byte[] {1, 2, 3})));
        assertEquals(
                new Appended(0, 1),
                client.appendAsync("named", 1, numbers(0, 1)).join());
        assertEquals(new Appended(0, 5), client.append("named", numbers(0, 5)));
        Fetched fetched = client.read("named", ReadOptions.from(3).partition(2).recordsMax(2));
        assertEquals(2, fetched.partition());
        assertEquals(12, fetched.topicNextOffset());
        fetched.forEach(record -> assertEquals(2, record.partition()));
        assertEquals(new Trimmed(4, 12), client.trim("named", 2, 4));
        assertEquals(new Trimmed(0, 5), client.trim("named", 0));
        assertEquals(12, client.offsetAt("named", 2, Instant.now().plusSeconds(3600)));
        assertEquals(1, client.offsetAt("named", 1, Instant.now().plusSeconds(3600)));
        TopicInfo info = client.topic("named");
        assertEquals(List.of(new Extent(0, 5), new Extent(0, 1), new Extent(4, 12)), info.offsets());
        assertEquals(14, info.records());
        assertEquals(
                3,
                client.topics().stream()
                        .filter(each -> each.name().equals("named"))
                        .findFirst()
                        .orElseThrow()
                        .partitions());
        for (Executable request : List.<Executable>of(
                () -> client.append("named", 3, numbers(0, 1)),
                () -> client.read("named", ReadOptions.from(0).partition(3)),
                () -> client.trim("named", 3, 0),
                () -> client.offsetAt("named", 3, Instant.EPOCH))) {
            RefusedException error = assertThrows(RefusedException.class, request);
            assertEquals("partition_not_found", error.code());
            assertEquals(404, error.status());
        }
    }

    @Test
    void aConsumerReadsSomePartitionsAndContinuesWhereAnotherWas() {
        create("some", 4);
        for (int partition = 1; partition < 4; partition++) {
            client.append("some", partition, numbers(0, 10 * partition));
        }
        ConsumerConfig config = new ConsumerConfig().partitions(1, 3);
        Map<Integer, Long> offsets;
        try (Consumer consumer = client.consumer("some", config)) {
            long count = 0;
            while (count < 40) {
                Fetched fetched = consumer.next();
                assertTrue(fetched.partition() == 1 || fetched.partition() == 3);
                count += fetched.count();
            }
            offsets = consumer.offsets();
            assertEquals(Map.of(1, 10L, 3, 30L), offsets);
            assertEquals(30, consumer.offset(3));
            assertThrows(IllegalArgumentException.class, () -> consumer.offset(0));
            assertThrows(IllegalStateException.class, consumer::offset);
            assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
        }
        client.append("some", 3, numbers(30, 31));
        offsets.forEach((partition, offset) -> config.start(partition, Start.offset(offset)));
        try (Consumer consumer = client.consumer("some", config.endOffset(1, 10).endOffset(3, 31))) {
            assertEquals("30", consumer.next().iterator().next().text());
            assertTrue(consumer.atEnd());
        }
        ConsumerConfig latest = new ConsumerConfig().start(Start.latest());
        ConsumerConfig later =
                new ConsumerConfig().start(Start.time(Instant.now().plusSeconds(3600)));
        for (ConsumerConfig end : List.of(latest, later)) {
            try (Consumer consumer = client.consumer("some", end)) {
                assertEquals(31, consumer.offset(3));
                assertEquals(10, consumer.offset(1));
            }
        }
        assertThrows(RefusedException.class, () -> client.consumer("some", new ConsumerConfig().partitions(4)));
        try (Consumer lazy = client.consumer(
                "some", new ConsumerConfig().start(Start.offset(0)).partitions(4))) {
            assertThrows(RefusedException.class, lazy::next);
        }
    }

    @Test
    void manyPartitionsTakeTurns() {
        create("many", 200);
        for (int i = 0; i < 100; i++) {
            client.append("many", 0, numbers(10 * i, 10 * i + 10));
        }
        client.append("many", 199, numbers(0, 1));
        // One record a read: partition 0 has a thousand reads.
        try (Consumer consumer = client.consumer("many", new ConsumerConfig().bytesMax(1))) {
            int before = 0;
            while (consumer.next().partition() != 199) {
                before++;
            }
            assertTrue(before < 500, before + " reads before another partition's turn");
            while (consumer.offset(0) < 1000) {
                consumer.next();
            }
            assertTrue(consumer.next(Duration.ofMillis(30)).isEmpty());
            for (int partition : new int[] {123, 7, 199}) {
                client.append("many", partition, numbers(0, 1));
                assertEquals(partition, consumer.next().partition());
            }
        }
    }

    @Test
    void aConsumerOfSeveralPartitionsContinuesAfterACrash() throws IOException {
        try (Broker mortal = Broker.start();
                Client near = mortal.client()) {
            near.createTopic("t", Payload.BYTES, Retention.UNLIMITED, 3);
            for (int partition = 0; partition < 3; partition++) {
                near.append("t", partition, numbers(0, 10));
            }
            ConsumerConfig config = new ConsumerConfig().retries(RetryPolicy.NONE);
            try (Consumer consumer = near.consumer("t", config)) {
                long count = 0;
                for (int i = 0; i < 3; i++) {
                    count += consumer.next().count();
                }
                assertEquals(30, count);
                mortal.kill();
                assertTrue(assertThrows(RawlineException.class, consumer::next).isRetryable());
                mortal.startAgain();
                near.append("t", 2, numbers(10, 11));
                Fetched fetched = nextAfterErrors(consumer);
                assertEquals(2, fetched.partition());
                assertEquals(10, fetched.firstOffset());
            }
        }
    }

    /** The reads of the other partitions have failed too. */
    private static Fetched nextAfterErrors(Consumer consumer) {
        while (true) {
            try {
                return consumer.next();
            } catch (RawlineException error) {
                assertTrue(error.isRetryable(), error.toString());
            }
        }
    }
}
