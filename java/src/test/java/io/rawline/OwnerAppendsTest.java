package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.internal.http.Json;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.testkit.Broker;
import io.rawline.testkit.CuttingProxy;
import io.rawline.testkit.FakeBroker;
import io.rawline.testkit.S3Server;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Appends that go to the owner of a topic's journal directly. */
class OwnerAppendsTest {
    /** No server listens there: the port is reserved for no use. */
    private static final String UNREACHABLE = "http://127.0.0.1:1";

    private static final Pattern RECORD = Pattern.compile("r[0-9]{4}");

    private static void append(Client client, String topic, int bytes) {
        client.appendRecords(topic, new int[] {bytes}, ByteBuffer.allocate(bytes));
    }

    private static void append(Client client, String topic) {
        append(client, topic, 1);
    }

    @Test
    void appendsGoToTheOwnerThatAResponseHasNamed() throws Exception {
        try (FakeBroker any = new FakeBroker();
                FakeBroker owner = new FakeBroker()) {
            any.owner(owner.url());
            Client client = new Client(new ClientConfig(any.url()).apiKey("secret"));
            for (int i = 0; i < 3; i++) {
                append(client, "t");
            }
            append(client, "t", 20_000);
            client.appendRecordBatches("t", 0, ByteBuffer.allocate(100));
            append(client, "u");
            assertEquals(List.of(2, 4), List.of(any.appends(), owner.appends()));
            String host = owner.url().substring("http://".length());
            for (String head : owner.heads()) {
                assertTrue(head.contains("host: " + host + "\r\nauthorization: Bearer secret\r\n"), head);
            }
            // Everything else stays where it is.
            client.topic("t");
            assertEquals(1, owner.connections());
            // The connections to owners are closed with the others.
            client.close();
            owner.awaitDisconnected();
            assertThrows(StoppedException.class, () -> append(client, "t"));
        }
    }

    @Test
    void anOwnerThatNamesAnotherIsLeft() throws Exception {
        try (FakeBroker any = new FakeBroker();
                FakeBroker first = new FakeBroker();
                FakeBroker second = new FakeBroker();
                Client client = new Client(any.url())) {
            any.owner(first.url());
            append(client, "t");
            append(client, "t");
            first.owner(second.url());
            append(client, "t");
            append(client, "t");
            second.owner(any.url());
            any.owner("");
            append(client, "t");
            append(client, "t");
            append(client, "t");
            assertEquals(List.of(3, 2, 2), List.of(any.appends(), first.appends(), second.appends()));
        }
    }

    @Test
    void anAppendContinuesElsewhereIfTheOwnerCannotBeConnectedTo() throws Exception {
        try (FakeBroker any = new FakeBroker();
                Client client = new Client(new ClientConfig(any.url()).retries(RetryPolicy.NONE))) {
            any.owner(UNREACHABLE);
            for (int i = 0; i < 3; i++) {
                append(client, "t" + i, 1);
                append(client, "t" + i, 20_000);
                client.appendRecordBatches("t" + i, 0, ByteBuffer.allocate(100));
                append(client, "t" + i, 1);
            }
            assertEquals(12, any.appends());
        }
    }

    @Test
    void whatWasSentToAnOwnerThatFailsIsAnErrorAndTheNextGoesToAnyBroker() throws Exception {
        Deque<FakeBroker.Storing> failures = new ArrayDeque<>(List.of(
                (peer, body) -> {
                    throw new IOException("it breaks");
                },
                (peer, body) -> peer.answer(400, "", "{\"code\":\"bad_batch\",\"error\":\"x\"}")));
        try (FakeBroker any = new FakeBroker();
                FakeBroker owner =
                        new FakeBroker((peer, body) -> failures.removeFirst().store(peer, body));
                Client client = new Client(any.url())) {
            any.owner(owner.url());
            append(client, "t");
            assertThrows(ConnectionBrokenException.class, () -> append(client, "t"));
            append(client, "t");
            assertThrows(RefusedException.class, () -> append(client, "t"));
            assertEquals(List.of(2, 2), List.of(any.appends(), owner.appends()));
        }
    }

    /** Sends with up to four requests in flight; returns the records in the order in which they were stored. */
    private static List<String> produce(FakeBroker any, List<String> stored, int count) {
        ProducerConfig config = new ProducerConfig()
                .inFlightMax(4)
                .batchRecordsMax(1)
                .requestBytesMax(0)
                .exactlyOnce(false);
        try (Client client = new Client(any.url());
                Producer producer = client.producer("t", config)) {
            for (int i = 0; i < count; i++) {
                producer.send(String.format("r%04d", i));
            }
            producer.flush();
        }
        return List.copyOf(stored);
    }

    private static void store(List<String> stored, String body) {
        Matcher record = RECORD.matcher(body);
        assertTrue(record.find(), body);
        stored.add(record.group());
    }

    private static List<String> records(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> String.format("r%04d", i))
                .toList();
    }

    /** A broker that receives several requests at once, and takes its time to forward all but the first. */
    private static FakeBroker forwarding(List<String> stored) throws IOException {
        AtomicInteger appends = new AtomicInteger();
        return new FakeBroker((peer, body) -> {
            if (appends.getAndIncrement() > 0) {
                pause();
            } else {
                while (peer.in().available() == 0) {
                    Thread.onSpinWait();
                }
            }
            store(stored, body);
        });
    }

    private static void pause() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    @Test
    void aProducersRequestsDoNotOvertakeThoseThatAreBeingForwarded() throws Exception {
        List<String> stored = Collections.synchronizedList(new ArrayList<>());
        try (FakeBroker any = forwarding(stored);
                FakeBroker owner = new FakeBroker((peer, body) -> store(stored, body))) {
            any.owner(owner.url());
            assertEquals(records(100), produce(any, stored, 100));
            // One that teaches who the owner is, and what was in flight by then.
            assertTrue(any.appends() > 1 && any.appends() <= 4, any.appends() + " were forwarded");
            assertEquals(100, any.appends() + owner.appends());
        }
    }

    @Test
    void aProducersRequestsStayInOrderIfTheOwnerCannotBeConnectedTo() throws Exception {
        List<String> stored = Collections.synchronizedList(new ArrayList<>());
        try (FakeBroker any = forwarding(stored)) {
            any.owner(UNREACHABLE);
            assertEquals(records(20), produce(any, stored, 20));
        }
    }

    /** The URL of the broker that owns the journal, once it and others agree on that. */
    private static String ownerOf(List<Broker> brokers) throws Exception {
        while (true) {
            Set<String> owners = new HashSet<>();
            boolean seesAll = true;
            for (Broker broker : brokers) {
                HttpRequest request = HttpRequest.newBuilder(URI.create(broker.url() + "/brokers"))
                        .build();
                String text = HttpClient.newHttpClient()
                        .send(request, HttpResponse.BodyHandlers.ofString())
                        .body();
                List<?> members = (List<?>) ((Map<?, ?>) Json.parse(text)).get("brokers");
                seesAll &= members.size() == brokers.size();
                for (Object member : members) {
                    Map<?, ?> card = (Map<?, ?>) member;
                    seesAll &= "live".equals(card.get("state"));
                    if (Boolean.TRUE.equals(card.get("is_owner"))) {
                        owners.add(card.get("url").toString());
                    }
                }
            }
            if (seesAll && owners.size() == 1) {
                return owners.iterator().next();
            }
            pause();
        }
    }

    @Test
    void appendsGoToTheBrokerThatOwnsTheJournal() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        try (S3Server bucket = server.get();
                Broker first = Broker.onBucket(bucket, "shared");
                Broker second = Broker.sharing(bucket, "shared")) {
            String owner = ownerOf(List.of(first, second));
            Broker other = owner.equals(first.url()) ? second : first;
            List<String> expected = new ArrayList<>();
            try (CuttingProxy proxy = new CuttingProxy(other.url(), Integer.MAX_VALUE);
                    Client client = new Client(proxy.url())) {
                for (int i = 0; i < 20; i++) {
                    append(client, "plain");
                }
                assertEquals(1, proxy.appends());
                try (Producer producer = client.producer(
                        "t",
                        new ProducerConfig().inFlightMax(4).batchRecordsMax(1).requestBytesMax(0))) {
                    for (int i = 0; i < 50; i++) {
                        producer.send("record " + i);
                        expected.add("record " + i);
                    }
                }
                // The first request of such a producer is alone.
                assertEquals(2, proxy.appends());
                List<String> found = new ArrayList<>();
                try (Consumer consumer = client.consumer("t", new ConsumerConfig().endOffset(50))) {
                    consumer.forEach(record -> found.add(record.text()));
                }
                assertEquals(expected, found);
            }
        }
    }
}
