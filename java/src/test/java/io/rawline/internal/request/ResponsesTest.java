package io.rawline.internal.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.Client;
import io.rawline.ClientConfig;
import io.rawline.batch.Codec;
import io.rawline.consumer.Consumer;
import io.rawline.consumer.ConsumerConfig;
import io.rawline.error.AnswerException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RetryPolicy;
import io.rawline.error.TopicNotFoundException;
import io.rawline.error.UnreachableException;
import io.rawline.producer.Producer;
import io.rawline.producer.Receipt;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import io.rawline.record.ReadOptions;
import io.rawline.record.Start;
import io.rawline.testkit.Background;
import io.rawline.testkit.Batches;
import io.rawline.topic.Extent;
import io.rawline.topic.TopicInfo;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Invalid responses of any kind: errors of this library, in bounded time and memory. */
class ResponsesTest {
    /**
     * A server that responds to each request with the same bytes, or to one for a topic's description with others, and
     * may close the connection after it.
     */
    private static final class Speaker implements AutoCloseable {
        private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final boolean hangsUp;
        private final AtomicInteger connected = new AtomicInteger();
        private final AtomicInteger open = new AtomicInteger();
        private volatile byte[] answer;
        /** Null to respond to all requests alike. */
        private volatile byte[] description;

        Speaker(boolean hangsUp) throws IOException {
            this.hangsUp = hangsUp;
            Background.start(() -> {
                while (true) {
                    Socket connection = socket.accept();
                    connected.incrementAndGet();
                    open.incrementAndGet();
                    Background.start(() -> speak(connection));
                }
            });
        }

        private void speak(Socket connection) throws IOException {
            try (connection) {
                StringBuilder head = new StringBuilder();
                for (int next; (next = connection.getInputStream().read()) >= 0; ) {
                    head.append((char) next);
                    if (next == '\n' && head.indexOf("\r\n\r\n") >= 0) {
                        boolean describes = description != null && head.indexOf("GET /topic?") == 0;
                        connection.getOutputStream().write(describes ? description : answer);
                        head.setLength(0);
                        if (hangsUp) {
                            return;
                        }
                    }
                }
            } finally {
                open.decrementAndGet();
            }
        }

        ClientConfig config() {
            return new ClientConfig("http://127.0.0.1:" + socket.getLocalPort());
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static byte[] answer(String head, ByteBuffer body) {
        byte[] bytes =
                (head + "content-length: " + body.remaining() + "\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
        ByteBuffer whole = ByteBuffer.allocate(bytes.length + body.remaining());
        return whole.put(bytes).put(body.duplicate()).array();
    }

    private static byte[] topic(String members) {
        String text = "{\"name\":\"t\",\"first_offset\":0,\"next_offset\":0,\"objects\":0,\"bytes\":0" + members + "}";
        return answer("HTTP/1.1 200 OK\r\n", ByteBuffer.wrap(text.getBytes()));
    }

    private static byte[] records(long firstOffset, Codec codec) {
        return answer(
                "HTTP/1.1 200 OK\r\nrawline-first-offset: " + firstOffset + "\r\nrawline-next-offset: 30\r\n",
                Batches.build(codec, Batches.compressible(10)));
    }

    @Test
    void anyResponseIsReadOrIsARawlineException() throws Exception {
        Random random = new Random(5);
        byte[][] good = {
            records(0, Codec.NONE),
            records(0, Codec.LZ4),
            records(0, Codec.ZSTD),
            answer(
                    "HTTP/1.1 503 x\r\nretry-after: 1\r\ncontent-type: application/json\r\n",
                    ByteBuffer.wrap("{\"code\":\"topic_busy\",\"error\":\"wait\"}".getBytes())),
            answer(
                    "HTTP/1.1 200 OK\r\n",
                    ByteBuffer.wrap(("{\"name\":\"t\",\"first_offset\":0,\"next_offset\":3,"
                                    + "\"objects\":1,\"bytes\":9,\"latest_commit_at\":\"2026-01-01T00:00:00Z\"}")
                            .getBytes())),
            ("HTTP/1.1 200 OK\r\nrawline-first-offset: 0\r\nrawline-next-offset: 1\r\ntransfer-encoding: chunked\r\n"
                            + "\r\n5\r\nabcde\r\n0\r\n\r\n")
                    .getBytes()
        };
        int read = 0;
        int refused = 0;
        try (Speaker speaker = new Speaker(true);
                Client client = new Client(speaker.config().retries(RetryPolicy.NONE))) {
            for (int i = 0; i < 2000; i++) {
                byte[] answer = good[random.nextInt(good.length)].clone();
                for (int changes = random.nextInt(4); changes > 0; changes--) {
                    // More often in the head, where most fields are.
                    int at = random.nextInt(random.nextBoolean() ? answer.length : Math.min(120, answer.length));
                    answer[at] = random.nextBoolean()
                            ? (byte) random.nextInt()
                            : (byte) "0123456789-+ \r\n:;".charAt(random.nextInt(17));
                }
                speaker.answer = answer;
                try {
                    if (i % 2 == 0) {
                        client.read("t", ReadOptions.from(0)).forEach(ConsumedRecord::text);
                    } else {
                        client.topic("t");
                    }
                    read++;
                } catch (RawlineException error) {
                    refused++;
                }
            }
        }
        assertTrue(read > 100 && refused > 500, read + " read, " + refused + " refused");
    }

    @Test
    void aRetryAfterBeyondTheRetriesFailsAtOnce() throws Exception {
        try (Speaker speaker = new Speaker(true);
                Client client = new Client(speaker.config())) {
            speaker.answer = answer("HTTP/1.1 503 x\r\nretry-after: 9223372036854775807\r\n", ByteBuffer.allocate(0));
            assertEquals(
                    503,
                    assertThrows(RefusedException.class, () -> client.topic("t"))
                            .status());
            Producer producer = client.producer("t");
            Receipt receipt = producer.send("x");
            assertEquals(
                    503, assertThrows(RefusedException.class, receipt::offset).status());
        }
    }

    @Test
    void recordsOfAnotherOffsetAreRefused() throws Exception {
        try (Speaker speaker = new Speaker(false);
                Client client = new Client(speaker.config().retries(RetryPolicy.NONE))) {
            // Ten records: those from 11 include 20; from 21 there is a gap, and those from 10 end before it.
            for (long first : new long[] {21, 10, -1, Long.MAX_VALUE}) {
                speaker.answer = records(first, Codec.NONE);
                assertThrows(AnswerException.class, () -> client.read("t", ReadOptions.from(20)), "" + first);
            }
            speaker.answer = records(11, Codec.NONE);
            assertEquals(1, client.read("t", ReadOptions.from(20)).count());
        }
    }

    @Test
    void descriptionsOfPartitionsAreChecked() throws Exception {
        try (Speaker speaker = new Speaker(false);
                Client client = new Client(speaker.config())) {
            // An earlier broker's topics have one partition.
            speaker.answer = topic("");
            TopicInfo one = client.topic("t");
            assertEquals(1, one.partitions());
            assertEquals(List.of(new Extent(0, 0)), one.offsets());
            speaker.answer = topic(",\"partitions\":2,\"offsets\":[{\"first_offset\":0,\"next_offset\":0},"
                    + "{\"first_offset\":3,\"next_offset\":5}]");
            TopicInfo two = client.topic("t");
            assertEquals(2, two.partitions());
            assertEquals(new Extent(3, 5), two.offsets().get(1));
            assertEquals(2, two.records());
            for (String wrong : List.of(
                    ",\"partitions\":0",
                    ",\"partitions\":1025",
                    ",\"partitions\":\"2\"",
                    ",\"partitions\":2,\"offsets\":[{\"first_offset\":0,\"next_offset\":0}]",
                    ",\"partitions\":1,\"offsets\":[7]",
                    ",\"partitions\":1,\"offsets\":7",
                    ",\"partitions\":1,\"offsets\":[{\"first_offset\":5,\"next_offset\":4}]")) {
                speaker.answer = topic(wrong);
                assertThrows(AnswerException.class, () -> client.topic("t"), wrong);
            }
        }
    }

    @Test
    void aConsumerOfAMissingTopicFailsUnlessItWaits() throws Exception {
        try (Speaker speaker = new Speaker(false);
                Client client = new Client(speaker.config())) {
            byte[] missing = answer(
                    "HTTP/1.1 404 x\r\ncontent-type: application/json\r\n",
                    ByteBuffer.wrap("{\"code\":\"topic_not_found\",\"error\":\"create it\"}".getBytes()));
            speaker.answer = missing;
            assertThrows(TopicNotFoundException.class, () -> client.consumer("typo"));
            ConsumerConfig config = new ConsumerConfig().start(Start.offset(0));
            try (Consumer consumer = client.consumer("typo", config)) {
                // Each call is a new request, which may find the topic.
                for (int i = 0; i < 2; i++) {
                    assertEquals(
                            "typo",
                            assertThrows(TopicNotFoundException.class, consumer::next)
                                    .topic());
                }
                speaker.description = topic("");
                speaker.answer = records(0, Codec.NONE);
                assertEquals(10, consumer.next().count());
            }
            speaker.description = null;
            speaker.answer = missing;
            Consumer consumer = client.consumer("later", new ConsumerConfig().waitForTopic(true));
            assertTrue(consumer.next(Duration.ofMillis(1)).isEmpty());
            speaker.description = topic("");
            speaker.answer = records(0, Codec.NONE);
            assertEquals(10, consumer.next().count());
            speaker.description = null;
            speaker.answer = missing;
            CompletableFuture<Fetched> waiting = CompletableFuture.supplyAsync(consumer::next);
            consumer.close();
            assertThrows(CompletionException.class, waiting::join);
        }
    }

    @Test
    void anInvalidStatusIsRefused() throws Exception {
        try (Speaker speaker = new Speaker(true);
                Client client = new Client(speaker.config().retries(RetryPolicy.NONE))) {
            for (String status : List.of("+20", "-20", "099", "2x0")) {
                speaker.answer = answer("HTTP/1.1 " + status + " OK\r\n", ByteBuffer.allocate(0));
                assertThrows(AnswerException.class, client::health, status);
            }
        }
    }

    @Test
    void bytesAfterAResponseAreNotTheNextResponse() throws Exception {
        try (Speaker speaker = new Speaker(false);
                Client client = new Client(speaker.config())) {
            byte[] right = answer("HTTP/1.1 200 OK\r\n", ByteBuffer.wrap("{\"offset\":1}".getBytes()));
            byte[] wrong = answer("HTTP/1.1 200 OK\r\n", ByteBuffer.wrap("{\"offset\":2}".getBytes()));
            speaker.answer = ByteBuffer.allocate(right.length + wrong.length)
                    .put(right)
                    .put(wrong)
                    .array();
            for (int i = 0; i < 10; i++) {
                assertEquals(1, client.offsetAt("t", Instant.EPOCH));
            }
        }
    }

    @Test
    void memoryIsAllocatedForReceivedBytesNotForAnnouncedOnes() throws Exception {
        try (Speaker speaker = new Speaker(true);
                Client client = new Client(speaker.config().retries(RetryPolicy.NONE))) {
            speaker.answer = ("HTTP/1.1 200 OK\r\nrawline-first-offset: 0\r\nrawline-next-offset: 1\r\n"
                            + "content-length: " + (128 << 20) + "\r\n\r\nRAWB")
                    .getBytes();
            Received fetched = new Received();
            assertThrows(ConnectionBrokenException.class, () -> client.read("t", ReadOptions.from(0), fetched));
            int capacity = fetched.room(0, 0).capacity();
            assertTrue(capacity <= 16 << 20, capacity + " bytes");
        }
    }

    @Test
    void threadsThatTakeTurnsReuseConnections() throws Exception {
        try (Speaker speaker = new Speaker(false);
                Client client = new Client(speaker.config().connectionsIdleMax(1))) {
            speaker.answer = answer("HTTP/1.1 200 OK\r\n", ByteBuffer.wrap("{\"offset\":1}".getBytes()));
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                callers.add(new Thread(() -> {
                    for (int request = 0; request < 100; request++) {
                        client.offsetAt("t", Instant.EPOCH);
                    }
                }));
            }
            callers.forEach(Thread::start);
            for (Thread caller : callers) {
                caller.join();
            }
            // One per thread, and a few more only if a thread was delayed for seconds.
            assertTrue(speaker.connected.get() < 100, speaker.connected + " connections for 2000 requests");
            while (speaker.open.get() > 1) {
                Thread.sleep(10);
            }
        }
    }

    /** Against one server that accepts and never responds, and one that never accepts. */
    @Test
    void anInterruptEndsAConnectAndAHandshake() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                ServerSocket full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket first = new Socket(full.getInetAddress(), full.getLocalPort());
                Socket second = new Socket(full.getInetAddress(), full.getLocalPort())) {
            assertTrue(first.isConnected() && second.isConnected());
            interruptWhen("startHandshake", "https://127.0.0.1:" + silent.getLocalPort());
            interruptWhen("connect", "http://127.0.0.1:" + full.getLocalPort());
            for (String url :
                    List.of("https://127.0.0.1:" + silent.getLocalPort(), "http://127.0.0.1:" + full.getLocalPort())) {
                ClientConfig hasty =
                        new ClientConfig(url).retries(RetryPolicy.NONE).connectTimeout(Duration.ofMillis(100));
                try (Client client = new Client(hasty)) {
                    assertThrows(UnreachableException.class, client::health, url);
                }
            }
        }
    }

    private static void interruptWhen(String method, String url) throws InterruptedException {
        RawlineException[] thrown = new RawlineException[1];
        try (Client client = new Client(new ClientConfig(url).retries(RetryPolicy.NONE))) {
            Thread caller = new Thread(() -> thrown[0] = assertThrows(RawlineException.class, client::health));
            caller.start();
            while (caller.isAlive() && !isIn(method, caller)) {
                Thread.onSpinWait();
            }
            caller.interrupt();
            caller.join();
        }
        assertEquals(InterruptedCallException.class, thrown[0].getClass(), url + ": " + thrown[0]);
    }

    private static boolean isIn(String method, Thread thread) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals(method)) {
                return true;
            }
        }
        return false;
    }
}
