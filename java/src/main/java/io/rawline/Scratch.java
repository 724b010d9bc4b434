package io.rawline;

import java.nio.ByteBuffer;

/** The memory that compressed batches are unpacked into, one after the other. */
final class Scratch {
    private ByteBuffer memory;

    /** The unpacked data of a compressed batch; the one before is then gone. */
    ByteBuffer unpack(Batch batch) {
        memory = batch.unpack(memory);
        return memory;
    }
}
