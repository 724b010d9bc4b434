package io.rawline.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A member of a group that copies records from topic to topic, exactly once. */
final class Transform {
    private static final Duration WAIT = Duration.ofMillis(200);

    private static volatile boolean isStopping;

    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final String to;

    private Transform(
            KafkaConsumer<String, String> consumer, KafkaProducer<String, String> producer, String from, String to) {
        this.consumer = consumer;
        this.producer = producer;
        this.to = to;
        producer.initTransactions();
        consumer.subscribe(List.of(from));
    }

    /** Copies what the next poll finds. */
    private void step() {
        var records = consumer.poll(WAIT);
        if (records.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        try {
            var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
            for (var record : records) {
                producer.send(new ProducerRecord<>(to, record.partition(), null, record.value()));
                offsets.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException error) {
            // The group may have given partitions to others meanwhile.
            System.out.println("aborts: " + error);
            producer.abortTransaction();
            consumer.committed(consumer.assignment()).forEach((partition, committed) -> {
                if (committed == null) {
                    consumer.seekToBeginning(List.of(partition));
                } else {
                    consumer.seek(partition, committed);
                }
            });
        }
    }

    /** With the group, the transactional id, the topics that it reads and writes, and the brokers' addresses. */
    public static void main(String[] arguments) {
        String group = arguments[0];
        String id = arguments[1];
        String brokers = String.join(",", List.of(arguments).subList(4, arguments.length));
        Map<String, Object> reads = Map.of(
                "bootstrap.servers", brokers,
                "group.id", group,
                "partition.assignment.strategy", CooperativeStickyAssignor.class.getName(),
                "isolation.level", "read_committed",
                "session.timeout.ms", 6_000,
                "heartbeat.interval.ms", 500,
                "max.poll.interval.ms", 10_000,
                "max.poll.records", 50,
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest");
        Map<String, Object> writes = Map.of(
                "bootstrap.servers", brokers,
                "transactional.id", id,
                "transaction.timeout.ms", 10_000);
        var copies = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isStopping = true;
            try {
                copies.join();
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }));
        while (!isStopping) {
            // Closing them leaves the group.
            try (var consumer = new KafkaConsumer<>(reads, new StringDeserializer(), new StringDeserializer());
                    var producer = new KafkaProducer<>(writes, new StringSerializer(), new StringSerializer())) {
                var member = new Transform(consumer, producer, arguments[2], arguments[3]);
                while (!isStopping) {
                    member.step();
                }
            } catch (KafkaException error) {
                System.out.println(id + " begins again: " + error);
            }
        }
    }
}
