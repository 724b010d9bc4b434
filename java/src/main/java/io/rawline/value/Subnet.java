package io.rawline.value;

import java.util.Objects;

/**
 * A network. Received bytes may have what {@link #of} doesn't produce (bits after the prefix, a prefix of 200); such a
 * subnet is kept and written unchanged.
 *
 * @param network the network's address
 * @param prefixBits the prefix's length on the 128-bit address, 0 to 255: 120 for an IPv4 /24
 */
public record Subnet(Address network, int prefixBits) implements Value {
    private static final int IPV4_PREFIX_BITS = 96;
    private static final String EXPECTED = "a subnet; write it as 192.0.2.0/24 or 2001:db8::/32";

    /**
     * A subnet of exactly these parts.
     *
     * @param network the network's address
     * @param prefixBits the prefix's length on the 128-bit address, 0 to 255
     * @throws IllegalArgumentException if the prefix is not 0 to 255
     */
    public Subnet {
        Objects.requireNonNull(network, "network must not be null");
        if (prefixBits < 0 || prefixBits > 255) {
            throw new IllegalArgumentException("a prefix of " + prefixBits + " bits is not 0 to 255");
        }
    }

    /**
     * The network of an address. Bits after the prefix are cleared.
     *
     * @param address an address in it
     * @param length the prefix's length in the address's family: up to 32 for IPv4, 128 for IPv6
     * @return the network
     * @throws ValueException if the prefix is longer than the address
     */
    public static Subnet of(Address address, int length) {
        int lengthMax = address.isIpv4() ? 32 : 128;
        if (length < 0 || length > lengthMax) {
            throw ValueException.text(
                    address + "/" + length, "a subnet: a prefix has up to 32 bits for IPv4, 128 for" + " IPv6");
        }
        int prefixBits = length + 128 - lengthMax;
        return new Subnet(
                Address.of(address.high() & mask(prefixBits), address.low() & mask(prefixBits - 64)), prefixBits);
    }

    /** A mask of {@code bits} ones from the highest; none below 0, all from 64 on. */
    private static long mask(int bits) {
        return bits <= 0 ? 0 : bits >= 64 ? -1L : -1L << 64 - bits;
    }

    /**
     * Parses a subnet such as {@code 192.0.2.0/24}.
     *
     * @param text address and length
     * @return the subnet
     * @throws ValueException if it isn't a subnet
     */
    public static Subnet parse(String text) {
        int slash = text.indexOf('/');
        int length = slash < 0 ? -1 : Texts.wholeNumber(text, slash + 1, text.length(), 255);
        Address address = length < 0 ? null : Texts.address(text.substring(0, slash));
        if (address == null) {
            throw ValueException.text(text, EXPECTED);
        }
        return of(address, length);
    }

    /**
     * The prefix's length in the address's family.
     *
     * @return the length; -1 if it is impossible
     */
    public int length() {
        if (prefixBits > 128) {
            return -1;
        }
        return network.isIpv4() ? Math.max(prefixBits - IPV4_PREFIX_BITS, -1) : prefixBits;
    }

    /** Whether {@link #of} could have produced this: a possible length, and no bit set after the prefix. */
    boolean isCanonical() {
        int length = length();
        return length >= 0 && of(network, length).equals(this);
    }

    @Override
    public Kind kind() {
        return Kind.SUBNET;
    }

    /** {@code address/length}; an impossible length in eight bits. */
    @Override
    public String toString() {
        return network + "/" + (prefixBits - (network.isIpv4() ? IPV4_PREFIX_BITS : 0) & 0xff);
    }
}
