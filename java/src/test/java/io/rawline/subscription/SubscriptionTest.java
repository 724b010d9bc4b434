package io.rawline.subscription;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.BatchBuilder;
import io.rawline.batch.Codec;
import io.rawline.batch.Limits;
import io.rawline.error.ConfigException;
import io.rawline.error.ErrorKind;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.producer.ProducerRecord;
import io.rawline.producer.Receipt;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Start;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.testkit.Scripted;
import io.rawline.topic.Payload;
import io.rawline.value.TypedJson;
import io.rawline.value.ValueWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Subscriptions of a real broker. */
class SubscriptionTest {
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

    private static void append(Client client, String topic, String... records) {
        client.append(topic, Batches.build(Codec.NONE, List.of(records)));
    }

    /** This many records, by topic. */
    private static Map<String, List<String>> receive(Subscription subscription, int count) {
        Map<String, List<String>> received = new TreeMap<>();
        int left = count;
        for (ConsumedRecord record : subscription) {
            received.computeIfAbsent(record.topic(), topic -> new ArrayList<>())
                    .add(record.offset() + " " + record.text());
            if (--left == 0) {
                break;
            }
        }
        return received;
    }

    @Test
    void topicsAndPrefixesAlsoThoseThatAreCreatedLater() {
        for (String topic : List.of("dns", "zeek.old", "other")) {
            append(client, topic, "before");
        }
        SubscriptionConfig config = new SubscriptionConfig().topics("dns").prefixes("zeek.");
        String cursor;
        try (Subscription subscription = client.subscribe(config)) {
            append(client, "other", "not this");
            append(client, "dns", "1", "2");
            append(client, "zeek.old", "3");
            client.append("zeek.new", Batches.build(Codec.ZSTD, List.of("4", "5")));
            assertEquals(
                    Map.of("dns", List.of("1 1", "2 2"), "zeek.old", List.of("1 3"), "zeek.new", List.of("0 4", "1 5")),
                    receive(subscription, 5));
            assertTrue(subscription.next(Duration.ofMillis(50)).isEmpty());
            cursor = subscription.cursor();
        }
        append(client, "zeek.new", "6");
        append(client, "zeek.newer", "7");
        try (Subscription subscription = client.subscribe(config.cursor(cursor))) {
            append(client, "dns", "8");
            assertEquals(
                    Map.of("dns", List.of("3 8"), "zeek.new", List.of("2 6"), "zeek.newer", List.of("0 7")),
                    receive(subscription, 3));
        }
    }

    @Test
    void aCursorIsWhereTheLoopIs() {
        client.append("loop", Batches.build(Codec.LZ4, List.of("0", "1", "2", "3", "4")));
        SubscriptionConfig config = new SubscriptionConfig().topics("loop").start(Start.earliest());
        String cursor;
        try (Subscription subscription = client.subscribe(config)) {
            receive(subscription, 2);
            cursor = subscription.cursor();
            assertTrue(cursor.matches(".*;loop~[0-9a-f]{8}/0=2"), cursor);
        }
        try (Subscription subscription = client.subscribe(config.cursor(cursor))) {
            assertEquals(Map.of("loop", List.of("2 2", "3 3", "4 4")), receive(subscription, 3));
            assertTrue(subscription.cursor().matches(".*;loop~[0-9a-f]{8}/0=5"), subscription.cursor());
        }
    }

    @Test
    void recordsHaveKeysHeadersAndTimes() {
        append(client, "keys", "before");
        try (Subscription subscription = client.subscribe(new SubscriptionConfig().topics("keys"));
                Producer producer = client.producer("keys")) {
            producer.send(ProducerRecord.of("value").key("key").header("a", "1".getBytes()))
                    .offset();
            ConsumedRecord record = subscription.iterator().next();
            assertEquals("keys", record.topic());
            assertEquals(1, record.offset());
            assertEquals("key", record.keyText());
            assertEquals("value", record.text());
            assertEquals("a", record.headers().get(0).name());
        }
    }

    private static ByteBuffer value(int port, long number) {
        String json = "{\"@data-type\":\"table\",\"data\":[{\"key\":{\"@data-type\":\"string\",\"data\":\"number\"},"
                + "\"value\":{\"@data-type\":\"count\",\"data\":" + number + "}},"
                + "{\"key\":{\"@data-type\":\"string\",\"data\":\"port\"},"
                + "\"value\":{\"@data-type\":\"port\",\"data\":\"" + port + "/udp\"}}]}";
        ValueWriter out = new ValueWriter();
        TypedJson.read(json, out);
        return ByteBuffer.wrap(out.toByteArray());
    }

    @Test
    void aFilterSelectsRecords() {
        client.setPayload("values", Payload.VALUE);
        BatchBuilder batch = new BatchBuilder(Codec.NONE, Limits.DEFAULT);
        for (int number = 0; number < 100; number++) {
            assertTrue(batch.add(value(number % 10 == 3 ? 53 : 80, number)));
        }
        client.append("values", batch.finish(1, 0, 0));
        SubscriptionConfig config = new SubscriptionConfig()
                .topics("values")
                .start(Start.earliest())
                .where("port=53/udp");
        try (Subscription subscription = client.subscribe(config)) {
            int count = 0;
            for (ConsumedRecord record : subscription) {
                assertEquals(10 * count + 3, record.offset());
                assertEquals(value(53, record.offset()), record.bytes());
                if (++count == 10) {
                    break;
                }
            }
        }
        append(client, "plain", "x");
        SubscriptionConfig plain = new SubscriptionConfig().topics("plain").where("port=53/udp");
        RefusedException refused = assertThrows(RefusedException.class, () -> client.subscribe(plain));
        assertEquals(ErrorKind.FIX_REQUEST, refused.kind());
    }

    @Test
    void killUnderAProducerLosesAndDuplicatesNothing() throws Exception {
        int records = 1500;
        try (Broker killed = Broker.start();
                Client own = killed.client()) {
            own.setPayload("dns", Payload.BYTES);
            try (Subscription subscription = own.subscribe(new SubscriptionConfig().topics("dns"))) {
                CompletableFuture<Void> producing = CompletableFuture.runAsync(() -> {
                    ProducerConfig small = new ProducerConfig().batchBytes(200).linger(Duration.ZERO);
                    try (Producer producer = own.producer("dns", small)) {
                        for (int number = 0; number < records; number++) {
                            Receipt receipt = producer.send(Integer.toString(number));
                            if (number % 50 == 0) {
                                receipt.offset();
                            }
                        }
                    }
                });
                int count = 0;
                for (ConsumedRecord record : subscription) {
                    assertEquals(count, record.offset());
                    assertEquals(Integer.toString(count), record.text());
                    count++;
                    if (count % 400 == 0) {
                        killed.kill();
                        killed.startAgain();
                    }
                    if (count == records) {
                        break;
                    }
                }
                producing.join();
                assertTrue(subscription.next(Duration.ofMillis(200)).isEmpty());
            }
        }
    }

    @Test
    void whatIsSkippedOrDeletedIsReported() {
        String[] numbers = new String[100];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Integer.toString(i);
        }
        append(client, "slow", numbers);
        List<Notice> notices = new ArrayList<>();
        SubscriptionConfig config = new SubscriptionConfig()
                .topics("slow")
                .start(Start.earliest())
                .lagMax(10)
                .onNotice(notices::add);
        append(client, "ends", "before");
        try (Subscription subscription =
                client.subscribe(new SubscriptionConfig().topics("ends").lagMax(10))) {
            append(client, "ends", "caught up");
            assertEquals(1, subscription.next().count());
            append(client, "ends", numbers);
            RefusedException refused = assertThrows(RefusedException.class, subscription::next);
            assertEquals("subscriber_slow", refused.code());
            // The next call continues there.
            assertEquals(100, subscription.next().count());
        }
        try (Subscription subscription = client.subscribe(config.slow(Slow.SKIP))) {
            long count = 0;
            while (count + subscription.skipped() < 100) {
                count += subscription.next().count();
            }
            assertTrue(subscription.skipped() > 0);
            assertInstanceOf(Notice.Skipped.class, notices.get(0));
            client.deleteTopic("slow");
            assertEquals(
                    "topic_not_found",
                    assertThrows(RefusedException.class, subscription::next).code());
            assertEquals(new Notice.Deleted("slow"), notices.get(notices.size() - 1));
        }
    }

    @Test
    void wrongSettingsAndKeysAreRefused() throws IOException {
        assertThrows(ConfigException.class, () -> client.subscribe(new SubscriptionConfig()));
        assertThrows(ConfigException.class, () -> new SubscriptionConfig().cursor("now"));
        assertThrows(TopicNotFoundException.class, () -> client.subscribe(new SubscriptionConfig().topics("missing")));
        try (Broker guarded = Broker.start("--api-key", "secret");
                Client right = new Client(new ClientConfig(guarded.url()).apiKey("secret"));
                Client wrong = guarded.client()) {
            append(right, "dns", "1");
            assertEquals(
                    "unauthorized",
                    assertThrows(RefusedException.class, () -> wrong.subscribe(new SubscriptionConfig().topics("dns")))
                            .code());
            SubscriptionConfig all = new SubscriptionConfig().topics("dns").start(Start.earliest());
            try (Subscription subscription = right.subscribe(all)) {
                assertEquals(Map.of("dns", List.of("0 1")), receive(subscription, 1));
            }
        }
    }

    @Test
    void anInterruptedWaitLosesNothingAndCloseEndsOne() throws Exception {
        append(client, "interrupted", "before");
        Subscription subscription = client.subscribe(new SubscriptionConfig().topics("interrupted"));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedCallException.class, subscription::next);
        assertTrue(Thread.interrupted());
        append(client, "interrupted", "1");
        assertEquals(Map.of("interrupted", List.of("1 1")), receive(subscription, 1));
        CompletableFuture<Void> waiting =
                CompletableFuture.runAsync(() -> assertThrows(StoppedException.class, subscription::next));
        subscription.close();
        waiting.join();
    }

    /** A connection of a WebSocket on which this text is the first message. */
    private static void first(Scripted.Peer peer, String text) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            head.append((char) peer.in().read());
        }
        Matcher key = Pattern.compile("(?i)sec-websocket-key: (\\S+)").matcher(head);
        assertTrue(key.find(), head.toString());
        String accept;
        try {
            byte[] both = (key.group(1) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII);
            accept = Base64.getEncoder()
                    .encodeToString(MessageDigest.getInstance("SHA-1").digest(both));
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError(error);
        }
        peer.send("HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: " + accept
                + "\r\n\r\n" + (char) 0x81 + (char) text.length() + text);
    }

    @Test
    void whatBeginsWithoutACursorIsRefusedWithTheReason() throws IOException {
        try (Scripted server = new Scripted((number, peer) -> first(peer, "{\"type\":\"subscribed\"}"));
                Client lonely = new Client(server.url())) {
            SubscriptionConfig config = new SubscriptionConfig().prefixes("").retries(RetryPolicy.NONE);
            RawlineException error = assertThrows(RawlineException.class, () -> lonely.subscribe(config));
            assertTrue(error.getMessage().contains("no cursor"), error.getMessage());
            assertTrue(error.getMessage().contains("subscribe to fewer topics"), error.getMessage());
        }
    }
}
