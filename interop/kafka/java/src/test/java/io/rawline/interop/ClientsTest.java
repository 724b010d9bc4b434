package io.rawline.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** kafka-clients, with nothing configured but the address. */
class ClientsTest {
    static final String BROKER = System.getenv("RAWLINE_KAFKA");

    private static final int RECORDS = 100_000;
    private static final int PARTITIONS = 6;
    private static final String VALUE = "-".repeat(80);
    private static final long TIME = 1_700_000_000_000L;

    @ParameterizedTest
    @ValueSource(strings = {"none", "gzip", "snappy", "lz4", "zstd"})
    void recordsArriveAsTheyWereSent(String codec) throws Exception {
        var partition = new TopicPartition("java-" + codec, 0);
        create(partition.topic(), 1);
        produce(partition.topic(), codec, 1);
        try (var consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            int number = 0;
            while (number < RECORDS) {
                for (var one : consumer.poll(Duration.ofSeconds(10))) {
                    check(one, number++);
                }
            }
            assertEquals(RECORDS, consumer.endOffsets(List.of(partition)).get(partition));
            consumer.seek(partition, RECORDS / 2);
            check(consumer.poll(Duration.ofSeconds(10)).iterator().next(), RECORDS / 2);
        }
    }

    private static void check(ConsumerRecord<String, String> found, int number) {
        assertEquals(number, found.offset());
        assertEquals("key " + number, found.key());
        assertEquals(number + VALUE, found.value());
        assertEquals(TIME + number, found.timestamp());
        var headers = found.headers().toArray();
        assertEquals(2, headers.length);
        assertEquals("number", headers[0].key());
        assertEquals(String.valueOf(number), new String(headers[0].value()));
        assertNull(headers[1].value());
    }

    @ParameterizedTest
    @ValueSource(strings = {"classic", "consumer"})
    void aGroupReadsEverythingWhenOneOfThreeIsKilled(String protocol) throws Exception {
        var group = "java-" + protocol;
        create(group, PARTITIONS);
        var killed = Member.start(BROKER, protocol, group, group);
        var threads = Executors.newFixedThreadPool(2);
        try (var admin = admin()) {
            var isOver = new AtomicBoolean();
            var seen = new BitSet();
            var members = new ArrayList<Future<Object>>();
            for (int number = 0; number < 2; number++) {
                members.add(threads.submit(() -> read(protocol, group, seen, isOver)));
            }
            killed.awaitPartitions(PARTITIONS / 3);
            assertEquals(3, members(admin, group));
            produce(group, "lz4", PARTITIONS);
            assertTrue(seen.cardinality() < RECORDS, "records of the partitions of a member that doesn't read");
            killed.kill();
            await(members, () -> seen.cardinality() == RECORDS);
            assertEquals(2, members(admin, group));
            isOver.set(true);
            for (var member : members) {
                member.get();
            }
            // Members commit when they leave.
            assertEquals(
                    RECORDS,
                    committed(admin, group).values().stream()
                            .mapToLong(Long::longValue)
                            .sum());
            var described = admin.describeConsumerGroups(List.of(group));
            assertEquals(
                    GroupState.EMPTY, described.all().get().get(group).groupState());
            resets(admin, protocol, group);
            admin.deleteConsumerGroups(List.of(group)).all().get();
            assertEquals(Map.of(), committed(admin, group));
        } finally {
            killed.kill();
            threads.shutdownNow();
        }
    }

    /** A member of the group, until the test is over. */
    private static Object read(String protocol, String group, BitSet seen, AtomicBoolean isOver) {
        try (var consumer = consumer(Member.settings(protocol, group))) {
            consumer.subscribe(List.of(group));
            while (!isOver.get()) {
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    synchronized (seen) {
                        seen.set(Integer.parseInt(record.key().substring(4)));
                    }
                }
            }
        }
        return null;
    }

    private static void resets(Admin admin, String protocol, String group) throws Exception {
        var partition = new TopicPartition(group, 2);
        var ahead = new HashMap<>(committed(admin, group));
        long end = ahead.get(partition);
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(end - 7)))
                .all()
                .get();
        ahead.put(partition, end - 7);
        assertEquals(ahead, committed(admin, group));
        try (var consumer = consumer(Member.settings(protocol, group))) {
            consumer.subscribe(List.of(group));
            int count = 0;
            while (count < 7) {
                count += consumer.poll(Duration.ofSeconds(10)).count();
            }
            assertEquals(7, count);
            consumer.commitSync();
        }
        ahead.put(partition, end);
        assertEquals(ahead, committed(admin, group));
    }

    private static int members(Admin admin, String group) throws Exception {
        var groups = admin.describeConsumerGroups(List.of(group)).all().get();
        return groups.get(group).members().size();
    }

    private static Map<TopicPartition, Long> committed(Admin admin, String group) throws Exception {
        var found = admin.listConsumerGroupOffsets(group)
                .partitionsToOffsetAndMetadata()
                .get();
        var offsets = new HashMap<TopicPartition, Long>();
        found.forEach((partition, committed) -> offsets.put(partition, committed.offset()));
        return offsets;
    }

    private static void await(List<Future<Object>> members, java.util.function.BooleanSupplier isDone)
            throws Exception {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!isDone.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "the group has not read everything within a minute");
            for (var member : members) {
                if (member.isDone()) {
                    member.get();
                }
            }
            Thread.sleep(50);
        }
    }

    private static Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", BROKER));
    }

    private static void create(String topic, int partitions) throws Exception {
        try (var admin = admin()) {
            admin.createTopics(Set.of(new NewTopic(topic, partitions, (short) 1)))
                    .all()
                    .get();
            var described =
                    admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            assertEquals(partitions, described.partitions().size());
        }
    }

    private static void produce(String topic, String codec, int partitions) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", BROKER, "compression.type", codec);
        var sent = new ArrayList<Future<RecordMetadata>>();
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                var record = new ProducerRecord<>(
                        topic, number % partitions, TIME + number, "key " + number, number + VALUE);
                record.headers()
                        .add("number", String.valueOf(number).getBytes())
                        .add("none", null);
                sent.add(producer.send(record));
            }
        }
        for (int number = 0; number < RECORDS; number++) {
            assertEquals(number / partitions, sent.get(number).get().offset());
        }
    }

    /** With these settings besides the address. */
    private static KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        var all = new HashMap<>(settings);
        all.put("bootstrap.servers", BROKER);
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }
}
