package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConfigException;
import io.rawline.error.RetryPolicy;
import io.rawline.subscription.Subscription;
import io.rawline.subscription.SubscriptionConfig;
import io.rawline.testkit.Broker;
import io.rawline.testkit.S3Server;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients that name their zone read from a broker there, and from another one while none lives there. */
class ZonesTest {
    private final HttpClient http = HttpClient.newHttpClient();
    private S3Server bucket;
    private Broker home;
    private Broker near;

    @BeforeEach
    void start() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        bucket = server.get();
        home = Broker.onBucket(bucket, "zones", "--zone", "a");
        near = Broker.sharing(bucket, "zones", "--zone", "b");
        bothLive();
    }

    @AfterEach
    void stop() throws IOException {
        if (bucket != null) {
            near.close();
            home.close();
            bucket.close();
        }
    }

    private String get(Broker broker, String path) throws Exception {
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(broker.url() + path)).build();
        return http.send(request, BodyHandlers.ofString()).body();
    }

    /** Waits until the broker that the client is given sees another live one. */
    private void bothLive() throws Exception {
        while (get(home, "/brokers").split("\"state\":\"live\"", -1).length != 3) {
            Thread.sleep(20);
        }
    }

    /** The value of a metric without labels. */
    private long metric(Broker broker, String name) throws Exception {
        String line = get(broker, "/metrics")
                .lines()
                .filter(each -> each.startsWith(name + " "))
                .findFirst()
                .get();
        return Long.parseLong(line.substring(name.length() + 1));
    }

    private long served(Broker broker) throws Exception {
        return metric(broker, "rawline_read_records_total{protocol=\"http\"}");
    }

    private void append(String text) {
        try (Client client = home.client()) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            client.appendRecords("t", new int[] {bytes.length}, ByteBuffer.wrap(bytes));
        }
    }

    private Client client(String zone) {
        RetryPolicy retries = RetryPolicy.lasting(Duration.ofMinutes(1));
        return new Client(new ClientConfig(home.url()).zone(zone).retries(retries));
    }

    @Test
    void aConsumerReadsInItsZoneAndElsewhereWhileNoBrokerLivesThere() throws Exception {
        for (int i = 0; i < 40; i++) {
            append("record " + i);
        }
        // Reads of one record each, of which the first says where the others go.
        ConsumerConfig config = new ConsumerConfig().bytesMax(1).endOffset(40);
        try (Client client = client("b");
                Consumer consumer = client.consumer("t", config)) {
            for (int i = 0; i < 10; i++) {
                assertEquals(i + 1, consumer.next().nextOffset());
            }
            assertEquals(1, served(home));
            assertTrue(served(near) >= 9);
            near.kill();
            for (int i = 10; i < 20; i++) {
                assertEquals(i + 1, consumer.next().nextOffset());
            }
            assertTrue(served(home) >= 8, "a read in flight at the broker that was killed is repeated");
            near = Broker.sharing(bucket, "zones", "--zone", "b");
            bothLive();
            long before = served(home);
            for (int i = 20; i < 40; i++) {
                assertEquals(i + 1, consumer.next().nextOffset());
            }
            assertTrue(served(home) <= before + 3 && served(near) >= 17, "it returns to its zone");
        }
        long before = served(home);
        try (Client client = client("c");
                Consumer consumer = client.consumer("t", new ConsumerConfig().endOffset(40))) {
            // A read takes what the broker finds at hand in time.
            while (consumer.next().nextOffset() < 40) {}
            assertEquals(40, served(home) - before, "no broker is in this zone");
        }
    }

    @Test
    void aSubscriptionIsServedInItsZoneAndReturnsToIt() throws Exception {
        append("record 0");
        for (Broker broker : new Broker[] {home, near}) {
            try (Client client = broker.client();
                    Consumer consumer = client.consumer("t", new ConsumerConfig().endOffset(1))) {
                assertEquals(1, consumer.next().nextOffset());
            }
        }
        SubscriptionConfig config = new SubscriptionConfig().topics("t");
        try (Client client = client("b");
                Subscription subscription = client.subscribe(config)) {
            append("record 1");
            assertEquals(2, subscription.next().nextOffset());
            assertEquals(1, metric(near, "rawline_subscriptions"));
            near.kill();
            append("record 2");
            assertEquals(3, subscription.next().nextOffset());
            near = Broker.sharing(bucket, "zones", "--zone", "b");
            bothLive();
            append("record 3");
            assertEquals(4, subscription.next().nextOffset());
            append("record 4");
            assertEquals(5, subscription.next().nextOffset());
            assertEquals(1, metric(near, "rawline_subscriptions"));
        }
    }

    @Test
    void aZoneThatNoHeaderCarriesIsRefused() {
        ClientConfig config = new ClientConfig(home.url()).zone("a\nb");
        assertThrows(ConfigException.class, () -> new Client(config).close());
        try (Client client = client("zürich 1")) {
            client.health();
        }
    }
}
