package io.rawline.measurement;

import io.rawline.batch.BatchException;
import io.rawline.batch.Records;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Decodes measurements of one shape, or of one writer's schema, to a series id, a time and a value each. Each thread
 * has its own decoder; all share one table. A measurement with a known metric and tags is decoded without allocation.
 *
 * <p>A message is a metric and tags, which repeat, then a time and a value, which change. The last two are read <b>from
 * the message's end</b>: in a variable-length integer every byte except the last has its high bit set. The bytes before
 * them are looked up among the known encodings: one hash, one comparison of all bytes. If they are found, the message
 * is valid, because the forward reader with all checks would take the same steps as for the message that was
 * remembered. If not, the message is read forward, and its encoding is remembered.
 *
 * <p>Messages are decoded in blocks, and each block in three passes: with a million series each lookup misses the cache
 * twice, so each pass prefetches the memory that the next one needs.
 */
public final class MeasurementDecoder {
    /** Maximum number of faults described per call; the others are only counted. */
    public static final int FAULTS_MAX = 8;

    private static final int BLOCK = 64;
    private static final int FORWARD = -1;

    private final SeriesTable table;
    private final ByteTable encodings;
    private final byte[] head;
    /** The value's type, or null if each message is read by its writer's schema. */
    private final ValueType type;
    /** Null if there is a type. */
    private final SchemaReader reader;

    private final Tail tail = new Tail();
    private final Scratch scratch = new Scratch();
    private final List<MessageFault> faults = new ArrayList<>(FAULTS_MAX);

    /** The messages of a block: where they start and end in one array. */
    private final int[] begins = new int[BLOCK];

    private final int[] ends = new int[BLOCK];
    /** Where the time starts, or {@link #FORWARD}; the hash of the bytes before it; time and value. */
    private final int[] tails = new int[BLOCK];

    private final long[] hashes = new long[BLOCK];
    private final long[] times = new long[BLOCK];
    private final double[] values = new double[BLOCK];
    /** Copies of messages without an accessible array. */
    private byte[] copy = new byte[BLOCK * 128];

    private long messages;
    private long rows;
    private long dropped;
    private long faulty;
    /** Prevents the compiler from removing the prefetches. */
    private long touched;

    /**
     * A decoder of messages of this shape.
     *
     * @param shape the shape
     * @param table assigns the series' ids
     */
    public MeasurementDecoder(MeasurementShape shape, SeriesTable table) {
        this.table = Objects.requireNonNull(table);
        encodings = table.encodings();
        head = shape.head();
        type = shape.value();
        reader = null;
    }

    /**
     * A decoder of messages that another schema wrote. If it has the fields of a {@link MeasurementShape} in its order
     * and no others, decoding is as fast; else messages are read forward, field by field.
     *
     * @param schema the writer's schema
     * @param table assigns the series' ids
     */
    public MeasurementDecoder(WriterSchema schema, SeriesTable table) {
        this.table = Objects.requireNonNull(table);
        encodings = table.encodings();
        head = schema.head();
        type = schema.shape();
        reader = type == null ? new SchemaReader(schema) : null;
    }

    /**
     * Decodes all records. Invalid ones, and those without room in the table, are counted and skipped.
     *
     * @param records the records, each one message
     * @param out receives the measurements, in order
     * @return their numbers
     * @throws BatchException a compressed batch can't be decompressed; {@code out} has all records before it
     */
    public Counts decode(Records records, MeasurementSink out) {
        start();
        int count = 0;
        int used = 0;
        while (hasNext(records, count, out)) {
            int length = records.length();
            if (count == BLOCK || count > 0 && used + length > copy.length) {
                decodeBlock(copy, count, out);
                count = 0;
                used = 0;
            }
            reserve(used + length);
            records.buffer().get(records.position(), copy, used, length);
            begins[count] = used;
            used += length;
            ends[count++] = used;
        }
        decodeBlock(copy, count, out);
        return counts();
    }

    /**
     * Decodes messages that lie back to back.
     *
     * @param block an array that holds them
     * @param offset where the first starts
     * @param lengths their lengths in bytes
     * @param count their number
     * @param out receives the measurements, in order
     * @return their numbers
     */
    public Counts decode(byte[] block, int offset, int[] lengths, int count, MeasurementSink out) {
        start();
        for (int first = 0; first < count; first += BLOCK) {
            int size = Math.min(BLOCK, count - first);
            for (int index = 0; index < size; index++) {
                begins[index] = offset;
                Objects.checkFromIndexSize(offset, lengths[first + index], block.length);
                offset += lengths[first + index];
                ends[index] = offset;
            }
            decodeBlock(block, size, out);
        }
        return counts();
    }

    /**
     * Decodes one message, between the buffer's position and limit, which are not changed.
     *
     * @param message the message
     * @param out receives the measurement
     * @return whether it was decoded; if not, {@link #faults} says why, or is empty if the table is full
     */
    public boolean decode(ByteBuffer message, MeasurementSink out) {
        start();
        byte[] bytes = copy;
        begins[0] = 0;
        if (message.hasArray()) {
            bytes = message.array();
            begins[0] = message.arrayOffset() + message.position();
        } else {
            reserve(message.remaining());
            bytes = copy;
            message.get(message.position(), bytes, 0, message.remaining());
        }
        ends[0] = begins[0] + message.remaining();
        decodeBlock(bytes, 1, out);
        return rows == 1;
    }

    /**
     * The first faults of the last call, up to {@link #FAULTS_MAX}.
     *
     * @return a list, valid until the next call
     */
    public List<MessageFault> faults() {
        return java.util.Collections.unmodifiableList(faults);
    }

    /**
     * The table that assigns the series' ids.
     *
     * @return the table
     */
    public SeriesTable table() {
        return table;
    }

    /** Goes to the next record. If it can't be decompressed, decodes the records before it and rethrows the error. */
    private boolean hasNext(Records records, int count, MeasurementSink out) {
        try {
            return records.next();
        } catch (BatchException error) {
            decodeBlock(copy, count, out);
            throw error;
        }
    }

    private void start() {
        faults.clear();
        messages = 0;
        rows = 0;
        dropped = 0;
        faulty = 0;
    }

    private Counts counts() {
        return new Counts(messages, rows, dropped, faulty);
    }

    private void reserve(int length) {
        if (length > copy.length) {
            copy = Arrays.copyOf(copy, Math.max(length, (int) Math.min(copy.length * 2L, Integer.MAX_VALUE - 64)));
        }
    }

    private void decodeBlock(byte[] bytes, int count, MeasurementSink out) {
        if (reader != null) {
            for (int index = 0; index < count; index++) {
                readBySchema(bytes, begins[index], ends[index], messages + index, out);
            }
            messages += count;
            return;
        }
        long asked = 0;
        for (int index = 0; index < count; index++) {
            int body = begins[index] + head.length;
            if (!hasHead(bytes, begins[index], ends[index]) || !tail.read(type, bytes, body, ends[index])) {
                tails[index] = FORWARD;
                continue;
            }
            long hash = encodings.hash(bytes, body, tail.begin - body);
            asked += encodings.touchSlot(hash);
            tails[index] = tail.begin;
            hashes[index] = hash;
            times[index] = tail.time;
            values[index] = tail.value;
        }
        for (int index = 0; index < count && count > 1; index++) {
            asked += tails[index] == FORWARD ? 0 : encodings.touchEntry(hashes[index]);
        }
        touched = asked;
        for (int index = 0; index < count; index++) {
            int body = begins[index] + head.length;
            int series = tails[index] == FORWARD ? -1 : encodings.find(hashes[index], bytes, body, tails[index] - body);
            if (series >= 0) {
                rows++;
                out.add(series, times[index], values[index]);
            } else {
                readForward(bytes, begins[index], ends[index], messages + index, out);
            }
        }
        messages += count;
    }

    private boolean hasHead(byte[] bytes, int begin, int end) {
        return end - begin >= head.length && Arrays.equals(bytes, begin, begin + head.length, head, 0, head.length);
    }

    /** Reads a message forward, with all checks. */
    private void readForward(byte[] bytes, int begin, int end, long number, MeasurementSink out) {
        Cursor cursor = scratch.cursor;
        cursor.reset(bytes, begin, end);
        scratch.field = "frame";
        try {
            if (!hasHead(bytes, begin, end)) {
                throw new FaultException(Fault.FRAME, begin);
            }
            cursor.at += head.length;
            scratch.readIdentity();
            scratch.field = "time";
            long time = cursor.readLong();
            scratch.field = "value";
            double value =
                    switch (type) {
                        case INT -> cursor.readInt();
                        case LONG -> cursor.readLong();
                        case FLOAT -> cursor.readFloat();
                        case DOUBLE -> cursor.readDouble();
                    };
            scratch.field = "end";
            cursor.finish();
            // Only now, so that an invalid message leaves nothing in the table.
            int series = table.learn(scratch);
            if (series < 0) {
                dropped++;
                return;
            }
            rows++;
            out.add(series, time, value);
        } catch (FaultException fault) {
            refuse(number, scratch.field, fault.place - begin, fault.fault);
        }
    }

    private void readBySchema(byte[] bytes, int begin, int end, long number, MeasurementSink out) {
        try {
            reader.field = "frame";
            if (!hasHead(bytes, begin, end)) {
                throw new FaultException(Fault.FRAME, begin);
            }
            reader.read(bytes, begin + head.length, end);
        } catch (FaultException fault) {
            refuse(number, reader.field, fault.place - begin, fault.fault);
            return;
        }
        int length = reader.identityLength;
        int series = encodings.find(encodings.hash(reader.identity, 0, length), reader.identity, 0, length);
        if (series < 0) {
            // The identity was just encoded, so it is valid.
            scratch.cursor.reset(reader.identity, 0, length);
            scratch.readIdentity();
            series = table.learn(scratch);
        }
        if (series < 0) {
            dropped++;
            return;
        }
        rows++;
        out.add(series, reader.timeMs, reader.value);
    }

    private void refuse(long number, String field, int position, Fault fault) {
        faulty++;
        if (faults.size() < FAULTS_MAX) {
            faults.add(new MessageFault(number, field, position, fault));
        }
    }
}
