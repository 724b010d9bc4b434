package io.rawline;

import io.rawline.error.RawlineException;
import io.rawline.http.Call;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** The outcome of a batch: the offset of its first record, or the error. */
final class Delivery {
    private final CompletableFuture<Long> outcome = new CompletableFuture<>();

    /** The batch is stored. Only the first outcome counts. */
    void complete(long firstOffset) {
        outcome.complete(firstOffset);
    }

    /** The batch is not stored, or not known to be. Only the first outcome counts. */
    void fail(RawlineException error) {
        outcome.completeExceptionally(error);
    }

    /** Waits for the outcome. */
    long await() {
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

    CompletableFuture<Long> outcome() {
        return outcome;
    }
}
