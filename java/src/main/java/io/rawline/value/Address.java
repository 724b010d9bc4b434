package io.rawline.value;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * An IPv4 or IPv6 address: 16 bytes in network order, an IPv4 address mapped into IPv6 ({@code ::ffff:192.0.2.1}).
 * Shown as a dotted quad or as RFC 5952 says.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record Address(long high, long low) implements Value {
    private static final long IPV4_PREFIX = 0xffffL;

    /**
     * The address of these 16 bytes.
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
     * The address that Java's own type holds.
     *
     * @param address an IPv4 or IPv6 address
     * @return the same address
     */
    public static Address of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length == 4 ? ofIpv4(Wire.getInt(bytes, 0)) : of(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8));
    }

    /**
     * The address that a text names.
     *
     * @param text such as {@code 192.0.2.1} or {@code 2001:db8::1}
     * @return the address
     * @throws ValueException if it names none
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
     * The address as Java's own type.
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
