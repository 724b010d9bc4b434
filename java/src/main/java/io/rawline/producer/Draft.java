package io.rawline.producer;

import io.rawline.batch.BatchBuilder;
import io.rawline.batch.RecordBatchBuilder;
import io.rawline.batch.SealedBatch;
import io.rawline.internal.request.ProducerInstance;
import io.rawline.internal.request.Requests;
import java.nio.ByteBuffer;

/** A batch of one of the two kinds that a producer adds records to. */
sealed interface Draft {
    /** Number of records so far. */
    int count();

    /** Length of the records so far in bytes. */
    int dataBytes();

    /** Whether it is one of Kafka's. */
    boolean isKafka();

    /**
     * Adds a record; false if the batch is full, or if the record needs a batch of the other kind.
     *
     * @param value its value, or null
     * @param fields its key, headers and time, or null
     */
    boolean add(ByteBuffer value, ProducerRecord fields);

    /** Finishes the batch, and starts the next. */
    SealedBatch seal(ProducerInstance producer, long sequence);

    /** The number that a batch has for a first record of this number. */
    long number(long sequence);

    /** One of ours, whose records have no fields. */
    record Plain(BatchBuilder builder) implements Draft {
        @Override
        public int count() {
            return builder.count();
        }

        @Override
        public int dataBytes() {
            return builder.dataBytes();
        }

        @Override
        public boolean isKafka() {
            return false;
        }

        @Override
        public boolean add(ByteBuffer value, ProducerRecord fields) {
            return fields == null && builder.add(value);
        }

        @Override
        public SealedBatch seal(ProducerInstance producer, long sequence) {
            return builder.seal(Requests.nowUs(), producer.id(), sequence);
        }

        @Override
        public long number(long sequence) {
            return sequence;
        }
    }

    /** One of Kafka's, whose records have fields: one without, which would get a time, is in a batch of ours. */
    record Kafka(RecordBatchBuilder builder) implements Draft {
        @Override
        public int count() {
            return builder.count();
        }

        @Override
        public int dataBytes() {
            return builder.dataBytes();
        }

        @Override
        public boolean isKafka() {
            return true;
        }

        @Override
        public boolean add(ByteBuffer value, ProducerRecord fields) {
            return fields != null
                    && builder.add(
                            fields.timestampMs.orElseGet(() -> Requests.nowUs() / 1000),
                            fields.key,
                            value,
                            fields.headers);
        }

        @Override
        public SealedBatch seal(ProducerInstance producer, long sequence) {
            return producer.epoch() == ProducerInstance.NO_EPOCH
                    ? builder.seal(-1, -1, -1)
                    : builder.seal(producer.id(), producer.epoch(), sequence);
        }

        @Override
        public long number(long sequence) {
            return RecordBatchBuilder.number(sequence);
        }
    }
}
