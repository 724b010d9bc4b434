package io.rawline.internal.http;

/**
 * The successful response to an append.
 *
 * @param body its content
 * @param owner the URL of the broker to which the append was forwarded; null if it wasn't
 */
public record AppendResponse(byte[] body, String owner) {
    /** The header that names the owner of the topic's journal, in lower case. */
    static final String OWNER = "rawline-owner";
}
