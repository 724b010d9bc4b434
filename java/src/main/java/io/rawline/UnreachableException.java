package io.rawline;

/** No connection came about. Nothing was sent. */
public final class UnreachableException extends RawlineException {
    private static final long serialVersionUID = 1;

    UnreachableException(String message, Throwable cause) {
        super(Kind.WAIT, message, cause);
    }

    @Override
    RawlineException again() {
        return new UnreachableException(getMessage(), this);
    }
}
