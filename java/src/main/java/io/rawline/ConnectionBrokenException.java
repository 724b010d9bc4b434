package io.rawline;

/** The connection broke before the answer was there. The request may have been carried out. */
public final class ConnectionBrokenException extends RawlineException {
    private static final long serialVersionUID = 1;

    ConnectionBrokenException(String message, Throwable cause) {
        super(Kind.TRY_AGAIN, message, cause);
    }

    @Override
    RawlineException again() {
        return new ConnectionBrokenException(getMessage(), this);
    }
}
