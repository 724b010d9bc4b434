package io.rawline.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transactions of kafka-clients, and who sees what of them. */
class TransactionsTest {
    private static final String BROKER = ClientsTest.BROKER;
    private static final Duration WAIT = Duration.ofSeconds(10);

    @Test
    void aTransactionIsSeenOnceItIsCommittedAndNeverIfItIsAborted() throws Exception {
        var topic = create("txn-commit", 2);
        try (var producer = producer(BROKER, "java-commit", 60_000);
                var plain = new KafkaProducer<String, String>(
                        Map.of("bootstrap.servers", BROKER), new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int round = 0; round < 4; round++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 2; partition++) {
                    for (int number = 0; number < 3; number++) {
                        producer.send(new ProducerRecord<>(topic, partition, "k", round + "." + number));
                        producer.flush();
                    }
                }
                plain.send(new ProducerRecord<>(topic, 0, "k", "plain " + round)).get();
                if (round == 3) {
                    break;
                }
                if (round % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
            // The last one is open.
            var committed = List.of("0.0", "0.1", "0.2", "plain 0", "plain 1", "2.0", "2.1", "2.2", "plain 2");
            assertEquals(committed, read(BROKER, "read_committed", topic, 0, committed.size()));
            var all = List.of(
                    "0.0", "0.1", "0.2", "plain 0", "1.0", "1.1", "1.2", "plain 1", "2.0", "2.1", "2.2", "plain 2",
                    "3.0", "3.1", "3.2", "plain 3");
            assertEquals(all, read(BROKER, "read_uncommitted", topic, 0, all.size()));
            var partition = new TopicPartition(topic, 0);
            // 4 of each round, and 3 markers.
            assertEquals(15, end("read_committed", partition));
            assertEquals(19, end("read_uncommitted", partition));
            // A waiting consumer gets the rest when the transaction ends.
            try (var consumer = consumer(BROKER, "read_committed", null)) {
                consumer.assign(List.of(partition));
                consumer.seek(partition, 15);
                assertTrue(consumer.poll(Duration.ofMillis(600)).isEmpty());
                producer.commitTransaction();
                var values = new ArrayList<String>();
                for (long began = System.nanoTime(); values.size() < 4 && isEarly(began); ) {
                    consumer.poll(WAIT).forEach(one -> values.add(one.value()));
                }
                assertEquals(List.of("3.0", "3.1", "3.2", "plain 3"), values);
            }
        }
    }

    @Test
    void aNewInstanceFencesTheOlderOneAndAbortsItsTransaction() throws Exception {
        var topic = create("txn-fenced", 1);
        try (var zombie = producer(BROKER, "java-fenced", 60_000);
                var newer = producer(BROKER, "java-fenced", 60_000)) {
            zombie.initTransactions();
            zombie.beginTransaction();
            zombie.send(new ProducerRecord<>(topic, "zombie")).get();
            newer.initTransactions();
            newer.beginTransaction();
            newer.send(new ProducerRecord<>(topic, "newer")).get();
            var sent = zombie.send(new ProducerRecord<>(topic, "late"));
            var cause = assertThrows(ExecutionException.class, sent::get).getCause();
            assertTrue(
                    cause instanceof InvalidProducerEpochException || cause instanceof ProducerFencedException,
                    cause.toString());
            assertThrows(KafkaException.class, zombie::commitTransaction);
            newer.commitTransaction();
            assertEquals(List.of("newer"), read(BROKER, "read_committed", topic, 0, 1));
        }
    }

    @Test
    void offsetsAreCommittedWithTheRecordsMadeOfThem() throws Exception {
        var from = create("txn-from", 1);
        var to = create("txn-to", 1);
        try (var plain = new KafkaProducer<String, String>(
                Map.of("bootstrap.servers", BROKER), new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < 10; number++) {
                plain.send(new ProducerRecord<>(from, String.valueOf(number))).get();
            }
        }
        var partition = new TopicPartition(from, 0);
        try (var producer = producer(BROKER, "java-transform", 60_000);
                var consumer = consumer(BROKER, "read_committed", "java-transformers");
                var admin = Admin.create(Map.of("bootstrap.servers", BROKER))) {
            producer.initTransactions();
            consumer.subscribe(List.of(from));
            var values = new ArrayList<String>();
            for (long began = System.nanoTime(); values.size() < 10 && isEarly(began); ) {
                consumer.poll(WAIT).forEach(one -> values.add(one.value()));
            }
            for (var isCommitted : List.of(false, true)) {
                producer.beginTransaction();
                values.forEach(value -> producer.send(new ProducerRecord<>(to, value + "!")));
                producer.sendOffsetsToTransaction(
                        Map.of(partition, new OffsetAndMetadata(10, "note")), consumer.groupMetadata());
                producer.flush();
                assertEquals(null, offset(admin, partition), "open");
                if (isCommitted) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                    assertEquals(null, offset(admin, partition), "aborted");
                }
            }
            assertEquals(10L, offset(admin, partition));
            var stale = group("java-transformers", 99, "unknown");
            producer.beginTransaction();
            var offsets = Map.of(partition, new OffsetAndMetadata(3));
            assertThrows(CommitFailedException.class, () -> producer.sendOffsetsToTransaction(offsets, stale));
            producer.abortTransaction();
            assertEquals(10L, offset(admin, partition));
        }
        assertEquals(10, read(BROKER, "read_committed", to, 0, 10).size());
        try (var admin = Admin.create(Map.of("bootstrap.servers", BROKER))) {
            admin.deleteConsumerGroups(List.of("java-transformers")).all().get();
        }
    }

    /** A consumer's group metadata. */
    @SuppressWarnings("removal")
    private static ConsumerGroupMetadata group(String name, int generation, String member) {
        return new ConsumerGroupMetadata(name, generation, member, Optional.empty());
    }

    private static Long offset(Admin admin, TopicPartition partition) throws Exception {
        var found = admin.listConsumerGroupOffsets("java-transformers", new ListConsumerGroupOffsetsOptions())
                .partitionsToOffsetAndMetadata()
                .get()
                .get(partition);
        return found == null ? null : found.offset();
    }

    @Test
    void anAbandonedTransactionTimesOut() throws Exception {
        var topic = create("txn-abandoned", 1);
        try (var abandoned = producer(BROKER, "java-abandoned", 2000)) {
            abandoned.initTransactions();
            abandoned.beginTransaction();
            abandoned.send(new ProducerRecord<>(topic, "lost")).get();
            try (var plain = new KafkaProducer<String, String>(
                    Map.of("bootstrap.servers", BROKER), new StringSerializer(), new StringSerializer())) {
                plain.send(new ProducerRecord<>(topic, "kept")).get();
            }
            assertEquals(List.of("kept"), read(BROKER, "read_committed", topic, 0, 1));
            assertThrows(KafkaException.class, abandoned::commitTransaction);
        }
        try (var producer = producer(BROKER, "java-patient", 15 * 60_000 + 1)) {
            var refused = assertThrows(KafkaException.class, producer::initTransactions);
            // Which of the two says so depends on who is first, the caller or the sender's thread.
            var said = refused + ", " + refused.getCause();
            assertTrue(said.contains("transaction timeout"), said);
        }
    }

    /** A transaction continues after the broker was killed, and one that isn't ended is aborted by the new broker. */
    @Test
    void transactionsSurviveTheirBroker(@TempDir Path directory) throws Exception {
        int port = freePort();
        var address = "127.0.0.1:" + port;
        var broker = start(directory, port);
        try (var producer = producer(address, "java-killed", 60_000);
                var abandoned = producer(address, "java-orphan", 3000)) {
            producer.initTransactions();
            abandoned.initTransactions();
            producer.beginTransaction();
            abandoned.beginTransaction();
            producer.send(new ProducerRecord<>("txn-killed", 0, "k", "before")).get();
            abandoned.send(new ProducerRecord<>("txn-killed", 0, "k", "orphan")).get();
            var offsets = Map.of(new TopicPartition("txn-killed", 0), new OffsetAndMetadata(7));
            producer.sendOffsetsToTransaction(offsets, group("java-killed-readers", -1, ""));
            broker.destroyForcibly().waitFor();
            broker = start(directory, port);
            producer.send(new ProducerRecord<>("txn-killed", 0, "k", "after")).get();
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("txn-killed", 0, "k", "aborted")).get();
            producer.abortTransaction();
            broker.destroyForcibly().waitFor();
            broker = start(directory, port);
            assertEquals(List.of("before", "after"), read(address, "read_committed", "txn-killed", 0, 2));
            try (var admin = Admin.create(Map.of("bootstrap.servers", address))) {
                var committed = admin.listConsumerGroupOffsets("java-killed-readers")
                        .partitionsToOffsetAndMetadata()
                        .get();
                assertEquals(7, committed.get(new TopicPartition("txn-killed", 0)).offset());
            }
        } finally {
            broker.destroyForcibly().waitFor();
        }
    }

    private static int freePort() throws Exception {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static Process start(Path directory, int port) throws Exception {
        var command = List.of(
                System.getenv("RAWLINE_BINARY"), "serve", "--listen", "127.0.0.1:0", "--kafka", "127.0.0.1:" + port,
                "--storage", directory.toString());
        return new ProcessBuilder(command).inheritIO().start();
    }

    private static String create(String topic, int partitions) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", BROKER))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
        return topic;
    }

    private static long end(String isolation, TopicPartition partition) throws Exception {
        try (var consumer = consumer(BROKER, isolation, null);
                var admin = Admin.create(Map.of("bootstrap.servers", BROKER))) {
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            var listed = admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).all().get();
            assertEquals(0, listed.get(partition).offset());
            return end;
        }
    }

    private static boolean isEarly(long began) {
        return System.nanoTime() - began < Duration.ofSeconds(30).toNanos();
    }

    /** The values of a partition, as soon as there are this many. */
    private static List<String> read(String broker, String isolation, String topic, int number, int count) {
        var partition = new TopicPartition(topic, number);
        var values = new ArrayList<String>();
        try (var consumer = consumer(broker, isolation, null)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            for (long began = System.nanoTime(); values.size() < count && isEarly(began); ) {
                consumer.poll(WAIT).forEach(one -> values.add(one.value()));
            }
            consumer.poll(Duration.ofMillis(300)).forEach(one -> values.add(one.value()));
        }
        return values;
    }

    private static KafkaConsumer<String, String> consumer(String broker, String isolation, String group) {
        var settings = new HashMap<String, Object>(Map.of(
                "bootstrap.servers", broker,
                "isolation.level", isolation,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false));
        if (group != null) {
            settings.put("group.id", group);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static KafkaProducer<String, String> producer(String broker, String name, int timeout) {
        var settings = new HashMap<String, Object>(Map.of(
                "bootstrap.servers", broker, "transactional.id", name, "transaction.timeout.ms", timeout));
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }
}
