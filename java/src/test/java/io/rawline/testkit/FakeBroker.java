package io.rawline.testkit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that carries out nothing, and remembers what it got. It can be paused, as a stopped process is. */
public final class FakeBroker implements AutoCloseable {
    private final Scripted server;
    private final List<String> heads = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger questions = new AtomicInteger();
    private final CountDownLatch disconnected = new CountDownLatch(1);
    /** The value of the header; empty if it is the owner. */
    private volatile String owner = "";
    /** While it is set, connections are open and nothing responds. */
    private volatile boolean isPaused;

    /** The handler of an append, which is then acknowledged. */
    public interface Storing {
        void store(Scripted.Peer peer, String body) throws IOException;
    }

    public FakeBroker() throws IOException {
        this((peer, body) -> {});
    }

    public FakeBroker(Storing storing) throws IOException {
        server = new Scripted((number, peer) -> serve(peer, storing));
    }

    private void serve(Scripted.Peer peer, Storing storing) throws IOException {
        for (Scripted.Peer.Received next = peer.receive(); next != null; next = peer.receive()) {
            waitWhilePaused();
            if (next.head().startsWith("GET /topic?")) {
                peer.answer(
                        200,
                        "",
                        "{\"name\":\"t\",\"first_offset\":0,\"next_offset\":0,\"bytes\":0," + "\"objects\":0}");
            } else if (next.head().startsWith("GET /health ")) {
                questions.incrementAndGet();
                peer.answer(200, "", "ok");
            } else {
                heads.add(next.head());
                storing.store(peer, next.body());
                acknowledge(peer);
            }
        }
        disconnected.countDown();
    }

    private void waitWhilePaused() {
        while (isPaused) {
            try {
                Thread.sleep(10);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }
    }

    private void acknowledge(Scripted.Peer peer) throws IOException {
        String header = owner.isEmpty() ? "" : "rawline-owner: " + owner + "\r\n";
        peer.answer(201, header, "{\"first_offset\":0,\"next_offset\":1}");
    }

    public String url() {
        return server.url();
    }

    /** Its responses name this URL; none if it is empty. */
    public void owner(String url) {
        owner = url;
    }

    public void pause(boolean paused) {
        isPaused = paused;
    }

    /** Number of appends. */
    public int appends() {
        return heads.size();
    }

    /** The heads of appends. */
    public List<String> heads() {
        return heads;
    }

    /** Number of liveness checks received. */
    public int questions() {
        return questions.get();
    }

    public int connections() {
        return server.connections();
    }

    /** Waits until a client closes a connection. */
    public void awaitDisconnected() throws InterruptedException {
        disconnected.await();
    }

    @Override
    public void close() throws IOException {
        isPaused = false;
        server.close();
    }
}
