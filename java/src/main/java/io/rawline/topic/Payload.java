package io.rawline.topic;

/** The type of a topic's records, for programs that display them; the broker treats all alike. */
public enum Payload {
    /** Any bytes. */
    BYTES,
    /** Structured values. */
    VALUE;

    /**
     * The name in the broker's API.
     *
     * @return {@code bytes} or {@code value}
     */
    @Override
    public String toString() {
        return this == BYTES ? "bytes" : "value";
    }
}
