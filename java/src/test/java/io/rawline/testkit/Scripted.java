package io.rawline.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that does on each connection what a script says. */
public final class Scripted implements AutoCloseable {
    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final AtomicInteger connections = new AtomicInteger();

    /** The script of a connection, which is closed afterwards. */
    public interface Script {
        /**
         * Serves a connection.
         *
         * @param number the connection's, from 0
         */
        void serve(int number, Peer peer) throws IOException;
    }

    /** A connection as the script sees it. */
    public record Peer(InputStream in, OutputStream out) {
        /** A request; without a body, that is empty. */
        public record Received(String head, String body) {}

        /** The body of the next request; null at the end of the stream. */
        public String next() throws IOException {
            Received next = receive();
            return next == null ? null : next.body;
        }

        /** The next request; null at the end of the stream. */
        public Received receive() throws IOException {
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                int next = in.read();
                if (next < 0) {
                    return null;
                }
                head.append((char) next);
            }
            int lengthAt = head.indexOf("content-length: ");
            if (lengthAt < 0) {
                return new Received(head.toString(), "");
            }
            String length = head.substring(lengthAt + "content-length: ".length());
            byte[] body = in.readNBytes(Integer.parseInt(length.substring(0, length.indexOf("\r\n"))));
            return new Received(head.toString(), new String(body, StandardCharsets.ISO_8859_1));
        }

        /** Waits for requests, and returns the body of the last one. */
        public String next(int count) throws IOException {
            String last = null;
            for (int i = 0; i < count; i++) {
                last = next();
            }
            return last;
        }

        /** Sends a response, with further headers that end in CR LF. */
        public void answer(int status, String headers, String body) throws IOException {
            send("HTTP/1.1 " + status + " x\r\n" + headers + "content-length: " + body.length() + "\r\n\r\n" + body);
        }

        /** Sends a response. */
        public void answer(String body) throws IOException {
            answer(201, "", body);
        }

        /** Sends any bytes. */
        public void send(String text) throws IOException {
            out.write(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        /** Answers each request with its body, until the stream ends. */
        public void echo() throws IOException {
            for (String body = next(); body != null; body = next()) {
                answer(body);
            }
        }
    }

    public Scripted(Script script) throws IOException {
        Background.start(() -> {
            while (true) {
                Socket accepted = socket.accept();
                int number = connections.getAndIncrement();
                Background.start(() -> {
                    try (accepted) {
                        script.serve(number, new Peer(accepted.getInputStream(), accepted.getOutputStream()));
                    }
                });
            }
        });
    }

    public String url() {
        return "http://127.0.0.1:" + socket.getLocalPort();
    }

    /** Number of connections so far. */
    public int connections() {
        return connections.get();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
