package io.rawline.internal.request;

/**
 * The identity of a producer at the broker.
 *
 * @param id for the headers of its batches; 0 if its appends are not exactly once
 * @param epoch grows with every instance of a named producer; {@link #NO_EPOCH} if its appends are not exactly once
 */
public record ProducerInstance(long id, int epoch) {
    public static final int NO_EPOCH = -1;
}
