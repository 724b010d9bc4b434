package io.rawline.error;

import java.time.Duration;
import java.util.Optional;

/** The broker responded with an error. */
public sealed class RefusedException extends RawlineException permits FencedException, TopicNotFoundException {
    private static final long serialVersionUID = 1;

    /** The HTTP status. */
    private final int status;
    /** The broker's code for the error. */
    private final String code;
    /** How long the broker asks to wait before the next attempt; null if it doesn't. */
    private final Duration retryAfter;

    /**
     * An error response.
     *
     * @param status the HTTP status
     * @param code the broker's code for the error
     * @param sentence the broker's message
     * @param retryAfter how long the broker asks to wait before the next attempt; null if it doesn't
     */
    public RefusedException(int status, String code, String sentence, Duration retryAfter) {
        this(status, code, retryAfter, sentence + " (HTTP " + status + ", " + code + ")", null);
    }

    RefusedException(int status, String code, Duration retryAfter, String message, Throwable cause) {
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
     * The broker's code for the error, which is stable; {@code status_} and the status if the response has no code.
     *
     * @return such as {@code topic_not_found}
     */
    public String code() {
        return code;
    }

    /**
     * How long the broker asks to wait before the next attempt.
     *
     * @return the wait, if the broker sent one
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    @Override
    public RefusedException copy() {
        return new RefusedException(status, code, retryAfter, getMessage(), this);
    }

    private static ErrorKind kindOf(int status) {
        return switch (status) {
            case 429, 503 -> ErrorKind.WAIT;
            case 408, 502, 504 -> ErrorKind.TRY_AGAIN;
            default -> status >= 500 ? ErrorKind.TELL_HUMAN : ErrorKind.FIX_REQUEST;
        };
    }
}
