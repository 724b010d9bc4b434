package io.rawline.error;

/** The client, producer or consumer is closed or has stopped. A producer's pending records were not sent. */
public final class StoppedException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public StoppedException(String message, Throwable cause) {
        super(ErrorKind.TELL_HUMAN, message, cause);
    }

    @Override
    public StoppedException copy() {
        return new StoppedException(getMessage(), this);
    }
}
