package io.rawline.batch;

import java.nio.ByteBuffer;

/** Reusable memory to decompress batches into, one at a time. */
public final class Scratch {
    private ByteBuffer memory;

    /** Empty; allocated by the first use. */
    public Scratch() {}

    /** Decompresses a batch; the previous one's data is overwritten. */
    ByteBuffer unpack(Batch batch) {
        memory = batch.unpack(memory);
        return memory;
    }

    /** As {@link #unpack(Batch)}; uncompressed records stay where they are. */
    ByteBuffer unpack(RecordBatch batch) {
        ByteBuffer records = batch.unpack(memory);
        if (batch.header().codec() != RecordCodec.NONE) {
            memory = records;
        }
        return records;
    }
}
