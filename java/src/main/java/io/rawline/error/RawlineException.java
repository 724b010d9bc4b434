package io.rawline.error;

/**
 * The base of all errors of this library: a message with the error and what to do, and an {@link ErrorKind}
 * for programs.
 *
 * <p>Everything that this library throws because of input from outside is a {@code RawlineException}. A null, an index
 * out of bounds or another argument that the caller could know to be wrong throws what it throws anywhere in Java.
 */
public abstract class RawlineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** How a caller can handle it. */
    private final ErrorKind kind;

    /**
     * An error without a cause.
     *
     * @param kind how a caller can handle it
     * @param message the error, and what to do
     */
    protected RawlineException(ErrorKind kind, String message) {
        this(kind, message, null);
    }

    /**
     * An error, with the one that caused it.
     *
     * @param kind how a caller can handle it
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    protected RawlineException(ErrorKind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    /**
     * How a caller can handle it.
     *
     * @return the kind
     */
    public final ErrorKind kind() {
        return kind;
    }

    /**
     * Whether the same request may succeed later.
     *
     * @return true for {@link ErrorKind#TRY_AGAIN} and {@link ErrorKind#WAIT}
     */
    public final boolean isRetryable() {
        return kind == ErrorKind.TRY_AGAIN || kind == ErrorKind.WAIT;
    }

    /**
     * The same error as a new object, to throw on another thread: a thrown exception carries the stack of its thread,
     * and one object can't be both thrown and suppressed in the same {@code try}.
     *
     * @return a copy whose cause is this, or this if the error is never thrown twice
     */
    public RawlineException copy() {
        return this;
    }
}
