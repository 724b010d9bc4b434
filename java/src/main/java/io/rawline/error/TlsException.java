package io.rawline.error;

/** The TLS handshake failed, mostly because the certificate is not trusted. Nothing was sent. */
public final class TlsException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public TlsException(String message, Throwable cause) {
        super(ErrorKind.TELL_HUMAN, message, cause);
    }

    @Override
    public TlsException copy() {
        return new TlsException(getMessage(), this);
    }
}
