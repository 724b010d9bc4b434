package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.error.AnswerException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.InterruptedCallException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.StoppedException;
import io.rawline.error.UnreachableException;
import io.rawline.testkit.Background;
import io.rawline.testkit.Scripted;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Requests that share connections: who gets which response, and which error. */
class PipelinesTest {
    private static final Duration PATIENT = Duration.ofSeconds(30);

    private static Http http(String url, Duration timeout) {
        return new Http(new HttpConfig(url, null, null, PATIENT, timeout, 64, null));
    }

    private static Http http(Scripted server) {
        return http(server.url(), PATIENT);
    }

    private static Request append(String body) {
        return new Request("POST", "/records?topic-name=t", "", StandardCharsets.ISO_8859_1.encode(body));
    }

    private static QueuedRequest begin(Http http, String body) {
        return http.begin(append(body), null);
    }

    /** Queues numbered requests, each after the one before. */
    private static List<QueuedRequest> begin(Http http, int count) {
        List<QueuedRequest> begun = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            begun.add(http.begin(append("" + i), i == 0 ? null : begun.get(i - 1)));
        }
        return begun;
    }

    private static String await(Http http, QueuedRequest queued) {
        return new String(http.await(new Call(), queued).body(), StandardCharsets.ISO_8859_1);
    }

    private static void assertAnswered(Http http, List<QueuedRequest> begun, int from, int to) {
        for (int i = from; i < to; i++) {
            assertEquals("" + i, await(http, begun.get(i)));
        }
    }

    private static void assertFailed(
            Class<? extends RawlineException> error, Http http, List<QueuedRequest> begun, int from, int to) {
        for (int i = from; i < to; i++) {
            QueuedRequest one = begun.get(i);
            assertThrows(error, () -> await(http, one), "request " + i);
        }
    }

    @Test
    void eachRequestGetsItsOwnResponse() throws IOException {
        try (Scripted server = new Scripted((number, peer) -> peer.echo())) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, 1000);
            assertAnswered(http, begun, 0, 1000);
            assertEquals(1, server.connections());
            http.close();
        }
    }

    @Test
    void aFullConnectionIsFollowedByAnother() throws IOException {
        CountDownLatch both = new CountDownLatch(2);
        try (Scripted server = new Scripted((number, peer) -> {
            // Either can be established first.
            boolean isFull = !peer.next().equals("x");
            int count = isFull ? Pipeline.REQUESTS_MAX : 1;
            peer.next(count - 1);
            both.countDown();
            awaitLatch(both);
            for (int i = 0; i < count; i++) {
                peer.answer((isFull ? "full-" : "further-") + i);
            }
            peer.echo();
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, Pipeline.REQUESTS_MAX);
            begun.add(begin(http, "x"));
            for (int i = 0; i < Pipeline.REQUESTS_MAX; i++) {
                assertEquals("full-" + i, await(http, begun.get(i)));
            }
            assertEquals("further-0", await(http, begun.get(Pipeline.REQUESTS_MAX)));
            http.close();
        }
    }

    /** A broker stores on a bucket what has arrived by then: requests are not to wait for a commit. */
    @Test
    void requestsDoNotWaitForResponsesToEarlierOnes() throws IOException {
        int callers = 256;
        CountDownLatch received = new CountDownLatch(callers);
        try (Scripted server = new Scripted((number, peer) -> {
            BlockingQueue<String> bodies = new LinkedBlockingQueue<>();
            Background.start(() -> {
                awaitLatch(received);
                answerAll(peer, bodies);
            });
            for (String body = peer.next(); body != null; body = peer.next()) {
                bodies.add(body);
                received.countDown();
            }
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                begun.add(begin(http, "" + i));
            }
            assertAnswered(http, begun, 0, callers);
            http.close();
        }
    }

    private static void answerAll(Scripted.Peer peer, BlockingQueue<String> bodies) throws IOException {
        try {
            while (true) {
                peer.answer(bodies.take());
            }
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    @Test
    void onlyRequestsWithoutAResponseFailWithTheConnection() throws IOException {
        int sent = Pipeline.REQUESTS_MAX;
        try (Scripted server = new Scripted((number, peer) -> {
            if (number > 0) {
                peer.echo();
                return;
            }
            // Nothing is answered yet, so no further request was sent.
            peer.next(sent);
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, sent + 6);
            assertFailed(ConnectionBrokenException.class, http, begun, 0, sent);
            assertAnswered(http, begun, sent, sent + 6);
            assertEquals(2, server.connections());
            http.close();
        }
        try (Scripted server = new Scripted((number, peer) -> {
            peer.next(10);
            for (int i = 0; i < 4; i++) {
                peer.answer("" + i);
            }
            peer.send("HTTP/1.1 201 x\r\ncontent-length: 10\r\n\r\n{");
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, 10);
            assertAnswered(http, begun, 0, 4);
            assertFailed(ConnectionBrokenException.class, http, begun, 4, 10);
            http.close();
        }
    }

    @Test
    void anErrorForOneDoesNotAffectTheOthers() throws IOException {
        String refusal = "{\"code\":\"batch_crc\",\"error\":\"send it again\"}";
        try (Scripted server = new Scripted((number, peer) -> {
            for (String body = peer.next(); body != null; body = peer.next()) {
                if (body.equals("3")) {
                    peer.answer(400, "content-type: application/json\r\n", refusal);
                } else {
                    peer.answer(body);
                }
            }
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, 7);
            assertAnswered(http, begun, 0, 3);
            RefusedException refused = assertThrows(RefusedException.class, () -> await(http, begun.get(3)));
            assertEquals("batch_crc", refused.code());
            assertAnswered(http, begun, 4, 7);
            assertEquals(1, server.connections());
            http.close();
        }
    }

    @Test
    void requestsAfterAnAnnouncedEndGoElsewhere() throws IOException {
        int sent = Pipeline.REQUESTS_MAX;
        try (Scripted server = new Scripted((number, peer) -> {
            if (number > 0) {
                peer.echo();
                return;
            }
            peer.next(sent);
            for (int i = 0; i < sent - 4; i++) {
                peer.answer("" + i);
            }
            // As a server that stops: it has not carried out the last two. What it answers in spite of that counts.
            peer.answer(201, "connection: close\r\n", "" + (sent - 4));
            peer.answer(201, "connection: close\r\n", "" + (sent - 3));
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, sent + 3);
            assertAnswered(http, begun, 0, sent + 3);
            assertEquals("new", await(http, begin(http, "new")));
            assertEquals(2, server.connections());
            http.close();
        }
    }

    @Test
    void aServerThatClosesEveryConnectionIsNotRetriedForever() throws IOException {
        try (Scripted server = new Scripted((number, peer) -> {
            peer.next();
            peer.answer(503, "connection: close\r\n", "");
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, 20);
            int broken = 0;
            for (QueuedRequest one : begun) {
                RawlineException error = assertThrows(RawlineException.class, () -> await(http, one));
                broken += error instanceof ConnectionBrokenException ? 1 : 0;
            }
            assertTrue(broken > 0 && server.connections() < 20, broken + " of " + server.connections());
            http.close();
        }
    }

    @Test
    void aResponseThatABrokerDoesNotSendEndsTheConnection() throws IOException {
        for (String wrong : List.of(
                "SSH-2.0-x\r\n",
                "HTTP/1.1 201 x\r\ncontent-length: -1\r\n\r\n",
                "HTTP/1.1 201 x\r\ncontent-length: 100000\r\n\r\n" + "z".repeat(100_000))) {
            try (Scripted server = new Scripted((number, peer) -> {
                if (number > 0) {
                    peer.echo();
                    return;
                }
                peer.next(5);
                peer.answer("0");
                peer.send(wrong);
                peer.next();
            })) {
                Http http = http(server);
                List<QueuedRequest> begun = begin(http, 5);
                assertAnswered(http, begun, 0, 1);
                assertFailed(AnswerException.class, http, begun, 1, 2);
                assertFailed(ConnectionBrokenException.class, http, begun, 2, 5);
                assertEquals("new", await(http, begin(http, "new")));
                http.close();
            }
        }
    }

    @Test
    void aResponseWithoutARequestEndsTheConnection() throws IOException {
        CountDownLatch closed = new CountDownLatch(1);
        try (Scripted server = new Scripted((number, peer) -> {
            if (number > 0) {
                peer.echo();
                return;
            }
            peer.next();
            peer.answer("right");
            peer.answer("wrong");
            assertNull(peer.next());
            closed.countDown();
        })) {
            Http http = http(server);
            assertEquals("right", await(http, begin(http, "a")));
            awaitLatch(closed);
            for (int i = 0; i < 10; i++) {
                assertEquals("" + i, await(http, begin(http, "" + i)));
            }
            assertEquals(2, server.connections());
            http.close();
        }
    }

    @Test
    void anOverdueResponseEndsTheConnection() throws Exception {
        AtomicInteger received = new AtomicInteger();
        try (Scripted server = new Scripted((number, peer) -> {
            if (number > 0) {
                peer.echo();
                return;
            }
            while (peer.next() != null) {
                received.incrementAndGet();
            }
        })) {
            Http http = http(server.url(), Duration.ofMillis(300));
            QueuedRequest first = begin(http, "first");
            Thread.sleep(150);
            QueuedRequest second = http.begin(append("second"), first);
            while (received.get() < 2) {
                Thread.sleep(1);
            }
            RequestTimeoutException late = assertThrows(RequestTimeoutException.class, () -> await(http, first));
            assertTrue(late.getMessage().contains("0.3 s"), late.getMessage());
            ConnectionBrokenException broken = assertThrows(ConnectionBrokenException.class, () -> await(http, second));
            assertTrue(broken.getMessage().contains("overdue"), broken.getMessage());
            assertEquals("new", await(http, begin(http, "new")));
            http.close();
        }
    }

    @Test
    void anAbandonedRequestEndsTheConnectionWhenItIsOverdue() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        try (Scripted server = new Scripted((number, peer) -> {
            peer.next();
            assertNull(peer.next());
            closed.countDown();
        })) {
            Http http = http(server.url(), Duration.ofMillis(200));
            begin(http, "first");
            awaitLatch(closed);
            http.close();
        }
    }

    @Test
    void aCallerThatStopsWaitingDisturbsNoOther() throws Exception {
        CountDownLatch gone = new CountDownLatch(1);
        try (Scripted server = new Scripted((number, peer) -> {
            String first = peer.next();
            awaitLatch(gone);
            peer.answer(first);
            peer.echo();
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, Pipeline.REQUESTS_MAX + 2);
            // One in flight is cancelled, one is interrupted, and so is one that waits.
            Call call = new Call();
            call.cancel();
            assertThrows(StoppedException.class, () -> http.await(call, begun.get(0)));
            for (QueuedRequest one : List.of(begun.get(2), begun.get(Pipeline.REQUESTS_MAX))) {
                Thread.currentThread().interrupt();
                assertThrows(InterruptedCallException.class, () -> await(http, one));
                assertThrows(InterruptedCallException.class, () -> begin(http, "interrupted"));
                assertTrue(Thread.interrupted());
            }
            gone.countDown();
            assertAnswered(http, begun, 1, 2);
            assertAnswered(http, begun, 3, Pipeline.REQUESTS_MAX);
            assertAnswered(http, begun, Pipeline.REQUESTS_MAX + 1, Pipeline.REQUESTS_MAX + 2);
            assertEquals(1, server.connections());
            http.close();
        }
    }

    @Test
    void aThreadThatIsInterruptedWhileItWaitsReturns() throws Exception {
        try (Scripted server = new Scripted((number, peer) -> peer.next(100))) {
            Http http = http(server);
            QueuedRequest queued = begin(http, "x");
            RawlineException[] thrown = new RawlineException[1];
            Thread caller =
                    new Thread(() -> thrown[0] = assertThrows(RawlineException.class, () -> await(http, queued)));
            caller.start();
            while (caller.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            caller.interrupt();
            caller.join();
            assertEquals(InterruptedCallException.class, thrown[0].getClass());
            http.close();
        }
    }

    @Test
    void aConnectionThatCannotBeEstablishedIsEveryonesError() throws IOException {
        Scripted server = new Scripted((number, peer) -> peer.echo());
        server.close();
        Http http = http(server);
        List<QueuedRequest> begun = begin(http, 5);
        assertFailed(UnreachableException.class, http, begun, 0, 5);
    }

    @Test
    void requestsInFlightCompleteAfterTheClientIsClosed() throws Exception {
        CountDownLatch closing = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        try (Scripted server = new Scripted((number, peer) -> {
            String first = peer.next();
            awaitLatch(closing);
            peer.answer(first);
            peer.echo();
            closed.countDown();
        })) {
            Http http = http(server);
            List<QueuedRequest> begun = begin(http, Pipeline.REQUESTS_MAX + 2);
            http.close();
            closing.countDown();
            assertAnswered(http, begun, 0, begun.size());
            awaitLatch(closed);
            assertThrows(StoppedException.class, () -> begin(http, "late"));
        }
    }

    @Test
    void onlySmallPlainAppendsShareAConnection() throws IOException {
        try (Scripted server = new Scripted((number, peer) -> peer.echo())) {
            Http http = http(server);
            String target = "/records?topic-name=t";
            ByteBuffer body = ByteBuffer.allocate(8000);
            QueuedRequest small = http.begin(new Request("POST", target, "", body), null);
            assertEquals(8000, http.await(new Call(), small).body().length);
            assertNull(http.begin(new Request("POST", target, "", body, ByteBuffer.allocate(180)), null));
            assertNull(http.begin(new Request("POST", "/records?topic-name=%C3%A4", "", body), null));
            assertNull(http.begin(new Request("POST", "/trim?topic-name=t", "", body), null));
            assertNull(http.begin(Request.get(target), null));
            assertNull(http(server.url() + "/prefix", PATIENT).begin(new Request("POST", target, "", body), null));
            http.close();
        }
    }
}
