package io.rawline.internal.http;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A request in parts, so that it can be sent again.
 *
 * @param method such as GET
 * @param target path and query, of ASCII characters without spaces
 * @param headers lines that end in CR LF
 * @param body its pieces back to back, each from position to limit; the positions are not changed
 */
public record Request(String method, String target, String headers, ByteBuffer... body) {
    /** Maximum size of an append that a broker takes together with others, its head included: one byte below 8 KiB. */
    private static final int SMALL_BYTES_MAX = (8 << 10) - 1;

    public static Request get(String target) {
        return new Request("GET", target, "");
    }

    /** Head and body as sent; new views with each call. */
    ByteBuffer[] bytes(Address address, String common) {
        ByteBuffer[] bytes = new ByteBuffer[body.length + 1];
        for (int i = 0; i < body.length; i++) {
            bytes[i + 1] = body[i].duplicate();
        }
        bytes[0] = ByteBuffer.wrap(head(address, common));
        return bytes;
    }

    /**
     * Head and body in one piece, if this is an append that the broker takes together with others of its connection:
     * small, and with nothing to be decoded. Otherwise null: other requests would wait for each other's commits.
     */
    byte[] small(Address address, String common) {
        boolean isPlain = target.startsWith("/records?")
                && target.indexOf('%') < 0
                && address.path().isEmpty();
        if (isGet() || !isPlain || isLong()) {
            return null;
        }
        byte[] head = head(address, common);
        int bytes = head.length + (int) bodyBytes();
        if (bytes > SMALL_BYTES_MAX) {
            return null;
        }
        ByteBuffer whole = ByteBuffer.wrap(Arrays.copyOf(head, bytes)).position(head.length);
        for (ByteBuffer piece : body) {
            whole.put(piece.duplicate());
        }
        return whole.array();
    }

    /** Whether it isn't small, whatever its head. */
    boolean isLong() {
        return bodyBytes() > SMALL_BYTES_MAX;
    }

    private byte[] head(Address address, String common) {
        String length = isGet() ? "" : "content-length: " + bodyBytes() + "\r\n";
        String head = method + " " + address.path() + target + " HTTP/1.1\r\nhost: " + address.hostHeader() + "\r\n"
                + common + headers + length + "\r\n";
        return head.getBytes(StandardCharsets.ISO_8859_1);
    }

    private long bodyBytes() {
        long bytes = 0;
        for (ByteBuffer piece : body) {
            bytes += piece.remaining();
        }
        return bytes;
    }

    boolean isGet() {
        return method.equals("GET");
    }
}
