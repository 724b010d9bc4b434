package io.rawline.error;

/** No connection could be established. Nothing was sent. */
public final class UnreachableException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public UnreachableException(String message, Throwable cause) {
        super(ErrorKind.WAIT, message, cause);
    }

    @Override
    public UnreachableException copy() {
        return new UnreachableException(getMessage(), this);
    }
}
