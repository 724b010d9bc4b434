package io.rawline.error;

/** The waiting thread was interrupted, and still is. The request may have been carried out. */
public final class InterruptedCallException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public InterruptedCallException(String message, Throwable cause) {
        super(ErrorKind.TRY_AGAIN, message, cause);
    }

    @Override
    public InterruptedCallException copy() {
        return new InterruptedCallException(getMessage(), this);
    }
}
