package io.rawline;

import io.rawline.batch.Batch;
import io.rawline.batch.BatchException;
import io.rawline.batch.RecordBatch;
import io.rawline.batch.Records;
import io.rawline.batch.Scratch;
import io.rawline.batch.Selection;
import io.rawline.batch.StoredBatch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * The result of a read: checked batches, back to back in one buffer that is reused from read to read.
 *
 * <p>Its batches and records are views of that buffer: they are invalid once it is used for another read, which a
 * {@link Consumer} does with its next call. Not thread-safe.
 */
public final class Fetched implements Iterable<ConsumedRecord> {
    /** First size of the buffer, in bytes. */
    private static final int BYTES_MIN = 64 << 10;
    /** Maximum memory allocated because a response announces its length, in bytes; more only as it is received. */
    private static final int ANNOUNCED_BYTES_MAX = 16 << 20;

    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0).order(ByteOrder.LITTLE_ENDIAN);

    /** Little-endian; the batches are its bytes 0 to {@code bytes} - 1. */
    private ByteBuffer buffer = NOTHING;

    private int bytes;
    /** Of these three, two are empty. */
    private List<Batch> batches = List.of();

    private List<RecordBatch> recordBatches = List.of();
    private List<Selection> selections = List.of();
    private final Scratch scratch = new Scratch();
    private String topic = "";
    private int partition;
    private long askedOffset;
    /** Records from here on are left out. */
    private long endOffset = Long.MAX_VALUE;

    private long firstOffset;
    private long nextOffset;
    private long topicNextOffset;

    /** Empty; memory is allocated by the first read. */
    public Fetched() {}

    /**
     * Whether there was no record in time.
     *
     * @return true without records
     */
    public boolean isEmpty() {
        return stored().isEmpty();
    }

    /**
     * The received bytes: batches back to back.
     *
     * @return a read-only slice, not a copy
     */
    public ByteBuffer bytes() {
        return buffer.slice(0, bytes).asReadOnlyBuffer();
    }

    /**
     * The topic that was read.
     *
     * @return its name; empty before the first read, and if a {@link GroupConsumer} had no records in time
     */
    public String topic() {
        return topic;
    }

    /**
     * The partition that was read.
     *
     * @return from 0 on
     */
    public int partition() {
        return partition;
    }

    /**
     * Offset of the first record in the buffer. It may be before the requested offset: compressed batches are served
     * whole.
     *
     * @return from 0 on
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * Offset after the last record received: where the next read starts.
     *
     * @return from 0 on
     */
    public long nextOffset() {
        return nextOffset;
    }

    /**
     * The partition's next offset when the broker responded.
     *
     * @return from 0 on
     */
    public long topicNextOffset() {
        return topicNextOffset;
    }

    /**
     * Number of offsets, counted from the requested one: as many as records, or more in a compacted topic and of
     * records that a filter has selected.
     *
     * @return 0 or more
     */
    public long count() {
        return Math.min(nextOffset, endOffset) - askedOffset;
    }

    /**
     * The batches as received; none if a filter has selected the records. The first record of the first one has the
     * offset {@link #firstOffset()}.
     *
     * @return views of the received bytes; empty if they are Kafka's
     */
    public List<Batch> batches() {
        return batches;
    }

    /**
     * Kafka's batches as received. The batches of a read are of one kind.
     *
     * @return views of the received bytes; empty if they are ours
     */
    public List<RecordBatch> recordBatches() {
        return recordBatches;
    }

    private List<? extends StoredBatch> stored() {
        if (!selections.isEmpty()) {
            return selections;
        }
        return recordBatches.isEmpty() ? batches : recordBatches;
    }

    /**
     * A cursor over the records from the requested offset on, which allocates nothing per record.
     *
     * @return before the first record
     */
    public Records records() {
        return new Records(stored(), firstOffset, askedOffset, endOffset, scratch);
    }

    /**
     * The records from the requested offset on, each a new object. Throws the {@link BatchException}s of
     * {@link Records#next()}.
     *
     * @return before the first record
     */
    @Override
    public Iterator<ConsumedRecord> iterator() {
        // Each compressed batch in its own memory, so that records stay valid as long as this does.
        Records records = new Records(stored(), firstOffset, askedOffset, endOffset, null);
        return new Iterator<>() {
            private boolean looked;
            private boolean there;

            @Override
            public boolean hasNext() {
                if (!looked) {
                    there = records.next();
                    looked = true;
                }
                return there;
            }

            @Override
            public ConsumedRecord next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("no more records");
                }
                looked = false;
                return ConsumedRecord.at(topic, partition, records);
            }
        };
    }

    /**
     * A human-readable description.
     *
     * @return the offsets
     */
    @Override
    public String toString() {
        return "fetched " + count() + " records, offsets " + askedOffset + " to before "
                + Math.min(nextOffset, endOffset);
    }

    /** Whether there are records: in a compacted topic, and in the place of aborted ones, batches may have none. */
    boolean hasRecords() {
        return stored().stream().anyMatch(batch -> batch.count() > 0);
    }

    /** Offset of the first requested record. */
    long askedOffset() {
        return askedOffset;
    }

    /** Leaves out the records before an offset. */
    void skipTo(long offset) {
        if (offset < askedOffset || offset >= nextOffset) {
            throw new IllegalStateException("records " + askedOffset + " to " + nextOffset + " from " + offset + " on");
        }
        askedOffset = offset;
    }

    void begin(String topic, int partition, long askedOffset, long endOffset) {
        this.topic = topic;
        this.partition = partition;
        bytes = 0;
        batches = List.of();
        recordBatches = List.of();
        selections = List.of();
        this.askedOffset = askedOffset;
        this.endOffset = endOffset;
        firstOffset = askedOffset;
        nextOffset = askedOffset;
        topicNextOffset = askedOffset;
        if (endOffset < askedOffset) {
            throw new IllegalStateException("a read at " + askedOffset + " that ends before " + endOffset);
        }
    }

    /** The empty buffer for a response that announces its length. */
    ByteBuffer room(long announcedBytes) {
        return room(0, (int) Math.min(announcedBytes, ANNOUNCED_BYTES_MAX));
    }

    /** The buffer with its first {@code received} bytes, grown to at least {@code bytes}. */
    ByteBuffer room(int received, int bytes) {
        if (received > buffer.capacity()) {
            throw new IllegalStateException(received + " bytes received into " + buffer.capacity());
        }
        if (buffer.capacity() < bytes) {
            long twice = Math.max(2L * buffer.capacity(), BYTES_MIN);
            int capacity = (int) Math.max(bytes, Math.min(twice, Integer.MAX_VALUE - 8));
            ByteBuffer longer = ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
            longer.put(buffer.duplicate().limit(received).position(0));
            buffer = longer;
        }
        return buffer.clear();
    }

    /** Ends a read that received nothing. */
    void endEmpty(long topicNextOffset) {
        this.topicNextOffset = topicNextOffset;
    }

    /** Ends a read; false, and it stays empty, if the batches have no record from the requested offset on. */
    boolean end(int bytes, long firstOffset, long topicNextOffset, List<Batch> batches) {
        if (!end(bytes, firstOffset, topicNextOffset, nextOffset(firstOffset, batches))) {
            return false;
        }
        this.batches = batches;
        return true;
    }

    /** As {@link #end}, of Kafka's batches; false also if these say other offsets. */
    boolean endKafka(int bytes, long firstOffset, long topicNextOffset, List<RecordBatch> batches) {
        long next = firstOffset;
        for (RecordBatch batch : batches) {
            if (batch.header().baseOffset() != next) {
                return false;
            }
            next += batch.header().offsets();
        }
        if (!end(bytes, firstOffset, topicNextOffset, next)) {
            return false;
        }
        recordBatches = batches;
        return true;
    }

    /** As {@link #end}, of selected records; none say only that all offsets before {@code endOffset} were looked at. */
    boolean endSelected(int bytes, long firstOffset, long endOffset, Selection selection) {
        if (!end(bytes, firstOffset, endOffset, endOffset)) {
            return false;
        }
        selections = selection.count() == 0 ? List.of() : List.of(selection);
        return true;
    }

    private static long nextOffset(long firstOffset, List<Batch> batches) {
        long next = firstOffset;
        for (Batch batch : batches) {
            next += batch.count();
        }
        return next;
    }

    private boolean end(int bytes, long firstOffset, long topicNextOffset, long next) {
        if (next <= askedOffset) {
            return false;
        }
        this.bytes = bytes;
        this.firstOffset = firstOffset;
        this.nextOffset = next;
        this.topicNextOffset = topicNextOffset;
        return true;
    }
}
