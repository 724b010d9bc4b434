package io.rawline.record;

import io.rawline.batch.Batch;
import io.rawline.batch.BatchException;
import io.rawline.batch.RecordBatch;
import io.rawline.batch.Records;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;

/**
 * The result of a read: checked batches, back to back in one buffer that is reused from read to read.
 *
 * <p>Its batches and records are views of that buffer: they are invalid once it is used for another read, which a
 * consumer does with its next call. Not thread-safe. Programs don't implement it.
 */
public interface Fetched extends Iterable<ConsumedRecord> {
    /**
     * Whether there was no record in time.
     *
     * @return true without records
     */
    boolean isEmpty();

    /**
     * The received bytes: batches back to back.
     *
     * @return a read-only slice, not a copy
     */
    ByteBuffer bytes();

    /**
     * The topic that was read.
     *
     * @return its name; empty before the first read, and if a group's consumer had no records in time
     */
    String topic();

    /**
     * The partition that was read.
     *
     * @return from 0 on
     */
    int partition();

    /**
     * Offset of the first record in the buffer. It may be before the requested offset: compressed batches are served
     * whole.
     *
     * @return from 0 on
     */
    long firstOffset();

    /**
     * Offset after the last record received: where the next read starts.
     *
     * @return from 0 on
     */
    long nextOffset();

    /**
     * The partition's next offset when the broker responded.
     *
     * @return from 0 on
     */
    long topicNextOffset();

    /**
     * Number of offsets, counted from the requested one: as many as records, or more in a compacted topic and of
     * records that a filter has selected.
     *
     * @return 0 or more
     */
    long count();

    /**
     * The batches as received; none if a filter has selected the records. The first record of the first one has the
     * offset {@link #firstOffset()}.
     *
     * @return views of the received bytes; empty if they are Kafka's
     */
    List<Batch> batches();

    /**
     * Kafka's batches as received. The batches of a read are of one kind.
     *
     * @return views of the received bytes; empty if they are ours
     */
    List<RecordBatch> recordBatches();

    /**
     * A cursor over the records from the requested offset on, which allocates nothing per record.
     *
     * @return before the first record
     */
    Records records();

    /**
     * The records from the requested offset on, each a new object. Throws the {@link BatchException}s of
     * {@link Records#next()}.
     *
     * @return before the first record
     */
    @Override
    Iterator<ConsumedRecord> iterator();
}
