package io.rawline;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.batch.BatchException;
import io.rawline.batch.Codec;
import io.rawline.batch.RecordBatch;
import io.rawline.batch.RecordCodec;
import io.rawline.batch.RecordHeader;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.RefusedException;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.producer.ProducerRecord;
import io.rawline.producer.Receipt;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.testkit.Broker;
import io.rawline.testkit.CuttingProxy;
import io.rawline.topic.Appended;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Keys, headers and times, with Kafka's own client at the other end. */
class KafkaTest {
    private static final int RECORDS = 2000;
    private static final long BASE_MS = 1_700_000_000_000L;
    private static Broker broker;
    private static Client client;

    @BeforeAll
    static void start() {
        broker = Broker.start("--kafka", "127.0.0.1:0");
        client = broker.client();
    }

    @AfterAll
    static void stop() throws IOException {
        client.close();
        broker.close();
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(UTF_8);
    }

    @Test
    void recordsOfKafkasProducerAreRead() {
        for (RecordCodec codec : RecordCodec.values()) {
            String topic = "from-kafka-" + codec;
            produceWithKafka(topic, codec);
            List<String> expected = new ArrayList<>();
            List<String> found = new ArrayList<>();
            for (int i = 0; i < RECORDS; i++) {
                expected.add(i + " key " + i + (i % 7 == 0 ? " null" : " value " + i) + " " + (BASE_MS + i)
                        + " [number=" + i + ", none=null]");
            }
            long end = client.topic(topic).nextOffset();
            Set<RecordCodec> codecs = new HashSet<>();
            try (Consumer consumer = client.consumer(topic, new ConsumerConfig().endOffset(end))) {
                while (!consumer.atEnd()) {
                    Fetched fetched = consumer.next();
                    assertTrue(fetched.batches().isEmpty());
                    for (RecordBatch batch : fetched.recordBatches()) {
                        codecs.add(batch.header().codec());
                    }
                    for (ConsumedRecord record : fetched) {
                        found.add(record.offset() + " " + record.keyText() + " "
                                + (record.isNull() ? "null" : record.text()) + " "
                                + record.timestampMs().getAsLong() + " " + record.headers());
                    }
                }
            }
            assertEquals(expected, found);
            assertEquals(Set.of(codec), codecs);
        }
    }

    private static void produceWithKafka(String topic, RecordCodec codec) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers",
                broker.kafka(),
                "compression.type",
                codec.name().toLowerCase(Locale.ROOT));
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) {
                byte[] value = i % 7 == 0 ? null : bytes("value " + i);
                var record = new org.apache.kafka.clients.producer.ProducerRecord<>(
                        topic, 0, BASE_MS + i, bytes("key " + i), value);
                record.headers().add("number", bytes("" + i)).add("none", null);
                producer.send(record);
            }
        }
    }

    @Test
    void kafkasConsumerReadsRecordsOfOurs() {
        for (Codec codec : Codec.values()) {
            String topic = "to-kafka-" + codec;
            client.createTopic(topic, Payload.BYTES, Retention.UNLIMITED, 3);
            List<Receipt> receipts = new ArrayList<>();
            try (Producer producer =
                    client.producer(topic, new ProducerConfig().codec(codec).batchRecordsMax(300))) {
                for (int i = 0; i < RECORDS; i++) {
                    ProducerRecord record = i % 7 == 0
                            ? ProducerRecord.tombstone("key " + i)
                            : ProducerRecord.of("value " + i).key("key " + i);
                    record.header("number", "" + i)
                            .header("none", (byte[]) null)
                            .timestampMs(BASE_MS + i);
                    receipts.add(producer.send(record));
                }
            }
            int count = 0;
            for (ConsumerRecord<byte[], byte[]> record : consumeWithKafka(topic, 3, RECORDS)) {
                int i = Integer.parseInt(new String(record.key(), UTF_8).substring(4));
                assertEquals(record.offset(), receipts.get(i).offset());
                assertEquals(record.partition(), receipts.get(i).partition());
                assertEquals(partitionOfKafka(record.key(), 3), record.partition());
                assertEquals(BASE_MS + i, record.timestamp());
                assertArrayEquals(i % 7 == 0 ? null : bytes("value " + i), record.value());
                assertArrayEquals(
                        bytes("" + i), record.headers().lastHeader("number").value());
                assertNull(record.headers().lastHeader("none").value());
                count++;
            }
            assertEquals(RECORDS, count);
        }
    }

    private static int partitionOfKafka(byte[] key, int partitions) {
        return Utils.toPositive(Utils.murmur2(key)) % partitions;
    }

    private static List<ConsumerRecord<byte[], byte[]>> consumeWithKafka(String topic, int partitions, int count) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.kafka(), "enable.auto.commit", false);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = IntStream.range(0, partitions)
                    .mapToObj(partition -> new TopicPartition(topic, partition))
                    .toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            while (found.size() < count) {
                var some = consumer.poll(Duration.ofSeconds(20));
                assertFalse(some.isEmpty(), found.size() + " of " + count + " records arrived");
                some.forEach(found::add);
            }
        }
        return found;
    }

    /** Batches of both kinds in one partition, whose appends lose their responses. */
    @Test
    void bothKindsAreStoredOnceAndInOrder() throws IOException {
        try (CuttingProxy proxy = new CuttingProxy(broker.url(), 3);
                Client cut = new Client(proxy.url());
                Producer producer = cut.producer("both", new ProducerConfig().inFlightMax(3))) {
            for (int i = 0; i < 60; i++) {
                Receipt receipt = i / 5 % 2 == 0
                        ? producer.send("" + i)
                        : producer.send(ProducerRecord.of("" + i).key("k"));
                if (i % 5 == 4) {
                    assertEquals(i, receipt.offset());
                }
            }
            producer.flush();
            assertTrue(proxy.cuts() > 3, proxy.cuts() + " responses were truncated");
        }
        List<String> keys = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        ConsumerConfig untilNow = new ConsumerConfig().endAt(client.topic("both"));
        try (Consumer consumer = client.consumer("both", untilNow)) {
            for (ConsumedRecord record : consumer) {
                texts.add(record.text());
                keys.add(record.keyText());
                assertEquals(record.keyText() != null, record.timestampMs().isPresent());
            }
        }
        assertEquals(IntStream.range(0, 60).mapToObj(i -> "" + i).toList(), texts);
        assertEquals(
                IntStream.range(0, 60)
                        .mapToObj(i -> i / 5 % 2 == 0 ? null : "k")
                        .toList(),
                keys);
    }

    /** A named producer numbers both kinds, and an older instance can't append either. */
    @Test
    void aFencedProducerCantAppendKeys() {
        ProducerConfig config = new ProducerConfig().name("keys");
        Producer older = client.producer("fenced", config);
        older.send(ProducerRecord.of("1").key("k")).offset();
        try (Producer newer = client.producer("fenced", config)) {
            newer.send(ProducerRecord.of("2").key("k")).offset();
            Receipt refused = older.send(ProducerRecord.of("3").key("k"));
            assertEquals(
                    "producer_fenced",
                    assertThrows(RefusedException.class, refused::offset).code());
        } finally {
            older.abandon();
        }
        assertEquals(2, client.topic("fenced").nextOffset());
    }

    @Test
    void recordsHaveWhatTheyWereSentWith() {
        try (Producer producer = client.producer("alone")) {
            producer.send(ProducerRecord.of("plain")).offset();
            producer.send(ProducerRecord.of(ByteBuffer.wrap(bytes("late"))).timestampMs(5))
                    .offset();
            producer.send(ProducerRecord.of("headed").header("h", "1").header("h", "2"))
                    .offset();
            assertThrows(
                    BatchException.class,
                    () -> producer.send(ProducerRecord.of(new byte[32 << 20]).key("k")));
        }
        Fetched plain = client.read("alone", ReadOptions.from(0));
        assertEquals(1, plain.batches().size());
        ConsumedRecord first = plain.iterator().next();
        assertNull(first.key());
        assertEquals(OptionalLong.empty(), first.timestampMs());
        assertEquals(List.of(), first.headers());
        assertFalse(first.isNull());
        List<ConsumedRecord> others = new ArrayList<>();
        Fetched kafka = client.read("alone", ReadOptions.from(1));
        kafka.forEach(others::add);
        assertEquals(
                List.of("late", "headed"),
                others.stream().map(ConsumedRecord::text).toList());
        assertEquals(OptionalLong.of(5), others.get(0).timestampMs());
        assertEquals(5000, others.get(0).createdUs());
        assertEquals(new RecordHeader("h", bytes("1")), others.get(1).header("h"));
        assertEquals(2, others.get(1).headers().size());
        assertTrue(others.get(1).timestampMs().getAsLong() > BASE_MS);
        // As they are, to another topic.
        ByteBuffer batches = kafka.bytes();
        assertEquals(new Appended(0, 2), client.appendRecordBatches("copy", 0, batches));
        ConsumedRecord copied =
                client.read("copy", ReadOptions.from(1)).iterator().next();
        assertEquals(others.get(1).headers(), copied.headers());
    }
}
