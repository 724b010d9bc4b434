package io.rawline.producer;

import io.rawline.error.RawlineException;
import io.rawline.internal.http.Call;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** The outcome of a batch: where its first record is stored, or the error. */
final class Delivery {
    private final CompletableFuture<Place> outcome = new CompletableFuture<>();

    /** A partition, and the offset of the batch's first record in it. */
    record Place(int partition, long firstOffset) {}

    /** The batch is stored. Only the first outcome counts. */
    void complete(int partition, long firstOffset) {
        outcome.complete(new Place(partition, firstOffset));
    }

    /** The batch is not stored, or not known to be. Only the first outcome counts. */
    void fail(RawlineException error) {
        outcome.completeExceptionally(error);
    }

    /** Waits for the outcome. */
    Place await() {
        try {
            return outcome.get();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RawlineException known) {
                throw known.copy();
            }
            throw new IllegalStateException("a batch's outcome is an error of another kind", error);
        }
    }

    CompletableFuture<Place> outcome() {
        return outcome;
    }
}
