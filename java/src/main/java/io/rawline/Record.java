package io.rawline;

import io.rawline.batch.Records;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A record: a view of the bytes that were received or decompressed.
 *
 * <p>It is valid until its {@link Fetched} is used for another read. To keep its bytes longer, copy them with
 * {@link #toBytes()} or {@link #text()}.
 *
 * <p>Import it by name: with {@code import io.rawline.*} it is ambiguous with {@code java.lang.Record}.
 */
public final class Record {
    private final ByteBuffer buffer;
    private final int position;
    private final int length;
    private final int partition;
    private final long offset;
    private final long createdUs;

    /** The current record of a cursor over a partition, as an object over the same bytes. */
    static Record at(int partition, Records records) {
        return new Record(
                records.buffer(),
                records.position(),
                records.length(),
                partition,
                records.offset(),
                records.createdUs());
    }

    private Record(ByteBuffer buffer, int position, int length, int partition, long offset, long createdUs) {
        this.buffer = buffer;
        this.position = position;
        this.length = length;
        this.partition = partition;
        this.offset = offset;
        this.createdUs = createdUs;
    }

    /**
     * Its partition of the topic.
     *
     * @return from 0 on
     */
    public int partition() {
        return partition;
    }

    /**
     * Its offset in its partition.
     *
     * @return from 0 on
     */
    public long offset() {
        return offset;
    }

    /**
     * When the producer made the record's batch, by its clock.
     *
     * @return microseconds since the Unix epoch
     */
    public long createdUs() {
        return createdUs;
    }

    /**
     * Its length.
     *
     * @return bytes
     */
    public int length() {
        return length;
    }

    /**
     * Its bytes.
     *
     * @return a read-only slice, not a copy
     */
    public ByteBuffer bytes() {
        return buffer.slice(position, length);
    }

    /**
     * A copy of its bytes.
     *
     * @return a new array
     */
    public byte[] toBytes() {
        byte[] copy = new byte[length];
        buffer.get(position, copy);
        return copy;
    }

    /**
     * Its bytes as text.
     *
     * @return the bytes decoded as UTF-8; invalid sequences become U+FFFD
     */
    public String text() {
        return new String(toBytes(), StandardCharsets.UTF_8);
    }

    /**
     * A human-readable description.
     *
     * @return its offset and length
     */
    @Override
    public String toString() {
        return "record " + offset + " of " + length + " bytes";
    }
}
