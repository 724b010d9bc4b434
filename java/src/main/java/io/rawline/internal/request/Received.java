package io.rawline.internal.request;

import io.rawline.batch.Batch;
import io.rawline.batch.RecordBatch;
import io.rawline.batch.Records;
import io.rawline.batch.Scratch;
import io.rawline.batch.Selection;
import io.rawline.batch.StoredBatch;
import io.rawline.record.ConsumedRecord;
import io.rawline.record.Fetched;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * The memory of a read: receives batches, which are checked, back to back in one buffer that is reused from read to
 * read.
 */
public final class Received implements Fetched {
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
    public Received() {}

    /** The memory of an earlier read; new memory for null. */
    public static Received of(Fetched earlier) {
        if (earlier == null) {
            return new Received();
        }
        if (earlier instanceof Received received) {
            return received;
        }
        throw new IllegalArgumentException("into is not the result of an earlier read: " + earlier);
    }

    /** A response's body, or the rest of a message. */
    public interface Source {
        /** Receives a part of it, up to the limit of {@code to}; -1 at its end. */
        int read(ByteBuffer to) throws IOException;

        /** Whether all of it was read. */
        boolean hasEnded();

        /** Number of bytes that are known to follow. */
        long announcedBytes();
    }

    @Override
    public boolean isEmpty() {
        return stored().isEmpty();
    }

    @Override
    public ByteBuffer bytes() {
        return buffer.slice(0, bytes).asReadOnlyBuffer();
    }

    @Override
    public String topic() {
        return topic;
    }

    @Override
    public int partition() {
        return partition;
    }

    @Override
    public long firstOffset() {
        return firstOffset;
    }

    @Override
    public long nextOffset() {
        return nextOffset;
    }

    @Override
    public long topicNextOffset() {
        return topicNextOffset;
    }

    @Override
    public long count() {
        return Math.min(nextOffset, endOffset) - askedOffset;
    }

    @Override
    public List<Batch> batches() {
        return batches;
    }

    @Override
    public List<RecordBatch> recordBatches() {
        return recordBatches;
    }

    private List<? extends StoredBatch> stored() {
        if (!selections.isEmpty()) {
            return selections;
        }
        return recordBatches.isEmpty() ? batches : recordBatches;
    }

    @Override
    public Records records() {
        return new Records(stored(), firstOffset, askedOffset, endOffset, scratch);
    }

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
                return new ConsumedRecord(topic, partition, records);
            }
        };
    }

    @Override
    public String toString() {
        return "fetched " + count() + " records, offsets " + askedOffset + " to before "
                + Math.min(nextOffset, endOffset);
    }

    /** Whether there are records: in a compacted topic, and in the place of aborted ones, batches may have none. */
    public boolean hasRecords() {
        return stored().stream().anyMatch(batch -> batch.count() > 0);
    }

    /** Offset of the first requested record. */
    public long askedOffset() {
        return askedOffset;
    }

    /** Leaves out the records before an offset. */
    public void skipTo(long offset) {
        if (offset < askedOffset || offset >= nextOffset) {
            throw new IllegalStateException("records " + askedOffset + " to " + nextOffset + " from " + offset + " on");
        }
        askedOffset = offset;
    }

    public void begin(String topic, int partition, long askedOffset, long endOffset) {
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
    public ByteBuffer room(int received, int bytes) {
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
    public boolean end(int bytes, long firstOffset, long topicNextOffset, List<Batch> batches) {
        if (!end(bytes, firstOffset, topicNextOffset, nextOffset(firstOffset, batches))) {
            return false;
        }
        this.batches = batches;
        return true;
    }

    /** As {@link #end}, of Kafka's batches; false also if these say other offsets. */
    public boolean endKafka(int bytes, long firstOffset, long topicNextOffset, List<RecordBatch> batches) {
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
    public boolean endSelected(int bytes, long firstOffset, long endOffset, Selection selection) {
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
