package io.rawline.http;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A request in parts, so that it can be sent again.
 *
 * @param method such as GET
 * @param target path and query, of ASCII characters without spaces
 * @param headers lines that end in CR LF
 * @param body its pieces back to back, each from position to limit; the positions are not changed
 */
public record Request(String method, String target, String headers, ByteBuffer... body) {
    public static Request get(String target) {
        return new Request("GET", target, "");
    }

    /** Head and body as sent; new views with each call. */
    ByteBuffer[] bytes(Address address, String authorization) {
        long bodyBytes = 0;
        ByteBuffer[] bytes = new ByteBuffer[body.length + 1];
        for (int i = 0; i < body.length; i++) {
            bytes[i + 1] = body[i].duplicate();
            bodyBytes += body[i].remaining();
        }
        String length = method.equals("GET") ? "" : "content-length: " + bodyBytes + "\r\n";
        String head = method + " " + address.path() + target + " HTTP/1.1\r\nhost: " + address.hostHeader() + "\r\n"
                + authorization + headers + length + "\r\n";
        bytes[0] = ByteBuffer.wrap(head.getBytes(StandardCharsets.ISO_8859_1));
        return bytes;
    }

    boolean isGet() {
        return method.equals("GET");
    }
}
