package io.rawline.batch;

import java.nio.ByteBuffer;

/** A batch in a topic: ours or one of Kafka's. */
public sealed interface StoredBatch permits Batch, RecordBatch {
    /**
     * Number of records.
     *
     * @return at least 1
     */
    int count();

    /**
     * The whole batch, as received.
     *
     * @return a read-only slice
     */
    ByteBuffer bytes();
}
