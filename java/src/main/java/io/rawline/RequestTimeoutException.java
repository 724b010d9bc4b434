package io.rawline;

/** No answer in time. The request may have been carried out. */
public final class RequestTimeoutException extends RawlineException {
    private static final long serialVersionUID = 1;

    RequestTimeoutException(String message, Throwable cause) {
        super(Kind.TRY_AGAIN, message, cause);
    }

    @Override
    RawlineException again() {
        return new RequestTimeoutException(getMessage(), this);
    }
}
