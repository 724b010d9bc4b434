package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Checks a stream of batches of one kind: each piece is checked when it arrives, while it is in the processor's cache.
 *
 * @param <H> the batches' headers
 * @param <B> the batches
 */
public abstract sealed class StreamChecker<H, B> permits BatchChecker, RecordBatchChecker {
    private final int headerBytes;
    private final CRC32C crc = new CRC32C();
    private final List<H> headers = new ArrayList<>();
    /** Where the current batch starts, its header once it has arrived, and where the checksum's next byte is. */
    private int position;

    private H header;
    private int done;

    StreamChecker(int headerBytes) {
        this.headerBytes = headerBytes;
    }

    /** Reads and checks the header at {@code position}. */
    abstract H parse(ByteBuffer buffer, int position);

    /** Length of the whole batch in bytes. */
    abstract long batchBytes(H header);

    /** Sets position and limit of {@code buffer} to the part of the header at {@code position} that has a checksum. */
    abstract void limitToChecked(ByteBuffer buffer, int position);

    /** Checks a batch whose bytes have this checksum. */
    abstract void checkContents(H header, ByteBuffer buffer, int position, int crc32c);

    /** A view of a checked batch. */
    abstract B view(H header, ByteBuffer buffer, int position);

    /**
     * Checks the bytes that have arrived since the last call.
     *
     * @param buffer little-endian; holds the stream's bytes 0 to {@code end} - 1
     * @param end number of bytes that have arrived so far
     * @throws BatchException the first rule of {@code docs/format.md} that is broken
     */
    public final void advance(ByteBuffer buffer, int end) {
        if (end < Math.max(position, done)) {
            throw new IllegalStateException("a stream of " + Math.max(position, done) + " bytes shrank to " + end);
        }
        ByteBuffer piece = buffer.duplicate();
        while (true) {
            if (header == null) {
                if (end - position < headerBytes) {
                    return;
                }
                header = parse(buffer, position);
                crc.reset();
                limitToChecked(piece, position);
                crc.update(piece);
                done = position + headerBytes;
            }
            // A batch may be longer than a buffer can be; then the stream ends before the batch.
            long batchEnd = position + batchBytes(header);
            int to = (int) Math.min(end, batchEnd);
            crc.update(piece.limit(to).position(done));
            done = to;
            if (to < batchEnd) {
                return;
            }
            checkContents(header, buffer, position, (int) crc.getValue());
            headers.add(header);
            header = null;
            position = to;
        }
    }

    /**
     * Ends the stream.
     *
     * @param buffer as for the last {@link #advance}
     * @param end length of the stream in bytes
     * @return the batches, at least one: views of {@code buffer}
     * @throws BatchException the stream is truncated, or has no batch
     */
    public final List<B> finish(ByteBuffer buffer, int end) {
        if (header != null) {
            throw BatchException.truncated(end - position, batchBytes(header));
        }
        if (end != position) {
            throw BatchException.truncated(end - position, headerBytes);
        }
        if (headers.isEmpty()) {
            throw BatchException.empty();
        }
        List<B> batches = new ArrayList<>(headers.size());
        int at = 0;
        for (H found : headers) {
            batches.add(view(found, buffer, at));
            at += (int) batchBytes(found);
        }
        if (at != end) {
            throw new IllegalStateException("batches of " + at + " bytes in a stream of " + end);
        }
        return Collections.unmodifiableList(batches);
    }
}
