package io.rawline;

import java.time.Duration;
import java.util.Optional;

/** The broker answered with an error. */
public final class RefusedException extends RawlineException {
    private static final long serialVersionUID = 1;

    /** The HTTP status. */
    private final int status;
    /** The broker's code for the error. */
    private final String code;
    /** How long the broker asked to wait before the next try; null if it did not. */
    private final Duration retryAfter;

    RefusedException(int status, String code, String sentence, Duration retryAfter) {
        this(status, code, retryAfter, sentence + " (HTTP " + status + ", " + code + ")", null);
    }

    private RefusedException(int status, String code, Duration retryAfter, String message, Throwable cause) {
        super(kindOf(status), message, cause);
        this.status = status;
        this.code = code;
        this.retryAfter = retryAfter;
    }

    /**
     * The HTTP status.
     *
     * @return such as 404
     */
    public int status() {
        return status;
    }

    /**
     * The broker's code for the error, which does not change; the status' own text if it gave none.
     *
     * @return such as {@code topic_not_found}
     */
    public String code() {
        return code;
    }

    /**
     * How long the broker asked to wait before the next try.
     *
     * @return the wait, if the broker named one
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    @Override
    RawlineException again() {
        return new RefusedException(status, code, retryAfter, getMessage(), this);
    }

    private static Kind kindOf(int status) {
        return switch (status) {
            case 429, 503 -> Kind.WAIT;
            case 408, 502, 504 -> Kind.TRY_AGAIN;
            default -> status >= 500 ? Kind.TELL_HUMAN : Kind.FIX_REQUEST;
        };
    }
}
