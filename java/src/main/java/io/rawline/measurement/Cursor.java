package io.rawline.measurement;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;

/** Reads Avro's primitive types from a message, with all checks. */
final class Cursor {
    private static final int LONG_BYTES_MAX = 10;

    byte[] bytes;
    int at;
    private int end;
    private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();

    void reset(byte[] bytes, int at, int end) {
        this.bytes = bytes;
        this.at = at;
        this.end = end;
    }

    /** A zigzag {@code long}; an overlong encoding is accepted if it fits into ten bytes and 64 bits. */
    long readLong() {
        long value = 0;
        for (int index = 0; index < LONG_BYTES_MAX; index++) {
            if (at + index >= end) {
                throw new FaultException(Fault.TRUNCATED, at);
            }
            int next = bytes[at + index];
            // The tenth byte has only the 64th bit.
            if (index == LONG_BYTES_MAX - 1 && (next & 0xff) > 1) {
                break;
            }
            value |= (long) (next & 0x7f) << 7 * index;
            if (next >= 0) {
                at += index + 1;
                return value >>> 1 ^ -(value & 1);
            }
        }
        throw new FaultException(Fault.INTEGER_TOO_LONG, at);
    }

    int readInt() {
        int begin = at;
        long value = readLong();
        if (value != (int) value) {
            throw new FaultException(Fault.INTEGER_TOO_LONG, begin);
        }
        return (int) value;
    }

    float readFloat() {
        return Float.intBitsToFloat(
                Integer.reverseBytes(ByteBuffer.wrap(bytes, fixed(4), 4).getInt()));
    }

    double readDouble() {
        return Double.longBitsToDouble(ByteTable.getLong(bytes, fixed(8)));
    }

    /** Skips bytes and returns where they start. */
    int fixed(int length) {
        if (end - at < length) {
            throw new FaultException(Fault.TRUNCATED, at);
        }
        at += length;
        return at - length;
    }

    /** Reads a string and returns its length; it ends at the cursor's new position. */
    int readString() {
        int begin = at;
        long length = readLong();
        if (length < 0 || length > end - at) {
            throw new FaultException(length < 0 ? Fault.LENGTH : Fault.TRUNCATED, begin);
        }
        if (!isUtf8(at, (int) length)) {
            throw new FaultException(Fault.UTF8, begin);
        }
        if (length > StringInterner.STRING_BYTES_MAX) {
            throw new FaultException(Fault.STRING_TOO_LONG, begin);
        }
        at += (int) length;
        return (int) length;
    }

    void skipBoolean() {
        int begin = fixed(1);
        if (bytes[begin] != 0 && bytes[begin] != 1) {
            throw new FaultException(Fault.BOOLEAN, begin);
        }
    }

    /** Skips bytes or a string. */
    void skipBytes(boolean isText) {
        int begin = at;
        long length = readLong();
        if (length < 0 || length > end - at) {
            throw new FaultException(length < 0 ? Fault.LENGTH : Fault.TRUNCATED, begin);
        }
        if (isText && !isUtf8(at, (int) length)) {
            throw new FaultException(Fault.UTF8, begin);
        }
        at += (int) length;
    }

    private boolean isUtf8(int from, int length) {
        for (int index = from; index < from + length; index++) {
            if (bytes[index] < 0) {
                try {
                    utf8.decode(ByteBuffer.wrap(bytes, from, length));
                    return true;
                } catch (CharacterCodingException error) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * The number of entries of the next block, and where it must end; {@link #blockEnd} is -1 if the block doesn't say.
     */
    long readBlock() {
        int begin = at;
        long count = readLong();
        blockEnd = -1;
        if (count < 0) {
            long size;
            try {
                size = readLong();
            } catch (FaultException fault) {
                throw new FaultException(fault.fault, begin);
            }
            if (size < 0 || size > end - at) {
                throw new FaultException(Fault.LENGTH, begin);
            }
            blockEnd = at + (int) size;
        }
        // The minimum has no negation; read as unsigned it is right, and above any possible count.
        return count == Long.MIN_VALUE ? Long.MAX_VALUE : Math.abs(count);
    }

    int blockEnd;

    void finish() {
        if (at != end) {
            throw new FaultException(Fault.REMAINDER, at);
        }
    }
}
