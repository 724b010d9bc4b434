package io.rawline;

/** The waiting thread was interrupted, and still is; the request may have been carried out. */
public final class InterruptedCallException extends RawlineException {
    private static final long serialVersionUID = 1;

    InterruptedCallException(String message, Throwable cause) {
        super(Kind.TRY_AGAIN, message, cause);
    }

    @Override
    RawlineException again() {
        return new InterruptedCallException(getMessage(), this);
    }
}
