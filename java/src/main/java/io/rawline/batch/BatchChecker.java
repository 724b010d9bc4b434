package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The checks of {@link Batch#parse} for a stream of batches: each piece is checked when it arrives, while it is in the
 * processor's cache.
 */
public final class BatchChecker {
    private final Limits limits;
    private final CRC32C crc = new CRC32C();
    private final List<BatchHeader> headers = new ArrayList<>();
    /** Where the current batch starts, its header once it has arrived, and where the checksum's next byte is. */
    private int position;

    private BatchHeader header;
    private int done;

    /**
     * A checker of a stream of which nothing has arrived.
     *
     * @param limits what is accepted
     */
    public BatchChecker(Limits limits) {
        this.limits = limits;
    }

    /**
     * Checks what has arrived since the last call.
     *
     * @param buffer little-endian; holds the stream's bytes 0 to {@code end} - 1
     * @param end number of bytes that have arrived so far
     * @throws BatchException the first rule of {@code docs/format.md} that is broken
     */
    public void advance(ByteBuffer buffer, int end) {
        if (end < Math.max(position, done)) {
            throw new IllegalStateException("a stream of " + Math.max(position, done) + " bytes shrank to " + end);
        }
        ByteBuffer piece = buffer.duplicate();
        while (true) {
            if (header == null) {
                if (end - position < BatchHeader.BYTES) {
                    return;
                }
                header = BatchHeader.parse(buffer, position, limits);
                crc.reset();
                crc.update(piece.limit(position + BatchHeader.CRC_POSITION).position(position));
                done = position + BatchHeader.BYTES;
            }
            // A batch may be longer than a buffer can be; then the stream ends before the batch.
            long batchEnd = position + header.batchBytes();
            int to = (int) Math.min(end, batchEnd);
            crc.update(piece.limit(to).position(done));
            done = to;
            if (to < batchEnd) {
                return;
            }
            Batch.checkContents(header, buffer, position, (int) crc.getValue());
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
     * @throws BatchException {@code batch_truncated}, {@code batch_empty}
     */
    public List<Batch> finish(ByteBuffer buffer, int end) {
        if (header != null) {
            throw BatchException.truncated(end - position, header.batchBytes());
        }
        if (end != position) {
            throw BatchException.truncated(end - position, BatchHeader.BYTES);
        }
        if (headers.isEmpty()) {
            throw BatchException.empty();
        }
        List<Batch> batches = new ArrayList<>(headers.size());
        int at = 0;
        for (BatchHeader found : headers) {
            batches.add(new Batch(found, buffer, at));
            at += (int) found.batchBytes();
        }
        if (at != end) {
            throw new IllegalStateException("batches of " + at + " bytes in a stream of " + end);
        }
        return Collections.unmodifiableList(batches);
    }
}
