package io.rawline.producer;

import io.rawline.batch.Limits;
import io.rawline.batch.RecordBatchBuilder;
import io.rawline.batch.RecordHeader;
import io.rawline.internal.setting.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * A record to send, with a key, headers or a time.
 *
 * <pre>{@code
 * producer.send(ProducerRecord.of("logged in").key("user-17").header("source", "web"));
 * }</pre>
 *
 * <p>A record that has any of them is sent in a Kafka batch. A record without any is sent as
 * {@link Producer#send(byte[])} sends it. Not thread-safe.
 */
public final class ProducerRecord {
    /** Null for a record without a value. */
    final ByteBuffer value;

    byte[] key;
    final List<RecordHeader> headers = new ArrayList<>();
    OptionalLong timestampMs = OptionalLong.empty();

    private ProducerRecord(ByteBuffer value) {
        this.value = value;
    }

    /**
     * A record of these bytes.
     *
     * @param value its value, which is copied when it is sent; empty is a value too
     * @return the record
     */
    public static ProducerRecord of(byte[] value) {
        return new ProducerRecord(ByteBuffer.wrap(Settings.notNull("value", value)));
    }

    /**
     * A record of a text in UTF-8.
     *
     * @param value the text
     * @return the record
     */
    public static ProducerRecord of(String value) {
        return of(Settings.notNull("value", value).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * A record of a buffer's bytes from its position to its limit.
     *
     * @param value the buffer, which is copied when the record is sent; its position is not changed
     * @return the record
     */
    public static ProducerRecord of(ByteBuffer value) {
        return new ProducerRecord(Settings.notNull("value", value).slice());
    }

    /**
     * A record without a value, which says that the key is deleted.
     *
     * @param key the key's bytes, which are not copied
     * @return the record
     */
    public static ProducerRecord tombstone(byte[] key) {
        return new ProducerRecord(null).key(key);
    }

    /**
     * As {@link #tombstone(byte[])}, of a text in UTF-8.
     *
     * @param key the text
     * @return the record
     */
    public static ProducerRecord tombstone(String key) {
        return new ProducerRecord(null).key(key);
    }

    /**
     * Sets the key, which also chooses the partition unless a {@link Route} does: the one where Kafka's clients put it.
     *
     * @param bytes its bytes, which are not copied
     * @return this
     */
    public ProducerRecord key(byte[] bytes) {
        key = Settings.notNull("key", bytes);
        return this;
    }

    /**
     * As {@link #key(byte[])}, of a text in UTF-8.
     *
     * @param text the text
     * @return this
     */
    public ProducerRecord key(String text) {
        return key(Settings.notNull("key", text).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Adds a header after those that there are, also of the same name.
     *
     * @param name its name
     * @param value its value, which is not copied; or null
     * @return this
     */
    public ProducerRecord header(String name, byte[] value) {
        headers.add(new RecordHeader(name, value));
        return this;
    }

    /**
     * As {@link #header(String, byte[])}, of a text in UTF-8.
     *
     * @param name its name
     * @param value the text
     * @return this
     */
    public ProducerRecord header(String name, String value) {
        return header(name, Settings.notNull("value", value).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Sets the record's time. Without, a record with a key or headers has the time when it is sent.
     *
     * @param milliseconds since the Unix epoch, 0 or more
     * @return this
     */
    public ProducerRecord timestampMs(long milliseconds) {
        timestampMs = OptionalLong.of(Settings.atLeast("timestampMs", 0L, milliseconds));
        return this;
    }

    /** Whether there is only a value. */
    boolean isPlain() {
        return value != null && key == null && headers.isEmpty() && timestampMs.isEmpty();
    }

    /** Maximum length in a batch of Kafka's. Throws {@code batch_limit} if no batch can hold it. */
    int bytesMax(Limits limits) {
        long bytes = RecordBatchBuilder.recordBytesMax(key, value == null ? 0 : value.remaining(), headers);
        RecordBatchBuilder.check(limits, bytes);
        return (int) bytes;
    }

    /** Its target: the given route, unless that is any and the record has a key. */
    Route route(Route given) {
        return given instanceof Route.Any && key != null ? Route.key(key) : given;
    }
}
