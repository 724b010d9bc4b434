package io.rawline.subscription;

/** The action for a {@link Subscription} that is too slow. */
public enum Slow {
    /**
     * It throws a {@link io.rawline.error.RefusedException} with the code {@code subscriber_slow}; the next call goes
     * on where it was.
     */
    DISCONNECT,
    /** It skips records, and reports how many: {@link Notice.Skipped}. */
    SKIP
}
