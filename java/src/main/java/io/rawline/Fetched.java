package io.rawline;

import io.rawline.batch.Batch;
import io.rawline.batch.BatchException;
import io.rawline.batch.Records;
import io.rawline.batch.Scratch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * What a read received: checked batches, back to back in one buffer which is used again from read to read.
 *
 * <p>Batches and records of it are views of that buffer; they are of no more use when it is given to another read. A
 * {@link Consumer} does that by itself when it is asked for more. Belongs to one thread at a time.
 */
public final class Fetched implements Iterable<Record> {
    /** First size of the buffer, in bytes. */
    private static final int BYTES_MIN = 64 << 10;
    /** Most that is made room for because an answer says that it is so long; more only as it comes. */
    private static final int ANNOUNCED_BYTES_MAX = 16 << 20;

    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0).order(ByteOrder.LITTLE_ENDIAN);

    /** Little-endian; the batches are its bytes 0 to {@code bytes} - 1. */
    private ByteBuffer buffer = NOTHING;

    private int bytes;
    private List<Batch> batches = List.of();
    private final Scratch scratch = new Scratch();
    private long askedOffset;
    /** Records at and behind it are left out. */
    private long endOffset = Long.MAX_VALUE;

    private long firstOffset;
    private long topicNextOffset;

    /** Nothing yet; memory comes with the first read. */
    public Fetched() {}

    /**
     * Whether nothing came within the time.
     *
     * @return true if there are no records
     */
    public boolean isEmpty() {
        return batches.isEmpty();
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
     * Offset of the first record in the buffer; it lies below the offset asked for if a compressed batch came whole.
     *
     * @return from 0 on
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * Offset behind the last record that came: where the next read begins.
     *
     * @return from 0 on
     */
    public long nextOffset() {
        long offset = firstOffset;
        for (Batch batch : batches) {
            offset += batch.count();
        }
        return Math.max(offset, askedOffset);
    }

    /**
     * Offset that the topic's next record would have got when the broker answered.
     *
     * @return from 0 on
     */
    public long topicNextOffset() {
        return topicNextOffset;
    }

    /**
     * Number of records from the offset asked for on.
     *
     * @return 0 or more
     */
    public long count() {
        return Math.max(0, Math.min(nextOffset(), endOffset) - Math.max(askedOffset, firstOffset));
    }

    /**
     * The batches as they were received, the first one's first record at {@link #firstOffset()}.
     *
     * @return views of the received bytes
     */
    public List<Batch> batches() {
        return batches;
    }

    /**
     * Goes through the records from the offset asked for on without allocating anything for each.
     *
     * @return before the first record
     */
    public Records records() {
        return new Records(batches, firstOffset, askedOffset, endOffset, scratch);
    }

    /**
     * Goes through the records from the offset asked for on, each an object of its own. Throws {@link BatchException}
     * ({@code batch_decompress}) where a compressed batch can't be unpacked.
     *
     * @return before the first record
     */
    @Override
    public Iterator<Record> iterator() {
        // Each compressed batch in memory of its own, so that records live as long as this does.
        Records records = new Records(batches, firstOffset, askedOffset, endOffset, null);
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
            public Record next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("no more records");
                }
                looked = false;
                return Record.at(records);
            }
        };
    }

    /**
     * What came, for people.
     *
     * @return the offsets
     */
    @Override
    public String toString() {
        return "fetched " + count() + " records, offsets " + Math.max(askedOffset, firstOffset) + " to before "
                + Math.min(nextOffset(), endOffset);
    }

    void begin(long askedOffset, long endOffset) {
        bytes = 0;
        batches = List.of();
        this.askedOffset = askedOffset;
        this.endOffset = endOffset;
        firstOffset = askedOffset;
        topicNextOffset = askedOffset;
    }

    /** The empty buffer to receive an answer to that is said to be so long. */
    ByteBuffer room(long announcedBytes) {
        return room(0, (int) Math.min(announcedBytes, ANNOUNCED_BYTES_MAX));
    }

    /** The buffer to receive to, with the same bytes, but room for {@code bytes} at least. */
    ByteBuffer room(int received, int bytes) {
        if (buffer.capacity() < bytes) {
            long twice = Math.max(2L * buffer.capacity(), BYTES_MIN);
            int capacity = (int) Math.max(bytes, Math.min(twice, Integer.MAX_VALUE - 8));
            ByteBuffer longer = ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
            longer.put(buffer.duplicate().limit(received).position(0));
            buffer = longer;
        }
        return buffer.clear();
    }

    void end(int bytes, long firstOffset, long topicNextOffset, List<Batch> batches) {
        this.bytes = bytes;
        this.firstOffset = firstOffset;
        this.topicNextOffset = topicNextOffset;
        this.batches = batches;
    }
}
