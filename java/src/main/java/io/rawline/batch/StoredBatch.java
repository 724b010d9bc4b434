package io.rawline.batch;

import java.nio.ByteBuffer;

/** Records as they were received: a batch of ours, one of Kafka's, or records that a filter has selected. */
public sealed interface StoredBatch permits Batch, RecordBatch, Selection {
    /**
     * Number of records.
     *
     * @return at least 1; in a compacted topic, a Kafka batch can have none
     */
    int count();

    /**
     * The whole, as received.
     *
     * @return a read-only slice
     */
    ByteBuffer bytes();
}
