package io.rawline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.batch.Batch;
import io.rawline.batch.BatchException;
import io.rawline.batch.Codec;
import io.rawline.batch.Records;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.AnswerException;
import io.rawline.error.ConfigException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.ErrorKind;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.StoppedException;
import io.rawline.error.TopicNotFoundException;
import io.rawline.error.UnreachableException;
import io.rawline.producer.Producer;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.record.Start;
import io.rawline.testkit.Batches;
import io.rawline.testkit.Broker;
import io.rawline.testkit.Reading;
import io.rawline.topic.Appended;
import io.rawline.topic.CleanupPolicy;
import io.rawline.topic.Payload;
import io.rawline.topic.Retention;
import io.rawline.topic.TopicInfo;
import io.rawline.topic.Trimmed;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The client's requests, against a real broker. */
class ClientTest {
    private static Broker broker;

    @BeforeAll
    static void start() {
        broker = Broker.start();
    }

    @AfterAll
    static void stop() throws IOException {
        broker.close();
    }

    private static ByteBuffer numbered(Codec codec, int from, int to) {
        List<String> records = new ArrayList<>();
        for (int i = from; i < to; i++) {
            records.add("record " + i);
        }
        return Batches.build(codec, records);
    }

    @Test
    void batchesAreReceivedExactlyAsSent() {
        try (Client client = broker.client()) {
            client.health();
            ByteBuffer first = numbered(Codec.ZSTD, 0, 100);
            ByteBuffer second = numbered(Codec.NONE, 100, 105);
            ByteBuffer sent = ByteBuffer.allocate(first.remaining() + second.remaining());
            sent.put(first.duplicate()).put(second.duplicate()).flip();
            // Split inside a batch.
            ByteBuffer front = sent.slice(0, 100);
            ByteBuffer back = ByteBuffer.allocateDirect(sent.limit() - 100)
                    .put(sent.duplicate().position(100))
                    .flip();
            Appended appended = client.append("exact", front, ByteBuffer.allocate(0), back);
            assertEquals(new Appended(0, 105), appended);

            Fetched fetched = client.read("exact", ReadOptions.from(0));
            assertEquals(sent, fetched.bytes());
            assertEquals(105, fetched.topicNextOffset());
            assertEquals(105, fetched.count());

            // Into the same memory; from inside the compressed batch, which is served whole.
            client.read("exact", ReadOptions.from(42), fetched);
            assertEquals(sent, fetched.bytes());
            assertEquals(0, fetched.firstOffset());
            assertEquals(63, fetched.count());
            assertEquals("record 42", fetched.iterator().next().text());
            Records records = fetched.records();
            assertTrue(records.next());
            assertEquals("record 42", records.text());
            assertEquals(1_700_000_000_123_456L, records.createdUs());
        }
    }

    @Test
    void recordsAreAppendedFromSizesAndData() {
        try (Client client = broker.client()) {
            int[] sizes = {3, 0, 2};
            assertEquals(new Appended(0, 3), client.appendRecords("sizes", sizes, ByteBuffer.wrap("onemo".getBytes())));
            assertEquals(List.of("one", "", "mo"), Reading.all(client, "sizes"));
            assertEquals(
                    "batch_empty",
                    assertThrows(BatchException.class, () -> client.append("sizes", ByteBuffer.allocate(0)))
                            .code());
            assertEquals(
                    new Appended(3, 108),
                    client.appendAsync("sizes", numbered(Codec.LZ4, 0, 105)).join());
            assertEquals(
                    105, client.readAsync("sizes", ReadOptions.from(3)).join().count());
        }
    }

    @Test
    void aLongAppendIsReadBackUnchanged() {
        try (Client client = broker.client()) {
            byte[] data = new byte[20 << 20];
            new Random(3).nextBytes(data);
            int[] sizes = {data.length - 5, 5};
            client.appendRecords("long", sizes, ByteBuffer.wrap(data));
            client.appendRecords(
                    "long",
                    sizes,
                    ByteBuffer.allocateDirect(data.length).put(data).flip());
            // A read may return one batch or both: the broker responds with what it has memory for.
            long offset = 0;
            while (offset < 4) {
                Fetched fetched = client.read("long", ReadOptions.from(offset));
                assertFalse(fetched.isEmpty());
                for (Batch batch : fetched.batches()) {
                    assertEquals(ByteBuffer.wrap(data), batch.data());
                    assertEquals(ByteBuffer.wrap(data, data.length - 5, 5), batch.record(1));
                }
                offset = fetched.nextOffset();
            }
            assertEquals(4, offset);
        }
    }

    @Test
    void aReadWaitsForRecords() throws Exception {
        try (Client client = broker.client()) {
            client.setPayload("waits", Payload.BYTES);
            Fetched fetched = client.read("waits", ReadOptions.from(0).waitMax(Duration.ofMillis(20)));
            assertTrue(fetched.isEmpty());
            assertEquals(0, fetched.nextOffset());
            CompletableFuture<Fetched> read =
                    client.readAsync("waits", ReadOptions.from(0).waitMax(Duration.ofSeconds(60)));
            client.appendRecords("waits", new int[] {1}, ByteBuffer.wrap(new byte[] {'x'}));
            assertEquals(1, read.join().count());
        }
    }

    @Test
    void aReadRespectsItsLimits() {
        try (Client client = broker.client()) {
            client.append("limits", numbered(Codec.NONE, 0, 1000));
            Fetched fetched = client.read("limits", ReadOptions.from(10).recordsMax(5));
            assertEquals(15, fetched.nextOffset());
            assertEquals(5, fetched.count());
            assertTrue(client.read("limits", ReadOptions.from(10).bytesMax(100)).count() < 20);
            ClientConfig narrow =
                    new ClientConfig(broker.url()).answerBytesMax(100).retries(RetryPolicy.NONE);
            try (Client strict = new Client(narrow)) {
                assertThrows(AnswerException.class, () -> strict.read("limits", ReadOptions.from(0)));
            }
        }
    }

    @Test
    void topicsAreDescribed() {
        try (Client client = broker.client()) {
            TopicInfo created = client.setPayload("described", Payload.BYTES);
            assertEquals(0, created.nextOffset());
            assertTrue(created.latestCommitAt().isEmpty());
            client.append("described", numbered(Codec.NONE, 0, 3));
            TopicInfo info = client.topic("described");
            assertEquals(3, info.records());
            assertTrue(info.bytes() > 0 && info.objects() == 1 && info.payload() == Payload.BYTES);
            assertEquals(
                    Payload.VALUE, client.setPayload("described", Payload.VALUE).payload());
            assertTrue(client.topics().stream().anyMatch(topic -> topic.equals(client.topic("described"))));
            Instant commit = info.latestCommitAt().orElseThrow();
            assertEquals(0, client.offsetAt("described", commit.minusSeconds(60)));
            assertEquals(3, client.offsetAt("described", commit.plusSeconds(60)));
        }
    }

    @Test
    void topicsAreCreatedAndDeleted() {
        try (Client client = broker.client()) {
            Retention both = new Retention(OptionalDouble.of(24), OptionalLong.of(1L << 40));
            TopicInfo created = client.createTopic("deleted", Payload.VALUE, both);
            assertEquals(Payload.VALUE, created.payload());
            assertEquals(both, created.retention());
            assertEquals(0, created.nextOffset());
            RefusedException exists = assertThrows(RefusedException.class, () -> client.createTopic("deleted"));
            assertEquals("topic_exists", exists.code());
            assertEquals(409, exists.status());
            client.append("deleted", numbered(Codec.NONE, 0, 3));
            client.deleteTopic("deleted");
            assertThrows(TopicNotFoundException.class, () -> client.topic("deleted"));
            assertThrows(TopicNotFoundException.class, () -> client.read("deleted", ReadOptions.from(0)));
            assertThrows(TopicNotFoundException.class, () -> client.deleteTopic("deleted"));
            assertEquals(0, client.append("deleted", numbered(Codec.NONE, 0, 2)).firstOffset());
            assertEquals(Retention.UNLIMITED, client.topic("deleted").retention());
            client.deleteTopic("deleted");
            assertEquals(Payload.BYTES, client.createTopic("deleted").payload());
        }
    }

    @Test
    void recordsWithoutKeysAreRefusedInCompactedTopics() {
        try (Client client = broker.client()) {
            CleanupPolicy compact = CleanupPolicy.COMPACT;
            TopicInfo created = client.createTopic("compacted", Payload.BYTES, Retention.UNLIMITED, 2, compact);
            assertEquals(compact, created.cleanupPolicy());
            assertEquals(2, created.partitions());
            RefusedException refused =
                    assertThrows(RefusedException.class, () -> client.append("compacted", numbered(Codec.NONE, 0, 1)));
            assertEquals("key_missing", refused.code());
            for (CleanupPolicy policy : CleanupPolicy.values()) {
                assertEquals(
                        policy, client.setCleanupPolicy("compacted", policy).cleanupPolicy());
                assertEquals(
                        policy, client.setPayload("compacted", Payload.VALUE).cleanupPolicy());
                assertEquals(policy, client.topic("compacted").cleanupPolicy());
            }
            assertThrows(NullPointerException.class, () -> client.setCleanupPolicy("compacted", null));
        }
    }

    @Test
    void limitsAreSetAndRecordsTrimmed() {
        try (Client client = broker.client()) {
            client.append("trimmed", numbered(Codec.NONE, 0, 3));
            assertEquals(Retention.UNLIMITED, client.topic("trimmed").retention());
            Retention both = new Retention(OptionalDouble.of(0.5), OptionalLong.of(1L << 40));
            assertEquals(both, client.setRetention("trimmed", both).retention());
            assertEquals(
                    both, client.setPayload("trimmed", Payload.VALUE).retention(), "other settings stay as they are");
            TopicInfo limited = client.setRetention("trimmed", Retention.ofHours(24));
            assertEquals(Retention.ofHours(24), limited.retention());
            assertEquals(Payload.VALUE, limited.payload());
            assertEquals(
                    Retention.UNLIMITED,
                    client.setRetention("trimmed", Retention.UNLIMITED).retention());
            assertThrows(ConfigException.class, () -> Retention.ofHours(0));
            assertThrows(ConfigException.class, () -> Retention.ofBytes(0));
            assertEquals(new Trimmed(2, 3), client.trim("trimmed", 2));
            assertEquals(new Trimmed(2, 3), client.trim("trimmed", 1));
            RefusedException above = assertThrows(RefusedException.class, () -> client.trim("trimmed", 4));
            assertEquals("offset_out_of_bounds", above.code());
            RefusedException deleted =
                    assertThrows(RefusedException.class, () -> client.read("trimmed", ReadOptions.from(1)));
            assertTrue(deleted.getMessage().contains("first offset 2"), deleted.getMessage());
            assertEquals(2, client.read("trimmed", ReadOptions.from(2)).firstOffset());
        }
    }

    @Test
    void refusedRequestsSayWhy() throws IOException {
        try (Broker strict = Broker.start("--no-create-topics");
                Client client = strict.client()) {
            RefusedException missing = assertThrows(RefusedException.class, () -> client.topic("t"));
            assertEquals(404, missing.status());
            assertEquals("topic_not_found", missing.code());
            assertEquals(ErrorKind.FIX_REQUEST, missing.kind());
        }
        try (Client client = broker.client()) {
            ByteBuffer damaged = numbered(Codec.NONE, 0, 1);
            damaged.put(70, (byte) (damaged.get(70) ^ 1));
            RefusedException refused = assertThrows(RefusedException.class, () -> client.append("refused", damaged));
            assertEquals("batch_crc", refused.code());
            assertFalse(refused.isRetryable());
            // The client still works.
            client.topics();
            assertThrows(RefusedException.class, () -> client.topic("no/name at all"));
        }
    }

    @Test
    void aTopicThatDoesNotExistIsNamed() throws IOException {
        try (Broker strict = Broker.start("--no-create-topics");
                Client client = strict.client()) {
            List<Executable> requests = List.of(
                    () -> client.topic("typo"),
                    () -> client.read("typo", ReadOptions.from(0).waitMax(Duration.ofMinutes(10))),
                    () -> client.offsetAt("typo", Instant.EPOCH),
                    () -> client.append("typo", numbered(Codec.NONE, 0, 1)),
                    () -> client.consumer("typo"),
                    () -> client.consumer("typo", new ConsumerConfig().start(Start.offset(3)))
                            .next());
            for (Executable request : requests) {
                TopicNotFoundException missing = assertThrows(TopicNotFoundException.class, request);
                assertEquals("typo", missing.topic());
                assertEquals(404, missing.status());
                assertTrue(missing.getMessage().contains("\"typo\""), missing.getMessage());
                assertFalse(missing.getMessage().contains("--"), missing.getMessage());
            }
            assertEquals(List.of(), client.topics());
        }
    }

    @Test
    void aClosedClientSendsNothing() {
        Client client = broker.client();
        client.append("closed", numbered(Codec.NONE, 0, 1));
        Producer producer = client.producer("closed");
        Consumer consumer = client.consumer("closed");
        client.close();
        List<Executable> requests = List.of(
                client::health,
                () -> client.topic("closed"),
                () -> client.append("closed", numbered(Codec.NONE, 0, 1)),
                () -> client.read("closed", ReadOptions.from(0)),
                () -> producer.send("x").offset(),
                consumer::next);
        for (Executable request : requests) {
            StoppedException stopped = assertThrows(StoppedException.class, request);
            assertTrue(stopped.getMessage().contains("client is closed"), stopped.getMessage());
        }
        client.close();
    }

    @Test
    void aReadHasNoNegativeNumbers() {
        assertThrows(ConfigException.class, () -> ReadOptions.from(-1));
        assertThrows(ConfigException.class, () -> ReadOptions.from(0).recordsMax(-1));
        assertThrows(ConfigException.class, () -> ReadOptions.from(0).bytesMax(-1));
        ConfigException error =
                assertThrows(ConfigException.class, () -> ReadOptions.from(0).waitMax(Duration.ofMillis(-1)));
        assertEquals("waitMax must not be negative, not -1.0 ms", error.getMessage());
    }

    @Test
    void aWrongKeyIsRefusedWhateverTheLengthOfTheRequest() throws IOException {
        try (Broker guarded = Broker.start("--api-key", "secret")) {
            int[] sizes = {30 << 20};
            ByteBuffer data = ByteBuffer.allocateDirect(sizes[0]);
            for (String key : new String[] {null, "wrong"}) {
                try (Client client = new Client(new ClientConfig(guarded.url()).apiKey(key))) {
                    RefusedException refused = assertThrows(RefusedException.class, () -> client.topic("t"));
                    assertEquals(401, refused.status());
                    assertEquals("unauthorized", refused.code());
                    assertFalse(refused.getMessage().contains("wrong\""));
                    refused = assertThrows(RefusedException.class, () -> client.appendRecords("t", sizes, data));
                    assertEquals(401, refused.status());
                }
            }
            try (Client client = new Client(new ClientConfig(guarded.url()).apiKey("secret"))) {
                assertEquals(0, client.setPayload("t", Payload.BYTES).nextOffset());
            }
        }
    }

    @Test
    void aClientOutlivesItsConnections() throws IOException {
        try (Broker mortal = Broker.start()) {
            ClientConfig once = new ClientConfig(mortal.url()).retries(RetryPolicy.NONE);
            try (Client client = new Client(once)) {
                client.append("t", numbered(Codec.NONE, 0, 1));
                client.topic("t");
                mortal.kill();
                RawlineException gone = assertThrows(UnreachableException.class, () -> client.topic("t"));
                assertEquals(ErrorKind.WAIT, gone.kind());
                assertTrue(gone.getMessage().contains("rawline serve"), gone.getMessage());
                mortal.startAgain();
                assertEquals(new Appended(1, 2), client.append("t", numbered(Codec.NONE, 0, 1)));
                assertEquals(2, client.topic("t").nextOffset());
            }
        }
    }

    @Test
    void aReadIsRetriedUntilTheBrokerIsBack() throws Exception {
        try (Broker mortal = Broker.start();
                Client client = mortal.client()) {
            client.append("t", numbered(Codec.NONE, 0, 3));
            mortal.kill();
            CompletableFuture<Fetched> read = client.readAsync("t", ReadOptions.from(0));
            mortal.startAgain();
            assertEquals(3, read.join().count());
        }
    }

    @Test
    void anUnreachableBrokerIsNamed() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        ClientConfig config = new ClientConfig("http://127.0.0.1:" + port)
                .retries(new RetryPolicy(Duration.ofMillis(1), Duration.ofMillis(2), Duration.ofMillis(20)));
        try (Client client = new Client(config)) {
            assertThrows(UnreachableException.class, client::health);
            assertThrows(UnreachableException.class, () -> client.append("t", numbered(Codec.NONE, 0, 1)));
        }
        try (Client client = new Client(new ClientConfig("http://no-such-host.invalid").retries(RetryPolicy.NONE))) {
            assertTrue(assertThrows(UnreachableException.class, client::health)
                    .getMessage()
                    .contains("not known"));
        }
    }

    @Test
    void aRequestTimesOut() throws Exception {
        try (Broker slow = Broker.start();
                Client patient = slow.client()) {
            patient.append("t", numbered(Codec.NONE, 0, 1));
            ClientConfig hasty =
                    new ClientConfig(slow.url()).retries(RetryPolicy.NONE).requestTimeout(Duration.ofMillis(200));
            try (Client client = new Client(hasty)) {
                // The read's own wait extends the timeout: the read still waits after twice that time.
                ReadOptions waiting = ReadOptions.from(1).waitMax(Duration.ofMinutes(10));
                CompletableFuture<Boolean> isEmpty = CompletableFuture.supplyAsync(
                        () -> client.read("t", waiting).isEmpty());
                Thread.sleep(400);
                patient.append("t", numbered(Codec.NONE, 1, 2));
                assertFalse(isEmpty.get());
            }
            slow.pause();
            try (Client client = new Client(hasty)) {
                RawlineException late = assertThrows(RequestTimeoutException.class, () -> client.topic("t"));
                assertEquals(ErrorKind.TRY_AGAIN, late.kind());
                assertTrue(late.getMessage().contains("0.2 s"), late.getMessage());
                // A request that is longer than the sockets' buffers.
                ByteBuffer data = ByteBuffer.allocateDirect(30 << 20);
                assertThrows(
                        RequestTimeoutException.class,
                        () -> client.appendRecords("t", new int[] {data.capacity()}, data));
            }
            slow.resume();
            assertEquals("t", patient.topic("t").name());
        }
    }

    @Test
    void anInterruptEndsAWait() throws Exception {
        try (Client client = broker.client()) {
            client.setPayload("interrupted", Payload.BYTES);
            AtomicReference<RuntimeException> thrown = new AtomicReference<>();
            AtomicReference<Boolean> interrupted = new AtomicReference<>();
            Thread reader = new Thread(() -> {
                try {
                    client.read("interrupted", ReadOptions.from(0).waitMax(Duration.ofSeconds(60)));
                } catch (RuntimeException error) {
                    thrown.set(error);
                    interrupted.set(Thread.currentThread().isInterrupted());
                }
            });
            reader.start();
            reader.interrupt();
            reader.join();
            assertEquals(InterruptedCallException.class, thrown.get().getClass());
            assertEquals(true, interrupted.get());
        }
    }

    @Test
    void aServerThatIsNotABrokerIsReported() throws Exception {
        for (String answer : new String[] {
            "SSH-2.0-x\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"
        }) {
            try (ServerSocket other = new ServerSocket(0)) {
                CompletableFuture<Void> answering = answer(other, answer);
                try (Client client = new Client(
                        new ClientConfig("http://127.0.0.1:" + other.getLocalPort()).retries(RetryPolicy.NONE))) {
                    assertThrows(AnswerException.class, () -> client.topic("t"), answer);
                }
                answering.join();
            }
        }
    }

    @Test
    void responsesInChunksOrWithoutALengthAreRead() throws Exception {
        String batch = new String(toArray(numbered(Codec.NONE, 0, 1)), StandardCharsets.ISO_8859_1);
        String head = "HTTP/1.1 200 OK\r\nrawline-first-offset: 0\r\nrawline-next-offset: 1\r\n";
        String chunks = Integer.toHexString(10) + ";x=y\r\n" + batch.substring(0, 10) + "\r\n"
                + Integer.toHexString(batch.length() - 10) + "\r\n" + batch.substring(10)
                + "\r\n0\r\ntrailer: x\r\n\r\n";
        for (String answer : new String[] {
            head + "transfer-encoding: chunked\r\n\r\n" + chunks,
            head + "\r\n" + batch,
            "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + head + "Content-Length: " + batch.length() + "\r\n\r\n"
                    + batch
        }) {
            try (ServerSocket other = new ServerSocket(0)) {
                CompletableFuture<Void> answering = answer(other, answer);
                try (Client client = new Client("http://127.0.0.1:" + other.getLocalPort())) {
                    assertEquals(
                            "record 0",
                            client.read("t", ReadOptions.from(0))
                                    .iterator()
                                    .next()
                                    .text());
                }
                answering.join();
            }
        }
        // Truncated.
        try (ServerSocket other = new ServerSocket(0)) {
            CompletableFuture<Void> answering = answer(other, head + "content-length: 500\r\n\r\n" + batch);
            try (Client client = new Client(
                    new ClientConfig("http://127.0.0.1:" + other.getLocalPort()).retries(RetryPolicy.NONE))) {
                assertThrows(ConnectionBrokenException.class, () -> client.read("t", ReadOptions.from(0)));
            }
            answering.join();
        }
    }

    private static byte[] toArray(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** Reads a request's head, responds and closes the connection. */
    private static CompletableFuture<Void> answer(ServerSocket socket, String answer) {
        return CompletableFuture.runAsync(() -> {
            try (var connection = socket.accept()) {
                StringBuilder head = new StringBuilder();
                while (head.indexOf("\r\n\r\n") < 0) {
                    head.append((char) connection.getInputStream().read());
                }
                connection.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
            } catch (IOException error) {
                throw new CompletionException(error);
            }
        });
    }

    @Test
    void invalidSettingsAreNamed() {
        for (String url : new String[] {
            "",
            "127.0.0.1:51313",
            "localhost",
            "ftp://x",
            "https://",
            "http://x/?a=b",
            "http://u:p@x",
            "http://",
            "http:// x",
            "http://x:65536",
            "http://x:0",
            "http://a_b:99999",
            "http://a b_c",
            "http://a_b:x"
        }) {
            RawlineException error = assertThrows(ConfigException.class, () -> new Client(url), url);
            assertEquals(ErrorKind.FIX_REQUEST, error.kind());
        }
        ConfigException error =
                assertThrows(ConfigException.class, () -> new Client(new ClientConfig("http://x").apiKey("secret\n")));
        assertFalse(error.getMessage().contains("secret"));
    }
}
