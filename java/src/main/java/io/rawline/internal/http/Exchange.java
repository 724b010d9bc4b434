package io.rawline.internal.http;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A response on a connection: its head, and its body as it arrives. */
public final class Exchange {
    private final Connection connection;
    private final ResponseParser response = new ResponseParser();
    /** Whether the connection is not used again, whatever the response says. */
    private boolean closes;

    /** Receives the head of the next response. */
    Exchange(Connection connection) throws IOException {
        this.connection = connection;
        advance();
        while (!response.hasHead()) {
            receive();
            advance();
        }
    }

    public int status() {
        return response.status();
    }

    /** The value of a header, by its name in lower case, or null. */
    public String header(String name) {
        return response.header(name);
    }

    /** Announced length of the rest of the body in bytes; 0 if unknown. */
    public long announcedBytes() {
        return response.announcedBytes();
    }

    /** Whether the whole body has been read. */
    public boolean ended() {
        return response.hasEnded();
    }

    /** Whether another request can be sent on the connection. */
    boolean isReusable() {
        return response.isReusable() && !closes;
    }

    /** Makes the connection unusable for further requests. */
    void endConnection() {
        closes = true;
    }

    Connection connection() {
        return connection;
    }

    ResponseParser response() {
        return response;
    }

    /** Receives part of the body, up to {@code to}'s limit; -1 at its end. */
    public int read(ByteBuffer to) throws IOException {
        while (!ended() && response.bodyBytes() == 0) {
            receive();
            advance();
        }
        if (ended()) {
            return -1;
        }
        int limit = to.limit();
        if (response.bodyBytes() < to.remaining()) {
            to.limit(to.position() + (int) response.bodyBytes());
        }
        int read = connection.read(to);
        to.limit(limit);
        if (read < 0) {
            response.endOfStream();
            return -1;
        }
        response.consumed(read);
        // The end of a chunked body is known at once if it was received with the last chunk.
        advance();
        return read;
    }

    private void advance() throws IOException {
        response.advance(connection.received());
    }

    private void receive() throws IOException {
        if (!connection.receive()) {
            response.endOfStream();
        }
    }
}
