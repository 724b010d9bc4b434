package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RetryPolicy;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.testkit.Broker;
import io.rawline.testkit.FakeBroker;
import io.rawline.testkit.S3Server;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * Brokers whose connections stay open although they don't respond: requests continue at others. A broker that is slow
 * is not one of them.
 */
class SilentBrokerTest {
    /** Longer than any test: nothing ends a request but that its broker is found silent. */
    private static final Duration NEVER = Duration.ofMinutes(10);

    private static ClientConfig config(FakeBroker... brokers) {
        List<String> urls = new ArrayList<>();
        for (FakeBroker broker : brokers) {
            urls.add(broker.url());
        }
        return new ClientConfig(String.join(",", urls)).requestTimeout(NEVER).retries(RetryPolicy.NONE);
    }

    private static void append(Client client, int bytes) {
        client.appendRecords("t", new int[] {bytes}, ByteBuffer.allocate(bytes));
    }

    private static FakeBroker slow() throws IOException {
        return new FakeBroker((peer, body) -> {
            try {
                // Longer than a client waits before it asks.
                Thread.sleep(4_000);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        });
    }

    @Test
    void aRequestToASilentBrokerHasAnUnknownOutcomeAndTheNextGoesElsewhere() throws Exception {
        try (FakeBroker first = new FakeBroker();
                FakeBroker second = new FakeBroker();
                Client client = new Client(config(first, second))) {
            append(client, 1);
            first.pause(true);
            RuntimeException error = assertThrows(ConnectionBrokenException.class, () -> append(client, 1));
            assertTrue(error.getMessage().contains("/health"), error.getMessage());
            // It stays there and doesn't wait for the silent one again.
            append(client, 1);
            append(client, 20_000);
            assertEquals(List.of(1, 2, 0), List.of(first.appends(), second.appends(), second.questions()));
        }
    }

    @Test
    void anOwnerThatIsSilentIsLeftForTheGivenBroker() throws Exception {
        try (FakeBroker given = new FakeBroker();
                FakeBroker owner = new FakeBroker();
                Client client = new Client(config(given))) {
            given.owner(owner.url());
            append(client, 1);
            append(client, 1);
            owner.pause(true);
            assertThrows(ConnectionBrokenException.class, () -> append(client, 1));
            // The response still names it.
            append(client, 1);
            append(client, 20_000);
            assertEquals(List.of(3, 1, 0), List.of(given.appends(), owner.appends(), given.questions()));
        }
    }

    /** One producer's requests share a connection, the other's doesn't. */
    @Test
    void aProducerContinuesElsewhereAndSendsWhatWasInFlightAgain() throws Exception {
        List<String> stored = Collections.synchronizedList(new ArrayList<>());
        try (FakeBroker first = new FakeBroker();
                FakeBroker second = new FakeBroker((peer, body) -> stored.add(body));
                Client client = new Client(config(first, second));
                Producer sharing = client.producer("t", new ProducerConfig().inFlightMax(4));
                Producer alone = client.producer("t", new ProducerConfig().inFlightMax(1))) {
            sharing.send("before");
            alone.send("before");
            sharing.flush();
            alone.flush();
            first.pause(true);
            sharing.send("after");
            alone.send("after");
            sharing.flush();
            alone.flush();
            assertEquals(2, stored.size());
            assertTrue(stored.stream().allMatch(body -> body.contains("after")), stored.toString());
        }
    }

    /** A bucket that takes long, or a broker with too much to do. */
    @Test
    void aBrokerThatIsSlowIsAskedAndKeepsItsRequests() throws Exception {
        try (FakeBroker first = slow();
                FakeBroker second = new FakeBroker();
                Client client = new Client(config(first, second));
                Producer sharing = client.producer("t", new ProducerConfig().inFlightMax(4))) {
            sharing.send("x");
            append(client, 1);
            sharing.flush();
            assertEquals(List.of(2, 0, 0), List.of(first.appends(), second.appends(), second.questions()));
            assertTrue(first.questions() > 0);
        }
    }

    @Test
    void aBrokerIsNotAskedIfItRespondsOrNoOtherCanReplaceIt() throws Exception {
        try (FakeBroker first = new FakeBroker();
                FakeBroker second = new FakeBroker();
                FakeBroker alone = slow();
                Client several = new Client(config(first, second));
                Client one = new Client(config(alone))) {
            append(several, 1);
            append(one, 1);
            append(several, 1);
            assertEquals(List.of(2, 0, 1), List.of(first.appends(), second.appends(), alone.appends()));
            assertEquals(List.of(0, 0, 0), List.of(first.questions(), second.questions(), alone.questions()));
        }
    }

    /** Requests in flight at the paused broker may take effect when it continues. */
    @Test
    void everyRecordIsThereOnceAndInOrderAfterAPause() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        try (S3Server bucket = server.get();
                Broker first = Broker.onBucket(bucket, "shared");
                Broker second = Broker.sharing(bucket, "shared");
                Client client = new Client(new ClientConfig(first.url() + "," + second.url()).requestTimeout(NEVER));
                Client other = second.client()) {
            List<String> expected = new ArrayList<>();
            ProducerConfig config =
                    new ProducerConfig().inFlightMax(4).batchRecordsMax(1).requestBytesMax(0);
            try (Producer producer = client.producer("t", config)) {
                produce(producer, expected);
                first.pause();
                produce(producer, expected);
                first.resume();
                produce(producer, expected);
            }
            List<String> found = new ArrayList<>();
            ConsumerConfig all = new ConsumerConfig().endOffset(expected.size());
            try (Consumer consumer = other.consumer("t", all)) {
                consumer.forEach(record -> found.add(record.text()));
            }
            assertEquals(expected, found);
        }
    }

    private static void produce(Producer producer, List<String> expected) {
        for (int i = 0; i < 50; i++) {
            String record = "record " + expected.size();
            expected.add(record);
            producer.send(record);
        }
        producer.flush();
    }
}
