package io.rawline.value;

/** The protocol of a port. */
public enum Protocol {
    /** Unknown; its text is {@code ?}. */
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

    /** The protocol of a number, which the caller has checked to be 0 to 3. */
    static Protocol of(int number) {
        return PROTOCOLS[number & 3];
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(character -> character < 0x80);
    }

    /** The protocol with this name, in lower or upper case; null if not found. */
    static Protocol named(String text) {
        for (Protocol protocol : PROTOCOLS) {
            if (protocol.text.equalsIgnoreCase(text) && isAscii(text)) {
                return protocol;
            }
        }
        return null;
    }
}
