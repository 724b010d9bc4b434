package io.rawline;

import io.rawline.error.RawlineException;
import io.rawline.http.Call;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** How those who wait for a batch learn of its end. */
final class Delivery {
    /** The offset of the batch's first record. */
    private final CompletableFuture<Long> told = new CompletableFuture<>();

    /** The first word counts. */
    void tell(long firstOffset) {
        told.complete(firstOffset);
    }

    void tell(RawlineException error) {
        told.completeExceptionally(error);
    }

    long await() {
        try {
            return told.get();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw Call.interrupted(error);
        } catch (ExecutionException error) {
            // Nothing but such errors is ever told.
            throw ((RawlineException) error.getCause()).copy();
        }
    }

    CompletableFuture<Long> told() {
        return told;
    }
}
