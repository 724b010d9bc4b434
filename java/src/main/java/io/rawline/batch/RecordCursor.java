package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A cursor over the records of a Kafka batch.
 *
 * <pre>
 * record: length │ attributes i8, unused │ time i64, from the batch's │ offset, from the batch's
 *         │ length of the key, key │ length of the value, value │ number of headers, headers
 * header: length of the key, key │ length of the value, value
 * </pre>
 *
 * All numbers but the attributes are varints. A length of -1 is null. A record's length counts the bytes after
 * it.
 */
final class RecordCursor {
    /** Maximum number of a record's headers: each becomes objects of a hundred bytes, but takes two in a batch. */
    private static final int HEADERS_MAX = 100_000;

    private final RecordBatchHeader header;
    private final ByteBuffer bytes;
    private final RecordFields fields;
    /** Number of the next record, and where it begins. */
    private int next;

    private int nextAt;
    /** The lowest offset that the next record can have, counted from the batch's. */
    private int nextDelta;

    private int offsetDelta;

    private long timestampMs;
    private int keyAt;
    private int keyBytes;
    private int valueAt;
    private int valueBytes;
    private int headersAt;
    private int headersEnd;
    private int headers;

    /** Before the first record of uncompressed {@code bytes}, from position to limit. */
    RecordCursor(RecordBatchHeader header, ByteBuffer bytes) {
        this.header = header;
        this.bytes = bytes;
        fields = new RecordFields(bytes);
        nextAt = bytes.position();
    }

    boolean hasNext() {
        return next < header.records();
    }

    /** Goes to the next record; if it is invalid, stays, and throws the same with each call. */
    void next() {
        fields.goTo(next, nextAt, bytes.limit());
        fields.limit(fields.length("it"));
        // The attributes.
        fields.skip(1);
        long time = time(fields.varint(64));
        long delta = fields.varint(32);
        // Every record after it needs an offset too.
        if (delta < nextDelta || delta > header.offsets() - (header.records() - next)) {
            throw fields.invalid("it has the offset delta " + delta);
        }
        keyBytes = fields.nullableLength("its key");
        keyAt = fields.at();
        fields.skip(Math.max(0, keyBytes));
        valueBytes = fields.nullableLength("its value");
        valueAt = fields.at();
        fields.skip(Math.max(0, valueBytes));
        long count = fields.varint(32);
        if (count < 0 || count > Math.min(fields.left(), HEADERS_MAX)) {
            throw fields.invalid(
                    "it has " + count + " headers in " + fields.left() + " bytes; up to " + HEADERS_MAX + " are read");
        }
        headersAt = fields.at();
        for (int i = 0; i < count; i++) {
            fields.skipHeader();
        }
        if (fields.left() > 0) {
            throw fields.invalid("it is followed by " + fields.left() + " bytes of no field");
        }
        headersEnd = fields.at();
        if (next + 1 == header.records() && headersEnd < bytes.limit()) {
            throw fields.invalid("it is the last one, and " + (bytes.limit() - headersEnd) + " bytes follow");
        }
        headers = (int) count;
        timestampMs = time;
        nextAt = headersEnd;
        offsetDelta = (int) delta;
        nextDelta = offsetDelta + 1;
        next++;
    }

    private long time(long deltaMs) {
        if (header.appendTime()) {
            return header.maxTimestampMs();
        }
        try {
            return Math.addExact(header.baseTimestampMs(), deltaMs);
        } catch (ArithmeticException error) {
            throw fields.invalid("it is " + deltaMs + " ms after its batch's time, which no number holds");
        }
    }

    /** The record's offset, counted from the batch's. */
    int offsetDelta() {
        return offsetDelta;
    }

    /** Milliseconds since the Unix epoch; usually -1 if its producer gave no time. */
    long timestampMs() {
        return timestampMs;
    }

    byte[] key() {
        if (keyBytes < 0) {
            return null;
        }
        byte[] key = new byte[keyBytes];
        bytes.get(keyAt, key);
        return key;
    }

    int valueAt() {
        return valueAt;
    }

    /** Length of the value; -1 if it is null. */
    int valueBytes() {
        return valueBytes;
    }

    List<RecordHeader> headers() {
        if (headers == 0) {
            return List.of();
        }
        fields.goTo(next - 1, headersAt, headersEnd);
        List<RecordHeader> found = new ArrayList<>(headers);
        for (int i = 0; i < headers; i++) {
            found.add(fields.header());
        }
        return Collections.unmodifiableList(found);
    }
}
