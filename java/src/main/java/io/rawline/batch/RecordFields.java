package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Reads the fields of a record in a Kafka batch, each of which is checked. */
final class RecordFields {
    private final ByteBuffer bytes;
    /** The record's number, for errors. */
    private int record;

    private int at;
    private int end;

    RecordFields(ByteBuffer bytes) {
        this.bytes = bytes;
    }

    /** Goes to the fields of a record that lie from {@code at} to before {@code end}. */
    void goTo(int record, int at, int end) {
        this.record = record;
        this.at = at;
        this.end = end;
    }

    /** Where the next field begins. */
    int at() {
        return at;
    }

    /** Limits the input to {@code count} more bytes. */
    void limit(int count) {
        end = at + count;
    }

    /** Number of bytes that are left. */
    int left() {
        return end - at;
    }

    /** Skips bytes. */
    void skip(int count) {
        if (count > left()) {
            throw invalid("it ends within a field");
        }
        at += count;
    }

    /** A number of up to {@code bits} bits: zigzag, then seven bits a byte, the lowest first. */
    long varint(int bits) {
        long value = 0;
        for (int shift = 0; shift < bits; shift += 7) {
            if (at == end) {
                throw invalid("it ends within a field");
            }
            int next = bytes.get(at++);
            long part = next & 0x7f;
            if (bits - shift < 7 && part >>> bits - shift != 0) {
                break;
            }
            value |= part << shift;
            if (next >= 0) {
                return value >>> 1 ^ -(value & 1);
            }
        }
        throw invalid("it has a number that is too long for its field");
    }

    /** The length of something whose bytes follow. */
    int length(String of) {
        return checked(of, varint(32));
    }

    /** As {@link #length}; -1 is null. */
    int nullableLength(String of) {
        long found = varint(32);
        return found == -1 ? -1 : checked(of, found);
    }

    private int checked(String of, long found) {
        if (found < 0 || found > left()) {
            throw invalid(of + " has a length of " + found + " where " + left() + " bytes follow");
        }
        return (int) found;
    }

    /** Skips a header. */
    void skipHeader() {
        skip(length("a header's key"));
        skip(Math.max(0, nullableLength("a header's value")));
    }

    /** Reads a header. */
    RecordHeader header() {
        byte[] name = take(length("a header's key"));
        return new RecordHeader(new String(name, StandardCharsets.UTF_8), take(nullableLength("a header's value")));
    }

    /** A copy of the next bytes; null if there are -1. */
    private byte[] take(int count) {
        if (count < 0) {
            return null;
        }
        byte[] taken = new byte[count];
        bytes.get(at, taken);
        at += count;
        return taken;
    }

    BatchException invalid(String reason) {
        return BatchException.recordBatch("record " + record + ": " + reason);
    }
}
