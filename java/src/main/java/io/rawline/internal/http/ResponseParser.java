package io.rawline.internal.http;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The parts of one response: where its head, its body and the chunks of that begin and end. It receives bytes in any
 * pieces; no I/O.
 *
 * <pre>
 * status line ─► headers ─► body, of a known length or until the connection ends ─► end
 *                       └─► size of a chunk ─► chunk ─► ... ─► size 0 ─► trailers ─► end
 * </pre>
 */
final class ResponseParser {
    /** Maximum size of a head, in bytes. */
    static final int SWITCHING_PROTOCOLS = 101;

    private static final int HEAD_BYTES_MAX = 64 << 10;
    /** Length of a body that ends with the connection. */
    private static final long UNTIL_CLOSED = -1;

    private enum Part {
        STATUS,
        HEADERS,
        BODY,
        CHUNK_SIZE,
        CHUNK_END,
        TRAILERS,
        END
    }

    private Part part = Part.STATUS;
    /** Part of a line whose end was not received. */
    private final StringBuilder line = new StringBuilder();
    /** Number of bytes of the head, or since the chunk before. */
    private int headBytes;

    private int status;
    private boolean old;
    private final Map<String, String> headers = new HashMap<>();
    private boolean chunked;
    private boolean closes;
    /** Bytes left of the body or of the current chunk, or {@link #UNTIL_CLOSED}. */
    private long left;

    /** The response isn't HTTP, or not one that is expected. */
    static final class NotHttpException extends IOException {
        private static final long serialVersionUID = 1;

        NotHttpException(String reason) {
            super(reason);
        }
    }

    /** Consumes what isn't body; stops before a part of the body, at the end, or when everything is consumed. */
    void advance(ByteBuffer received) throws NotHttpException {
        while (part != Part.BODY && part != Part.END) {
            String line = line(received);
            if (line == null) {
                return;
            }
            switch (part) {
                case STATUS -> begin(line);
                case HEADERS -> addHeader(line);
                case CHUNK_SIZE -> beginChunk(line);
                case CHUNK_END -> endChunk(line);
                case TRAILERS -> part = line.isEmpty() ? Part.END : Part.TRAILERS;
                default -> throw new IllegalStateException("a line in the part " + part);
            }
        }
    }

    /** Whether anything of the response was received. */
    boolean hasBegun() {
        return part != Part.STATUS || headBytes > 0;
    }

    boolean hasHead() {
        return part != Part.STATUS && part != Part.HEADERS;
    }

    /** Whether the whole body was received. */
    boolean hasEnded() {
        return part == Part.END;
    }

    /** Whether the response says that the connection ends with it: nothing that follows is carried out. */
    boolean closes() {
        return closes;
    }

    /** Whether another response can follow. */
    boolean isReusable() {
        return hasEnded() && !closes && left != UNTIL_CLOSED;
    }

    int status() {
        return status;
    }

    /** The value of a header, by its name in lower case, or null. */
    String header(String name) {
        return headers.get(name);
    }

    /** Announced length of the rest of the body in bytes; 0 if unknown. */
    long announcedBytes() {
        return chunked || left == UNTIL_CLOSED ? 0 : left;
    }

    /** How many of the next bytes are body; 0 if none are before {@link #advance} was called. */
    long bodyBytes() {
        if (part != Part.BODY) {
            return 0;
        }
        return left == UNTIL_CLOSED ? Long.MAX_VALUE : left;
    }

    /** Takes note of bytes of the body that the caller has consumed. */
    void consumed(int bytes) {
        if (bytes > bodyBytes()) {
            throw new IllegalStateException(bytes + " bytes consumed of a body with " + bodyBytes() + " left");
        }
        if (left == UNTIL_CLOSED) {
            return;
        }
        left -= bytes;
        if (left == 0) {
            part = chunked ? Part.CHUNK_END : Part.END;
        }
    }

    /** The connection has ended: so has the response, or it is incomplete. */
    void endOfStream() throws EOFException {
        if (part == Part.BODY && left == UNTIL_CLOSED) {
            part = Part.END;
        }
        if (part != Part.END) {
            throw new EOFException("it was closed before the response was complete");
        }
    }

    /** The next line without its line ending; null if its end was not received. */
    private String line(ByteBuffer received) throws NotHttpException {
        while (received.hasRemaining()) {
            char next = (char) (received.get() & 0xff);
            if (++headBytes > HEAD_BYTES_MAX) {
                throw new NotHttpException("its head is longer than " + HEAD_BYTES_MAX + " bytes");
            }
            if (next == '\n') {
                int length = line.length();
                boolean hasReturn = length > 0 && line.charAt(length - 1) == '\r';
                String whole = line.substring(0, hasReturn ? length - 1 : length);
                line.setLength(0);
                return whole;
            }
            line.append(next);
        }
        return null;
    }

    private void begin(String line) throws NotHttpException {
        status = status(line);
        old = line.startsWith("HTTP/1.0");
        part = Part.HEADERS;
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

    private void addHeader(String line) throws NotHttpException {
        if (line.isEmpty()) {
            endHead();
            return;
        }
        int colon = line.indexOf(':');
        if (colon <= 0) {
            throw new NotHttpException("a header without a colon");
        }
        headers.put(
                line.substring(0, colon).toLowerCase(Locale.ROOT),
                line.substring(colon + 1).trim());
    }

    private void endHead() throws NotHttpException {
        if (status == SWITCHING_PROTOCOLS) {
            // Another protocol follows.
            part = Part.END;
            return;
        }
        if (status < 200) {
            // An interim response; the response itself follows.
            headers.clear();
            part = Part.STATUS;
            return;
        }
        String options = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
        closes = options.contains("close") || old && !options.contains("keep-alive");
        chunked = headers.getOrDefault("transfer-encoding", "")
                .toLowerCase(Locale.ROOT)
                .contains("chunked");
        if (status == 204 || status == 304) {
            part = Part.END;
        } else if (chunked) {
            beginChunks();
        } else {
            left = contentLength();
            part = left == 0 ? Part.END : Part.BODY;
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

    private void beginChunks() {
        headBytes = 0;
        part = Part.CHUNK_SIZE;
    }

    private void beginChunk(String line) throws NotHttpException {
        String size = line.split(";", 2)[0].trim();
        try {
            left = Long.parseUnsignedLong(size, 16);
        } catch (NumberFormatException error) {
            throw new NotHttpException("a chunk's size is \"" + size + "\"");
        }
        if (left < 0) {
            throw new NotHttpException("a chunk's size is \"" + size + "\"");
        }
        // Trailers are ignored.
        part = left == 0 ? Part.TRAILERS : Part.BODY;
    }

    private void endChunk(String line) throws NotHttpException {
        if (!line.isEmpty()) {
            throw new NotHttpException("a chunk is longer than its size");
        }
        beginChunks();
    }
}
