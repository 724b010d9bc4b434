package io.rawline.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.producer.Producer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The broker itself: restarts, Kafka's clients, its end. */
class RawlineBrokerTest {
    /** The process that serves the broker's ready file. */
    static String pid(RawlineBroker broker) {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.isAlive())
                .filter(child -> listensAt(child, broker.url()))
                .map(child -> Long.toString(child.pid()))
                .findFirst()
                .orElseThrow();
    }

    private static boolean listensAt(ProcessHandle child, String url) {
        String[] arguments = child.info().arguments().orElse(new String[0]);
        for (int i = 0; i + 1 < arguments.length; i++) {
            if (arguments[i].equals("--ready-file")) {
                try {
                    return Files.readString(Path.of(arguments[i + 1])).contains(url + '"');
                } catch (java.io.IOException error) {
                    return false;
                }
            }
        }
        return false;
    }

    static void waitUntil(BooleanSupplier isDone) throws InterruptedException {
        while (!isDone.getAsBoolean()) {
            Thread.sleep(1);
        }
    }

    /** Stores a record in the topic {@code t}. */
    static void append(RawlineBroker broker, String record) {
        try (Client client = broker.client();
                Producer producer = client.producer("t")) {
            producer.send(record.getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void aBrokerRestartsOnItsStorage() throws Exception {
        try (RawlineBroker broker = RawlineBroker.start(RawlineBroker.DIRECTORY, List.of())) {
            String url = broker.url();
            String kafka = broker.kafka();
            append(broker, "one");
            broker.kill();
            assertTrue(broker.isStopped());
            assertTrue(assertThrows(BrokerException.class, broker::check)
                    .getMessage()
                    .contains("restart()"));
            broker.restart();
            broker.restart();
            assertEquals(List.of(url, kafka), List.of(broker.url(), broker.kafka()));
            assertEquals(1, broker.client().topic("t").records());
            assertTrue(broker.log().contains("rawline: stopped"), broker.log());
            assertFalse(broker.log().contains("stopped at once"), broker.log());
        }
        try (RawlineBroker broker = RawlineBroker.start()) {
            BrokerException lost = assertThrows(BrokerException.class, broker::restart);
            assertTrue(lost.getMessage().contains("RawlineBroker.DIRECTORY"), lost.getMessage());
        }
    }

    @Test
    void kafkasClientsFindIt() throws Exception {
        try (RawlineBroker broker = RawlineBroker.start()) {
            Map<String, Object> config = Map.of("bootstrap.servers", broker.kafka());
            try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>("t", "key", "value")).get();
            }
            assertEquals(1, broker.client().topic("t").records());
        }
    }

    @Test
    void nothingRemains(@TempDir Path storage) throws Exception {
        RawlineBroker broker = RawlineBroker.start(storage.resolve("data").toString(), List.of());
        long pid = Long.parseLong(pid(broker));
        append(broker, "kept");
        broker.close();
        assertTrue(ProcessHandle.of(pid).isEmpty());
        try (RawlineBroker again = RawlineBroker.start(storage.resolve("data").toString(), List.of())) {
            assertEquals(1, again.client().topic("t").records());
        }
    }
}
