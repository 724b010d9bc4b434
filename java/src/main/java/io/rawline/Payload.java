package io.rawline;

/** What a topic's records are, for those who show them; the broker treats all alike. */
public enum Payload {
    /** Any bytes. */
    BYTES,
    /** Structured values. */
    VALUE;

    /**
     * The name that the broker knows it by.
     *
     * @return {@code bytes} or {@code value}
     */
    @Override
    public String toString() {
        return this == BYTES ? "bytes" : "value";
    }
}
