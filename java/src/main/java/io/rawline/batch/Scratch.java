package io.rawline.batch;

import java.nio.ByteBuffer;

/** The memory that compressed batches are unpacked into, one after the other. */
public final class Scratch {
    private ByteBuffer memory;

    /** No memory yet. */
    public Scratch() {}

    /** The unpacked data of a compressed batch; the one before is then gone. */
    ByteBuffer unpack(Batch batch) {
        memory = batch.unpack(memory);
        return memory;
    }
}
