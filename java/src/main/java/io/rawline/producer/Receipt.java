package io.rawline.producer;

import io.rawline.error.RawlineException;
import java.util.concurrent.CompletableFuture;

/**
 * Reports when a record is stored, in which partition and at which offset. A caller that doesn't need it may ignore it.
 */
public final class Receipt {
    private final Delivery delivery;
    /** The record's index in its batch. */
    private final int index;

    Receipt(Delivery delivery, int index) {
        this.delivery = delivery;
        this.index = index;
    }

    /**
     * Waits until the record is stored.
     *
     * @return its offset in its partition
     * @throws RawlineException why it is not stored, or not known to be
     */
    public long offset() {
        return delivery.await().firstOffset() + index;
    }

    /**
     * Waits until the record is stored.
     *
     * @return its partition
     * @throws RawlineException why it is not stored, or not known to be
     */
    public int partition() {
        return delivery.await().partition();
    }

    /**
     * As {@link #offset()}, without waiting. Dependent stages run on the producer's own thread: they must be short and
     * must not wait for the producer.
     *
     * @return a new future of the offset, or of the {@link RawlineException}
     */
    public CompletableFuture<Long> future() {
        return delivery.outcome().thenApply(place -> place.firstOffset() + index);
    }
}
