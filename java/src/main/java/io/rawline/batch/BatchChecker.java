package io.rawline.batch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The same checks as {@link Batch#parse}, over batches back to back that are still arriving: each piece is looked at
 * while it is in the processor's cache.
 */
public final class BatchChecker {
    private final Limits limits;
    private final CRC32C crc = new CRC32C();
    private final List<BatchHeader> headers = new ArrayList<>();
    /** Where the batch at hand begins, its header once that is there, and how far its checksum has come. */
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
            // A batch may end behind what a buffer can hold; then the stream ends first.
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
        return Collections.unmodifiableList(batches);
    }
}
