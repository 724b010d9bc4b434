package io.rawline.value;

/**
 * A port number with its protocol; its text is like {@code 53/udp}. Ordered by number, then protocol.
 *
 * @param number 0 to 65535
 * @param protocol its protocol
 */
public record Port(int number, Protocol protocol) implements Value {
    private static final String EXPECTED =
            "a port; write it as 443/tcp, 53/udp, 8/icmp or 0/?, with a number of 0 to 65535";

    /**
     * A port.
     *
     * @param number 0 to 65535
     * @param protocol its protocol
     * @throws IllegalArgumentException if the number is not 0 to 65535
     */
    public Port {
        java.util.Objects.requireNonNull(protocol, "a port's protocol is missing; give Protocol.UNKNOWN");
        if (number < 0 || number > 0xffff) {
            throw new IllegalArgumentException("the port number " + number + " is not 0 to 65535; give another");
        }
    }

    /**
     * Parses a port such as {@code 53/udp}.
     *
     * @param text number and protocol
     * @return the port
     * @throws ValueException if it isn't a port
     */
    public static Port parse(String text) {
        int slash = text.indexOf('/');
        Protocol protocol = slash < 0 ? null : Protocol.named(text.substring(slash + 1));
        int number = slash < 0 ? -1 : Texts.wholeNumber(text, 0, slash, 0xffff);
        if (protocol == null || number < 0) {
            throw ValueException.text(text, EXPECTED);
        }
        return new Port(number, protocol);
    }

    /** As {@link #parse}; a number alone is a TCP port. */
    static Port parseLoosely(String text) {
        return parse(text.indexOf('/') < 0 ? text + "/tcp" : text);
    }

    @Override
    public Kind kind() {
        return Kind.PORT;
    }

    @Override
    public String toString() {
        return number + "/" + protocol.text();
    }
}
