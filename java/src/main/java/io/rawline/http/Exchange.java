package io.rawline.http;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** A response on a connection: its head, and its body as it arrives. */
public final class Exchange {
    /** Maximum size of a head, in bytes. */
    private static final int HEAD_BYTES_MAX = 64 << 10;
    /** Length of a body that ends with the connection. */
    private static final long UNTIL_CLOSED = -1;

    private final Connection connection;
    private final int status;
    private final Map<String, String> headers = new HashMap<>();
    private final boolean chunked;
    private boolean closes;
    /** Bytes left of the body or of the current chunk, or {@link #UNTIL_CLOSED}. */
    private long left;

    private boolean ended;
    private int headBytes;

    /** Reads the head of the next response. */
    Exchange(Connection connection) throws IOException {
        this.connection = connection;
        String line = line();
        int found = status(line);
        while (found >= 100 && found < 200) {
            readHeaders();
            headers.clear();
            line = line();
            found = status(line);
        }
        status = found;
        readHeaders();
        String options = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
        boolean old = line.startsWith("HTTP/1.0") && !options.contains("keep-alive");
        boolean closesWithIt = old || options.contains("close");
        chunked = headers.getOrDefault("transfer-encoding", "")
                .toLowerCase(Locale.ROOT)
                .contains("chunked");
        if (status == 204 || status == 304) {
            ended = true;
        } else if (chunked) {
            left = 0;
            nextChunk();
        } else {
            left = contentLength();
            ended = left == 0;
            closesWithIt |= left == UNTIL_CLOSED;
        }
        closes = closesWithIt;
    }

    public int status() {
        return status;
    }

    /** The value of a header, by its name in lower case, or null. */
    public String header(String name) {
        return headers.get(name);
    }

    /** Announced length of the rest of the body in bytes; 0 if unknown. */
    public long announcedBytes() {
        return chunked || left < 0 ? 0 : left;
    }

    /** Whether the whole body has been read. */
    public boolean ended() {
        return ended;
    }

    /** Whether another request can be sent on the connection. */
    boolean isReusable() {
        return ended && !closes;
    }

    /** Makes the connection unusable for further requests, whatever the response's headers say. */
    void endConnection() {
        closes = true;
    }

    Connection connection() {
        return connection;
    }

    /** Receives part of the body, up to {@code to}'s limit; -1 at its end. */
    public int read(ByteBuffer to) throws IOException {
        if (ended) {
            return -1;
        }
        int limit = to.limit();
        if (left != UNTIL_CLOSED && left < to.remaining()) {
            to.limit(to.position() + (int) left);
        }
        int read = connection.read(to);
        to.limit(limit);
        if (read < 0) {
            if (left != UNTIL_CLOSED) {
                throw truncated();
            }
            ended = true;
            return -1;
        }
        if (left != UNTIL_CLOSED) {
            if (read > left) {
                throw new IllegalStateException(read + " bytes read of a body with " + left + " left");
            }
            left -= read;
            if (left == 0) {
                endPiece();
            }
        }
        return read;
    }

    private void endPiece() throws IOException {
        if (chunked) {
            if (!line().isEmpty()) {
                throw new NotHttpException("a chunk is longer than its size");
            }
            nextChunk();
        } else {
            ended = true;
        }
    }

    private void nextChunk() throws IOException {
        headBytes = 0;
        String size = line().split(";", 2)[0].trim();
        try {
            left = Long.parseUnsignedLong(size, 16);
        } catch (NumberFormatException error) {
            throw new NotHttpException("a chunk's size is \"" + size + "\"");
        }
        if (left < 0) {
            throw new NotHttpException("a chunk's size is \"" + size + "\"");
        }
        if (left == 0) {
            // Trailers are ignored.
            while (!line().isEmpty()) {
                continue;
            }
            ended = true;
        }
    }

    private long contentLength() throws NotHttpException {
        String length = headers.get("content-length");
        if (length == null) {
            return UNTIL_CLOSED;
        }
        try {
            long bytes = Long.parseLong(length);
            if (bytes >= 0) {
                return bytes;
            }
        } catch (NumberFormatException error) {
            // Reported below, as a negative one is.
        }
        throw new NotHttpException("its Content-Length is \"" + length + "\"");
    }

    private static int status(String line) throws NotHttpException {
        if (line.startsWith("HTTP/1.") && line.length() >= 12 && line.charAt(8) == ' ') {
            try {
                int status = Integer.parseInt(line.substring(9, 12));
                if (status >= 100) {
                    return status;
                }
            } catch (NumberFormatException error) {
                // Reported below.
            }
        }
        throw new NotHttpException("it begins with \"" + (line.length() > 80 ? line.substring(0, 80) : line) + "\"");
    }

    private void readHeaders() throws IOException {
        for (String line = line(); !line.isEmpty(); line = line()) {
            int colon = line.indexOf(':');
            if (colon <= 0) {
                throw new NotHttpException("a header without a colon");
            }
            headers.put(
                    line.substring(0, colon).toLowerCase(Locale.ROOT),
                    line.substring(colon + 1).trim());
        }
    }

    /** The next line, without its line ending. */
    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        while (true) {
            int next = connection.readByte();
            if (next == -1) {
                throw truncated();
            }
            if (++headBytes > HEAD_BYTES_MAX) {
                throw new NotHttpException("its head is longer than " + HEAD_BYTES_MAX + " bytes");
            }
            if (next == '\n') {
                int length = line.length();
                return length > 0 && line.charAt(length - 1) == '\r' ? line.substring(0, length - 1) : line.toString();
            }
            line.append((char) next);
        }
    }

    private static IOException truncated() {
        return new EOFException("it was closed before the response was complete");
    }

    /** The response isn't HTTP. */
    static final class NotHttpException extends IOException {
        private static final long serialVersionUID = 1;

        NotHttpException(String reason) {
            super(reason);
        }
    }
}
