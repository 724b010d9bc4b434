package io.rawline;

/**
 * What went wrong, in a message that says what to do, and of which {@link Kind} it is. All that this library throws
 * because of what came from outside is one; a null, an index or an argument that its caller could know to be wrong is
 * what it is anywhere in Java.
 */
public abstract class RawlineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What a caller can do about it. */
    private final Kind kind;

    /**
     * An error with nothing behind it.
     *
     * @param kind what a caller can do about it
     * @param message what is wrong, and what to do
     */
    protected RawlineException(Kind kind, String message) {
        this(kind, message, null);
    }

    /**
     * An error with the one that led to it.
     *
     * @param kind what a caller can do about it
     * @param message what is wrong, and what to do
     * @param cause what led to it, or null
     */
    protected RawlineException(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    /**
     * What a caller can do about it.
     *
     * @return the kind
     */
    public final Kind kind() {
        return kind;
    }

    /**
     * Whether the same request may work later.
     *
     * @return true for {@link Kind#TRY_AGAIN} and {@link Kind#WAIT}
     */
    public final boolean isRetryable() {
        return kind == Kind.TRY_AGAIN || kind == Kind.WAIT;
    }

    /**
     * The same error as a new object, for one more thread that has to be told: a thrown object carries its thread's
     * stack, and what is thrown twice in one {@code try} can't be joined.
     *
     * @return a copy whose cause is this
     */
    RawlineException again() {
        return this;
    }
}
