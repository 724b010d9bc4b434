package io.rawline;

import io.rawline.batch.BatchBuilder;
import io.rawline.batch.RecordBatchBuilder;
import io.rawline.batch.SealedBatch;
import java.nio.ByteBuffer;
import java.util.List;

/** A batch of one of the two kinds that a producer adds records to. */
sealed interface Draft {
    /** Number of records so far. */
    int count();

    /** Length of the records so far in bytes. */
    int dataBytes();

    /** Whether it is one of Kafka's. */
    boolean isKafka();

    /**
     * Adds a record; false if there is no room for it, or for its fields.
     *
     * @param value its value, or null
     * @param fields what else it has, or null
     */
    boolean add(ByteBuffer value, ProducerRecord fields);

    /** Finishes the batch, and starts the next. */
    SealedBatch seal(ProducerInstance producer, long sequence);

    /** The number of the record after a batch with these numbers. */
    long sequenceAfter(long sequence, int records);

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
            return builder.seal(Client.nowUs(), producer.id(), sequence);
        }

        @Override
        public long sequenceAfter(long sequence, int records) {
            return sequence + records;
        }
    }

    /** One of Kafka's. Records without fields that are sent in between go along, so that batches don't get short. */
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
            if (fields == null) {
                return builder.add(nowMs(), null, value, List.of());
            }
            return builder.add(fields.timestampMs.orElseGet(Kafka::nowMs), fields.key, value, fields.headers);
        }

        private static long nowMs() {
            return Client.nowUs() / 1000;
        }

        @Override
        public SealedBatch seal(ProducerInstance producer, long sequence) {
            return producer.epoch() == ProducerInstance.NO_EPOCH
                    ? builder.seal(-1, -1, -1)
                    : builder.seal(producer.id(), producer.epoch(), sequence);
        }

        @Override
        public long sequenceAfter(long sequence, int records) {
            return RecordBatchBuilder.sequenceAfter(sequence, records);
        }
    }
}
