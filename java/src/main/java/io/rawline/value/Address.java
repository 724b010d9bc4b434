package io.rawline.value;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * An IPv4 or IPv6 address: 16 bytes in network order, an IPv4 address mapped into IPv6 ({@code ::ffff:192.0.2.1}).
 * Text is a dotted quad for IPv4, and as in RFC 5952 for IPv6.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record Address(long high, long low) implements Value {
    private static final long IPV4_PREFIX = 0xffffL;

    /**
     * An address of 16 bytes.
     *
     * @param high the first eight, big-endian
     * @param low the last eight, big-endian
     * @return the address
     */
    public static Address of(long high, long low) {
        return new Address(high, low);
    }

    /**
     * An IPv4 address.
     *
     * @param bits its four bytes, big-endian
     * @return the address
     */
    public static Address ofIpv4(int bits) {
        return new Address(0, IPV4_PREFIX << 32 | bits & 0xffff_ffffL);
    }

    /**
     * Converts from Java's type.
     *
     * @param address an IPv4 or IPv6 address
     * @return the same address
     */
    public static Address of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length == 4 ? ofIpv4(Wire.getInt(bytes, 0)) : of(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8));
    }

    /**
     * Parses an address.
     *
     * @param text such as {@code 192.0.2.1} or {@code 2001:db8::1}
     * @return the address
     * @throws ValueException if it isn't an address
     */
    public static Address parse(String text) {
        Address address = Texts.address(text);
        if (address == null) {
            throw ValueException.text(text, "an IPv4 or IPv6 address; write it as 192.0.2.1 or 2001:db8::1");
        }
        return address;
    }

    /**
     * Whether this is an IPv4 address.
     *
     * @return true if it is
     */
    public boolean isIpv4() {
        return high == 0 && low >>> 32 == IPV4_PREFIX;
    }

    /**
     * Converts to Java's type.
     *
     * @return an IPv4 or IPv6 address
     */
    public InetAddress toInetAddress() {
        byte[] bytes = new byte[16];
        Wire.putLong(bytes, 0, high);
        Wire.putLong(bytes, 8, low);
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException error) {
            throw new AssertionError("16 bytes are always an address", error);
        }
    }

    @Override
    public Kind kind() {
        return Kind.ADDRESS;
    }

    @Override
    public String toString() {
        StringBuilder out = new StringBuilder(40);
        Texts.writeAddress(high, low, out);
        return out.toString();
    }
}
