package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.ConfigException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.UnreachableException;
import io.rawline.producer.Producer;
import io.rawline.producer.ProducerConfig;
import io.rawline.testkit.Broker;
import io.rawline.testkit.S3Server;
import io.rawline.testkit.Scripted;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Clients with the addresses of several brokers. */
class AddressesTest {
    /** No server listens there: the port is reserved for no use. */
    private static final String UNREACHABLE = "http://127.0.0.1:1";

    private static List<String> all(Client client, String topic, long end) {
        List<String> found = new ArrayList<>();
        try (Consumer consumer = client.consumer(topic, new ConsumerConfig().endOffset(end))) {
            consumer.forEach(record -> found.add(record.text()));
        }
        return found;
    }

    @Test
    void aProducerContinuesAtTheOtherBrokerWhenItsOwnIsKilled() throws Exception {
        Optional<S3Server> server = S3Server.start();
        Assumptions.assumeTrue(server.isPresent(), "no S3 server: run `make tools`, or set RAWLINE_S3_SERVER");
        int count = 60;
        try (S3Server bucket = server.get();
                Broker first = Broker.onBucket(bucket, "shared");
                Broker second = Broker.sharing(bucket, "shared");
                Client client = new Client(new ClientConfig(first.url() + ", " + second.url())
                        .retries(RetryPolicy.lasting(Duration.ofMinutes(1))));
                Client other = second.client()) {
            ProducerConfig config = new ProducerConfig().batchRecordsMax(3);
            try (Producer producer = client.producer("t", config)) {
                for (int i = 0; i < count; i++) {
                    producer.send(Integer.toString(i));
                    if (i == count / 2) {
                        producer.flush();
                        first.kill();
                    }
                }
            }
            List<String> expected =
                    IntStream.range(0, count).mapToObj(Integer::toString).toList();
            // Each once, in order; and reads continue too.
            assertEquals(expected, all(other, "t", count));
            assertEquals(expected, all(client, "t", count));
        }
    }

    @Test
    void theNextAddressIsUsedWhileOneCannotBeReachedAndThenStays() throws Exception {
        try (Scripted there = new Scripted((number, peer) -> {
                    while (peer.next() != null) {
                        peer.answer("{\"first_offset\":" + number + ",\"next_offset\":1}");
                    }
                });
                Client client =
                        new Client(new ClientConfig(UNREACHABLE + "," + there.url()).retries(RetryPolicy.NONE))) {
            for (int i = 0; i < 2; i++) {
                assertEquals(
                        0,
                        client.appendRecords("t", new int[] {1}, ByteBuffer.wrap(new byte[1]))
                                .firstOffset());
            }
            assertEquals(1, there.connections());
        }
    }

    @Test
    void addressesThatCannotBeUsedAreRefused() {
        ConfigException error =
                assertThrows(ConfigException.class, () -> new Client("http://a:1/path,http://b:1").close());
        assertTrue(error.getMessage().contains("\"/path\" and \"\""), error.getMessage());
        for (String wrong : List.of("http://a:1,", ",http://a:1", "http://a:1,b:1")) {
            assertThrows(ConfigException.class, () -> new Client(wrong).close(), wrong);
        }
        ClientConfig both = new ClientConfig(UNREACHABLE + ",http://127.0.0.1:2").retries(RetryPolicy.NONE);
        try (Client client = new Client(both)) {
            UnreachableException unreachable = assertThrows(UnreachableException.class, client::topics);
            assertTrue(unreachable.getMessage().contains(UNREACHABLE), unreachable.getMessage());
        }
    }
}
