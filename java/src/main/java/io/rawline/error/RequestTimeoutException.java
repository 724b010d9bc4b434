package io.rawline.error;

/** The request timed out. It may have been carried out. */
public final class RequestTimeoutException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public RequestTimeoutException(String message, Throwable cause) {
        super(ErrorKind.TRY_AGAIN, message, cause);
    }

    @Override
    public RequestTimeoutException copy() {
        return new RequestTimeoutException(getMessage(), this);
    }
}
