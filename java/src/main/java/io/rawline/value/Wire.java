package io.rawline.value;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The primitives of the format: words, sizes, reals, and the ends of values.
 *
 * <p>A value is a tag and what follows it; every integer is big-endian.
 *
 * <pre>
 * 00 none       -                       08 port       u16 number, u8 protocol
 * 01 boolean    u8, 0 is false          09 timestamp  i64 ns since 1970
 * 02 count      u64                     0a timespan   i64 ns
 * 03 integer    i64                     0b enum       size, the name's bytes
 * 04 real       u64, see packReal       0c set        size, that many values
 * 05 string     size, that many bytes   0d table      size, that many times key and value
 * 06 address    16 bytes                0e vector     size, that many values
 * 07 subnet     16 bytes, u8 prefix     size: base 128, low group first, bit 7 set if more follow
 * </pre>
 */
final class Wire {
    static final int NONE = 0;
    static final int BOOLEAN = 1;
    static final int COUNT = 2;
    static final int INTEGER = 3;
    static final int REAL = 4;
    static final int STRING = 5;
    static final int ADDRESS = 6;
    static final int SUBNET = 7;
    static final int PORT = 8;
    static final int TIMESTAMP = 9;
    static final int TIMESPAN = 10;
    static final int ENUM = 11;
    static final int SET = 12;
    static final int TABLE = 13;
    static final int VECTOR = 14;

    static final int TAG_MAX = VECTOR;

    /** Length of a value in bytes by its tag, the tag included; 0 if it varies or needs a check. */
    static final byte[] STEPS = {1, 2, 9, 9, 9, 0, 17, 18, 0, 9, 9, 0, 0, 0, 0, 0};

    static final int PORT_BYTES = 4;

    private static final int PROTOCOL_MAX = 3;

    /** Maximum length of a size in bytes: 32 bits in groups of seven. */
    private static final int SIZE_BYTES_MAX = 5;

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);

    private static final long POSITIVE_INFINITY = 0xfff0_0000_0000_0000L;
    private static final long NEGATIVE_INFINITY = 0x7ff0_0000_0000_0000L;
    private static final long NAN = -1L;
    private static final long SIGN = 1L << 63;
    private static final long FRACTION = (1L << 52) - 1;
    private static final int EXPONENT = 0x7ff;

    private Wire() {}

    static long getLong(byte[] bytes, int at) {
        return (long) LONG.get(bytes, at);
    }

    static void putLong(byte[] bytes, int at, long word) {
        LONG.set(bytes, at, word);
    }

    static int getInt(byte[] bytes, int at) {
        return (int) INT.get(bytes, at);
    }

    static int getShort(byte[] bytes, int at) {
        return (short) SHORT.get(bytes, at) & 0xffff;
    }

    static void putShort(byte[] bytes, int at, int number) {
        SHORT.set(bytes, at, (short) number);
    }

    /**
     * The bits of a real on the wire: as in IEEE 754, except that the infinities are swapped, every NaN is all ones,
     * and numbers below 2^-1023 are zero: a zero exponent means 2^-1023, not IEEE 754's subnormals.
     */
    static long packReal(double real) {
        long bits = Double.doubleToRawLongBits(real);
        // Exponents 1 to 2046 are as in IEEE 754.
        int exponent = (int) (bits >>> 52) & EXPONENT;
        if (exponent != 0 && exponent != EXPONENT) {
            return bits;
        }
        return packSpecial(real, bits);
    }

    private static long packSpecial(double real, long bits) {
        if (Double.isNaN(real)) {
            return NAN;
        }
        if (Double.isInfinite(real)) {
            return real > 0 ? POSITIVE_INFINITY : NEGATIVE_INFINITY;
        }
        // 2^-1023 is a subnormal with only the fraction's highest bit set; the fraction is below it.
        long fraction = bits & FRACTION;
        return fraction < 1L << 51 ? bits & SIGN : bits & SIGN | fraction << 1 & FRACTION;
    }

    /** The real of these bits. */
    static double unpackReal(long bits) {
        int exponent = (int) (bits >>> 52) & EXPONENT;
        if (exponent != 0 && exponent != EXPONENT) {
            return Double.longBitsToDouble(bits);
        }
        return unpackSpecial(bits, exponent);
    }

    private static double unpackSpecial(long bits, int exponent) {
        if (bits == NAN) {
            return Double.NaN;
        }
        if (bits == POSITIVE_INFINITY) {
            return Double.POSITIVE_INFINITY;
        }
        if (bits == NEGATIVE_INFINITY) {
            return Double.NEGATIVE_INFINITY;
        }
        if ((bits & ~SIGN) == 0) {
            return Double.longBitsToDouble(bits);
        }
        if (exponent == EXPONENT) {
            // Not a special pattern, so a number whose exponent is out of range.
            return bits < 0 ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        // (1 + fraction) * 2^-1023, rounded to the nearest subnormal.
        return Double.longBitsToDouble(bits & (SIGN | FRACTION) | 1L << 52) * 0.5;
    }

    /** Length of a size in bytes. */
    static int sizeBytes(int size) {
        return size < 0x80 ? 1 : size < 0x4000 ? 2 : size < 0x20_0000 ? 3 : size < 0x1000_0000 ? 4 : 5;
    }

    /** Writes a size, which is not negative; returns where it ends. */
    static int putSize(byte[] bytes, int at, int size) {
        while (size >= 0x80) {
            bytes[at++] = (byte) (size | 0x80);
            size >>>= 7;
        }
        bytes[at++] = (byte) size;
        return at;
    }

    /**
     * A size and where it ends: {@code size << 32 | end}, the size unsigned. Positions in errors count from
     * {@code begin}.
     */
    static long size(byte[] bytes, int at, int end, int begin) {
        int position = at;
        long size = 0;
        for (int index = 0; index < SIZE_BYTES_MAX; index++) {
            if (at >= end) {
                throw ValueException.truncated(at - begin);
            }
            int next = bytes[at++];
            size |= (long) (next & 0x7f) << 7 * index;
            if (next >= 0) {
                if (size >>> 32 != 0) {
                    throw ValueException.size(position - begin);
                }
                return size << 32 | at;
            }
        }
        throw ValueException.size(position - begin);
    }

    /** The size in a result of {@link #size}. */
    static long sizeOf(long sizeAndEnd) {
        return sizeAndEnd >>> 32;
    }

    /** The end in a result of {@link #size}. */
    static int endOf(long sizeAndEnd) {
        return (int) sizeAndEnd;
    }

    /**
     * Where a string's bytes start, and their number: {@code length << 32 | start}; {@code at} is its tag's position.
     */
    static long string(byte[] bytes, int at, int end, int begin) {
        int length;
        int start = at + 2;
        if (at + 1 < end && (length = bytes[at + 1]) >= 0) {
            if (length > end - start) {
                throw ValueException.truncated(start - begin);
            }
            return (long) length << 32 | start;
        }
        long size = size(bytes, at + 1, end, begin);
        if (sizeOf(size) > end - endOf(size)) {
            throw ValueException.truncated(endOf(size) - begin);
        }
        return size;
    }

    static void checkProtocol(byte[] bytes, int at, int begin) {
        int number = bytes[at + 3];
        if ((number & ~PROTOCOL_MAX) != 0) {
            throw ValueException.protocol(at + 3 - begin, number & 0xff);
        }
    }

    /** Compares unsigned bytes; a prefix sorts first. */
    static int compareBytes(byte[] left, int leftAt, int leftLength, byte[] right, int rightAt, int rightLength) {
        if (leftLength >= 4 && rightLength >= 4) {
            // Adjacent values usually differ in their first bytes.
            int leftHead = getInt(left, leftAt);
            int rightHead = getInt(right, rightAt);
            if (leftHead != rightHead) {
                return Integer.compareUnsigned(leftHead, rightHead);
            }
        }
        return Arrays.compareUnsigned(left, leftAt, leftAt + leftLength, right, rightAt, rightAt + rightLength);
    }
}
