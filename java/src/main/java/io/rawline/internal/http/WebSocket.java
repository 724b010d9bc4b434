package io.rawline.internal.http;

import io.rawline.internal.http.ResponseParser.NotHttpException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The client's side of a WebSocket (RFC 6455) on which the broker alone sends messages. Pings are answered while a
 * message is waited for. A {@link NotHttpException} is what no broker sends.
 *
 * <p>Not the JDK's: as its HTTP client, it receives in small pieces on other threads.
 */
public final class WebSocket {
    private static final int CONTINUATION = 0;
    private static final int TEXT = 1;
    private static final int BINARY = 2;
    private static final int CLOSE = 8;
    private static final int PING = 9;
    private static final int PONG = 10;
    /** Maximum payload of a control frame in bytes. */
    private static final int CONTROL_BYTES_MAX = 125;
    /** A rest that is shorter arrives with what follows it. */
    private static final int DIRECT_BYTES_MIN = 16 << 10;

    private final Connection connection;
    private final String nearer;
    /** Bytes of the current frame that were not read. */
    private long left;
    /** Whether a message is being read. */
    private boolean isInMessage;
    /** Whether the current frame is the last of its message. */
    private boolean isLast;

    /** The next message or event. */
    public enum Event {
        /** A text message, for {@link #text}. */
        TEXT,
        /** A binary message, for {@link #read}. */
        BINARY,
        /** No message yet, but the broker responds. */
        ALIVE,
        /** The broker closes the connection. */
        CLOSED
    }

    WebSocket(Connection connection, String nearer) {
        this.connection = connection;
        this.nearer = nearer;
    }

    /** The URL of the broker of the client's zone that its broker has named; null for none. */
    public String nearer() {
        return nearer;
    }

    /** Waits for the next message, or for a sign of life. The message before has been read to its end. */
    public Event next() throws IOException {
        if (isInMessage) {
            throw new IllegalStateException(left + " bytes of a message were not read");
        }
        int opcode = header();
        switch (opcode) {
            case TEXT, BINARY -> {
                isInMessage = true;
                return opcode == TEXT ? Event.TEXT : Event.BINARY;
            }
            case CONTINUATION -> throw new NotHttpException("a fragment of no message");
            default -> {
                return control(opcode) ? Event.ALIVE : Event.CLOSED;
            }
        }
    }

    /** Number of bytes of the message that are known to follow. */
    public long announcedBytes() {
        return left;
    }

    /** Whether the message was read to its end. */
    public boolean hasEnded() {
        if (left == 0 && isLast) {
            isInMessage = false;
        }
        return !isInMessage;
    }

    /** Receives a part of the message, up to {@code to}'s limit; -1 at its end. */
    public int read(ByteBuffer to) throws IOException {
        while (left == 0) {
            if (hasEnded()) {
                return -1;
            }
            int opcode = header();
            if (opcode == TEXT || opcode == BINARY) {
                throw new NotHttpException("a message within a message");
            }
            if (opcode != CONTINUATION && !control(opcode)) {
                throw new EOFException("the broker has closed it within a message");
            }
        }
        if (!connection.received().hasRemaining() && Math.min(left, to.remaining()) < DIRECT_BYTES_MIN) {
            receive();
        }
        int limit = to.limit();
        to.limit((int) Math.min(limit, to.position() + left));
        int read = connection.read(to);
        to.limit(limit);
        if (read < 0) {
            throw new EOFException("the broker has closed it within a message");
        }
        left -= read;
        return read;
    }

    /** Receives a text message of at most this length. */
    public String text(int bytesMax) throws IOException {
        ByteBuffer text = ByteBuffer.allocate((int) Math.min(left, bytesMax) + 1);
        while (read(text) >= 0) {
            if (text.position() > bytesMax) {
                throw new NotHttpException("a text of more than " + bytesMax + " bytes");
            }
            if (!text.hasRemaining()) {
                text = ByteBuffer.allocate(Math.min(2 * text.capacity(), bytesMax) + 1)
                        .put(text.flip());
            }
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(text.flip()).toString();
        } catch (CharacterCodingException error) {
            throw new NotHttpException("a text that isn't UTF-8");
        }
    }

    /** Closes the connection, which wakes a thread that waits for it. */
    public void close() {
        connection.close();
    }

    Connection connection() {
        return connection;
    }

    /** Receives the header of a frame, and returns its opcode. */
    private int header() throws IOException {
        int first = oneByte();
        int second = oneByte();
        if ((first & 0x70) != 0 || (second & 0x80) != 0) {
            throw new NotHttpException("a frame with reserved bits, or with a mask");
        }
        long length = second & 0x7f;
        int more = length == 126 ? 2 : length == 127 ? 8 : 0;
        if (more > 0) {
            length = 0;
            for (int i = 0; i < more; i++) {
                length = length << 8 | oneByte();
            }
        }
        int opcode = first & 0x0f;
        boolean isWhole = (first & 0x80) != 0;
        boolean isControl = opcode >= CLOSE;
        if (length < 0 || isControl && (length > CONTROL_BYTES_MAX || !isWhole)) {
            throw new NotHttpException("a frame of the opcode " + opcode + " with a wrong length");
        }
        if (opcode > BINARY && !isControl || opcode > PONG) {
            throw new NotHttpException("a frame of the unknown opcode " + opcode);
        }
        left = length;
        if (!isControl) {
            isLast = isWhole;
        }
        return opcode;
    }

    /** Receives the rest of a control frame, and answers it; false if the broker closes. */
    private boolean control(int opcode) throws IOException {
        byte[] payload = new byte[(int) left];
        for (int i = 0; i < payload.length; i++) {
            payload[i] = (byte) oneByte();
        }
        left = 0;
        if (opcode == PING) {
            send(PONG, payload);
        } else if (opcode == CLOSE) {
            send(CLOSE, payload);
        }
        return opcode != CLOSE;
    }

    /** Sends a control frame; a client's have a mask. */
    private void send(int opcode, byte[] payload) throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(6 + payload.length);
        frame.put((byte) (0x80 | opcode)).put((byte) (0x80 | payload.length));
        byte[] mask = new byte[4];
        ThreadLocalRandom.current().nextBytes(mask);
        frame.put(mask);
        for (int i = 0; i < payload.length; i++) {
            frame.put((byte) (payload[i] ^ mask[i % 4]));
        }
        connection.send(new ByteBuffer[] {frame.flip()});
    }

    private int oneByte() throws IOException {
        if (!connection.received().hasRemaining()) {
            receive();
        }
        return connection.received().get() & 0xff;
    }

    private void receive() throws IOException {
        if (!connection.receive()) {
            throw new EOFException("the broker has closed it");
        }
    }
}
