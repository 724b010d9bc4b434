package io.rawline.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Passes bytes on to a broker and back, and cuts off the response to every n-th append. */
public final class CuttingProxy implements AutoCloseable {
    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger appends = new AtomicInteger();
    private final AtomicInteger cuts = new AtomicInteger();

    public CuttingProxy(String url, int everyNth) throws IOException {
        URI broker = URI.create(url);
        Background.start(() -> {
            while (true) {
                Socket client = socket.accept();
                connections.incrementAndGet();
                Background.start(() -> connect(client, new Socket(broker.getHost(), broker.getPort()), everyNth));
            }
        });
    }

    private void connect(Socket client, Socket broker, int everyNth) throws IOException {
        AtomicBoolean cutsNext = new AtomicBoolean();
        Background.start(() -> {
            try (client;
                    broker) {
                byte[] bytes = new byte[64 << 10];
                for (int read; (read = broker.getInputStream().read(bytes)) > 0; ) {
                    if (cutsNext.get()) {
                        cuts.incrementAndGet();
                        return;
                    }
                    client.getOutputStream().write(bytes, 0, read);
                }
            }
        });
        try (client;
                broker) {
            byte[] bytes = new byte[64 << 10];
            for (int read; (read = client.getInputStream().read(bytes)) > 0; ) {
                String text = new String(bytes, 0, read, StandardCharsets.ISO_8859_1);
                if (text.startsWith("POST /records?") && appends.incrementAndGet() % everyNth == 0) {
                    cutsNext.set(true);
                }
                broker.getOutputStream().write(bytes, 0, read);
            }
        }
    }

    /** Number of appends so far. */
    public int appends() {
        return appends.get();
    }

    public String url() {
        return "http://127.0.0.1:" + socket.getLocalPort();
    }

    /** Number of connections so far. */
    public int connections() {
        return connections.get();
    }

    /** Number of truncated responses. */
    public int cuts() {
        return cuts.get();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
