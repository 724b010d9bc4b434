package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Builds Kafka's batches: of records with keys, headers and times. Not thread-safe. */
public final class RecordBatchBuilder {
    private static final int DATA_BYTES_MIN = 16 << 10;
    /** After the greatest number of a record comes 0. */
    private static final long SEQUENCES = 1L << 31;
    /** A record's length, attributes, time, offset, and the lengths of key, value and headers. */
    private static final int FRONT_BYTES_MAX = 5 + 1 + 10 + 5 + 5 + 5 + 5;
    /** The two lengths of a header. */
    private static final int HEADER_FRONT_BYTES_MAX = 5 + 5;

    private final Limits limits;
    private final Compression compression;
    private final Buffers headerBuffers;
    private final Buffers dataBuffers;
    /** The records; null while the batch is empty. */
    private ByteBuffer data;

    private int count;
    private long baseTimestampMs;
    private long maxTimestampMs;

    /**
     * An empty batch whose memory comes from pools that the caller shares.
     *
     * @param codec how the records are compressed when the batch is finished; those that would not get shorter are
     *     stored uncompressed
     * @param limits how large it may become
     * @param headerBuffers for the header
     * @param dataBuffers for the records
     */
    public RecordBatchBuilder(Codec codec, Limits limits, Buffers headerBuffers, Buffers dataBuffers) {
        this.limits = limits;
        this.compression = new Compression(codec);
        this.headerBuffers = headerBuffers;
        this.dataBuffers = dataBuffers;
    }

    /**
     * Number of records so far.
     *
     * @return 0 after each batch
     */
    public int count() {
        return count;
    }

    /**
     * Length of the records so far.
     *
     * @return bytes
     */
    public int dataBytes() {
        return data == null ? 0 : data.position();
    }

    /**
     * Maximum length of a record in a batch.
     *
     * @param key the key, or null
     * @param valueBytes length of the value
     * @param headers the headers
     * @return bytes
     */
    public static long recordBytesMax(byte[] key, int valueBytes, List<RecordHeader> headers) {
        long bytes = FRONT_BYTES_MAX + (long) valueBytes + (key == null ? 0 : key.length);
        for (RecordHeader header : headers) {
            // A UTF-16 code unit takes up to three bytes.
            bytes += HEADER_FRONT_BYTES_MAX + 3L * header.name().length();
            bytes += header.value() == null ? 0 : header.value().length;
        }
        return bytes;
    }

    /**
     * Throws unless a batch can hold a record.
     *
     * @param limits how large it may become
     * @param recordBytesMax maximum length of the record
     * @throws BatchException {@code batch_limit}: no batch can
     */
    public static void check(Limits limits, long recordBytesMax) {
        long batchBytesMax = Math.min(limits.batchBytesMax(), Integer.MAX_VALUE);
        if (RecordBatchHeader.BYTES + recordBytesMax > batchBytesMax) {
            throw BatchException.limit("batch_bytes", RecordBatchHeader.BYTES + recordBytesMax, batchBytesMax);
        }
        if (recordBytesMax > limits.rawBytesMax()) {
            throw BatchException.limit("raw_bytes", recordBytesMax, limits.rawBytesMax());
        }
    }

    /**
     * Adds a record, unless the batch would then be over its limits, or its times too far apart.
     *
     * @param timestampMs milliseconds since the Unix epoch
     * @param key the key, or null
     * @param value the value, from position to limit, or null; the position is not changed
     * @param headers the headers
     * @return false if it doesn't fit: finish the batch and add it to the next; if it doesn't fit into an empty batch,
     *     no batch can hold the record
     */
    public boolean add(long timestampMs, byte[] key, ByteBuffer value, List<RecordHeader> headers) {
        long base = count == 0 ? timestampMs : baseTimestampMs;
        long delta = timestampMs - base;
        boolean isFar = ((timestampMs ^ base) & (timestampMs ^ delta)) < 0;
        long recordBytes = recordBytesMax(key, value == null ? 0 : value.remaining(), headers);
        long end = dataBytes() + recordBytes;
        if (isFar
                || count >= Math.min(limits.recordsMax(), Integer.MAX_VALUE)
                || end > limits.rawBytesMax()
                || RecordBatchHeader.BYTES + end > Math.min(limits.batchBytesMax(), Integer.MAX_VALUE)) {
            return false;
        }
        makeRoom((int) recordBytes);
        put(delta, key, value, headers);
        maxTimestampMs = count == 0 ? timestampMs : Math.max(maxTimestampMs, timestampMs);
        baseTimestampMs = base;
        count++;
        return true;
    }

    private void makeRoom(int recordBytes) {
        if (data == null) {
            data = dataBuffers.take(Math.max(DATA_BYTES_MIN, recordBytes));
        }
        if (data.remaining() < recordBytes) {
            data = dataBuffers.grow(data, data.position() + recordBytes);
        }
    }

    private void put(long timestampDelta, byte[] key, ByteBuffer value, List<RecordHeader> headers) {
        byte[][] names = new byte[headers.size()][];
        int valueBytes = value == null ? -1 : value.remaining();
        long length = 1 + varintBytes(timestampDelta) + varintBytes(count);
        length += fieldBytes(key == null ? -1 : key.length) + fieldBytes(valueBytes) + varintBytes(names.length);
        for (int i = 0; i < names.length; i++) {
            RecordHeader header = headers.get(i);
            names[i] = header.name().getBytes(StandardCharsets.UTF_8);
            length += fieldBytes(names[i].length) + fieldBytes(header.value() == null ? -1 : header.value().length);
        }
        putVarint(length);
        int start = data.position();
        data.put((byte) 0);
        putVarint(timestampDelta);
        putVarint(count);
        putField(key);
        putVarint(valueBytes);
        if (value != null) {
            data.put(data.position(), value, value.position(), valueBytes);
            data.position(data.position() + valueBytes);
        }
        putVarint(names.length);
        for (int i = 0; i < names.length; i++) {
            putField(names[i]);
            putField(headers.get(i).value());
        }
        if (data.position() - start != length) {
            throw new IllegalStateException("a record of " + (data.position() - start) + " bytes, not " + length);
        }
    }

    private void putField(byte[] field) {
        putVarint(field == null ? -1 : field.length);
        if (field != null) {
            data.put(field);
        }
    }

    /** Zigzag, then seven bits a byte, the lowest first. */
    private void putVarint(long value) {
        long left = value << 1 ^ value >> 63;
        while ((left & ~0x7f) != 0) {
            data.put((byte) (left | 0x80));
            left >>>= 7;
        }
        data.put((byte) left);
    }

    private static int varintBytes(long value) {
        long zigzag = value << 1 ^ value >> 63;
        return (70 - Long.numberOfLeadingZeros(zigzag | 1)) / 7;
    }

    private static long fieldBytes(int length) {
        return varintBytes(length) + (long) Math.max(0, length);
    }

    /**
     * Finishes the batch, in pieces, and starts the next. The caller may give their memory back to the buffers.
     *
     * @param producerId the producer's id; -1 for none
     * @param producerEpoch its epoch; -1 for none
     * @param sequence the producer's number for the first record, of which the batch has the lowest 31 bits; -1 for
     *     none
     * @return the batch in pieces
     * @throws BatchException {@code batch_empty}: there are no records
     */
    public SealedBatch seal(long producerId, int producerEpoch, long sequence) {
        if (count == 0) {
            throw BatchException.empty();
        }
        // The builder is not changed until nothing can fail any more.
        ByteBuffer front = headerBuffers.take(RecordBatchHeader.BYTES).limit(RecordBatchHeader.BYTES);
        ByteBuffer raw = data.duplicate().order(ByteOrder.LITTLE_ENDIAN).flip();
        ByteBuffer packed = compression.pack(raw, dataBuffers, true);
        RecordBatchHeader header = new RecordBatchHeader(
                0,
                RecordBatchHeader.BYTES + packed.limit(),
                count,
                count,
                0,
                packed == raw ? RecordCodec.NONE : RecordCodec.of(compression.codec()),
                false,
                baseTimestampMs,
                maxTimestampMs,
                producerId,
                producerEpoch,
                sequence < 0 ? -1 : (int) number(sequence));
        header.write(front, packed);
        if (packed != raw) {
            dataBuffers.give(raw);
        }
        data = null;
        count = 0;
        return new SealedBatch(front, packed, 0);
    }

    /**
     * The number that a batch has for its first record.
     *
     * @param sequence the producer's number for the record, 0 or more
     * @return its lowest 31 bits
     */
    public static long number(long sequence) {
        return sequence % SEQUENCES;
    }
}
