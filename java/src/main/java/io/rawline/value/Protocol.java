package io.rawline.value;

/** What a port belongs to; its {@link #number()} is the format's. */
public enum Protocol {
    /** Not known, shown as {@code ?}. */
    UNKNOWN("?"),
    /** TCP. */
    TCP("tcp"),
    /** UDP. */
    UDP("udp"),
    /** ICMP. */
    ICMP("icmp");

    private static final Protocol[] PROTOCOLS = values();

    private final String text;

    Protocol(String text) {
        this.text = text;
    }

    /**
     * The format's number.
     *
     * @return 0 to 3
     */
    public int number() {
        return ordinal();
    }

    /**
     * The protocol's name.
     *
     * @return {@code tcp}, {@code udp}, {@code icmp} or {@code ?}
     */
    public String text() {
        return text;
    }

    /** The protocol of a number that is known to be 0 to 3. */
    static Protocol of(int number) {
        return PROTOCOLS[number & 3];
    }

    /** The protocol of this name; null if there is none. */
    static Protocol named(String text) {
        for (Protocol protocol : PROTOCOLS) {
            if (protocol.text.equals(text)) {
                return protocol;
            }
        }
        return null;
    }
}
