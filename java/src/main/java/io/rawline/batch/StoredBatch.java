package io.rawline.batch;

import java.nio.ByteBuffer;

/** A batch in a topic: ours or one of Kafka's. */
public sealed interface StoredBatch permits Batch, RecordBatch {
    /**
     * Number of records.
     *
     * @return at least 1; in a compacted topic, one of Kafka's batches can have none
     */
    int count();

    /**
     * The whole batch, as received.
     *
     * @return a read-only slice
     */
    ByteBuffer bytes();
}
