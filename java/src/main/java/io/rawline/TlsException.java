package io.rawline;

/** The two ends found no encryption that both trust. Nothing was sent. */
public final class TlsException extends RawlineException {
    private static final long serialVersionUID = 1;

    TlsException(String message, Throwable cause) {
        super(Kind.TELL_HUMAN, message, cause);
    }

    @Override
    RawlineException again() {
        return new TlsException(getMessage(), this);
    }
}
