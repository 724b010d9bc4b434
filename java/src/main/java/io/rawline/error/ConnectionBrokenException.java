package io.rawline.error;

/** The connection broke before the response was complete. The request may have been carried out. */
public final class ConnectionBrokenException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public ConnectionBrokenException(String message, Throwable cause) {
        super(ErrorKind.TRY_AGAIN, message, cause);
    }

    @Override
    public ConnectionBrokenException copy() {
        return new ConnectionBrokenException(getMessage(), this);
    }
}
