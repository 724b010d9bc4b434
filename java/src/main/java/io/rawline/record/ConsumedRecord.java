package io.rawline.record;

import io.rawline.batch.RecordHeader;
import io.rawline.batch.Records;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.OptionalLong;

/**
 * A record: a view of the bytes that were received or decompressed.
 *
 * <p>It is valid until its {@link Fetched} is used for another read. To keep its bytes longer, copy them with
 * {@link #toBytes()} or {@link #text()}.
 */
public final class ConsumedRecord {
    private final ByteBuffer buffer;
    private final int position;
    private final int length;
    private final String topic;
    private final int partition;
    private final long offset;
    private final long createdUs;
    private final Fields fields;

    /** The fields of a record in a Kafka batch other than its value. */
    private record Fields(byte[] key, List<RecordHeader> headers, OptionalLong timestampMs, boolean isNull) {
        static final Fields NONE = new Fields(null, List.of(), OptionalLong.empty(), false);
    }

    /**
     * The current record of a cursor over a partition, as an object over the same bytes.
     *
     * @param topic the topic's name
     * @param partition its partition
     * @param records the cursor, at a record
     */
    public ConsumedRecord(String topic, int partition, Records records) {
        buffer = records.buffer();
        position = records.position();
        length = records.length();
        this.topic = topic;
        this.partition = partition;
        offset = records.offset();
        createdUs = records.createdUs();
        fields = records.isKafka()
                ? new Fields(records.key(), records.headers(), records.timestampMs(), records.isNull())
                : Fields.NONE;
    }

    /**
     * Its topic.
     *
     * @return the topic's name
     */
    public String topic() {
        return topic;
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
     * When the producer made the record's batch, by its clock; of a Kafka batch, the record's own time.
     *
     * @return microseconds since the Unix epoch; 0 if a record of a Kafka batch has no time
     */
    public long createdUs() {
        return createdUs;
    }

    /**
     * Its key. Records that were sent without a key, headers or time have none.
     *
     * @return a copy that stays valid, or null
     */
    public byte[] key() {
        return fields.key == null ? null : fields.key.clone();
    }

    /**
     * Its key as text.
     *
     * @return the key decoded as UTF-8, or null
     */
    public String keyText() {
        return fields.key == null ? null : new String(fields.key, StandardCharsets.UTF_8);
    }

    /**
     * Its headers.
     *
     * @return copies that stay valid, in order
     */
    public List<RecordHeader> headers() {
        return fields.headers;
    }

    /**
     * The first of its headers that has this name.
     *
     * @param name such as {@code source}
     * @return the header, or null
     */
    public RecordHeader header(String name) {
        for (RecordHeader header : fields.headers) {
            if (header.name().equals(name)) {
                return header;
            }
        }
        return null;
    }

    /**
     * Its own time. Records of our own batches have none: {@link #createdUs()} is that of the batch.
     *
     * @return milliseconds since the Unix epoch
     */
    public OptionalLong timestampMs() {
        return fields.timestampMs;
    }

    /**
     * Whether it has no value, unlike an empty one: with a key, it is a tombstone.
     *
     * @return whether it is null; its length is 0 then
     */
    public boolean isNull() {
        return fields.isNull;
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
