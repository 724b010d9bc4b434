package io.rawline;

/** The producer or consumer has stopped; what a producer still held was not sent. */
public final class StoppedException extends RawlineException {
    private static final long serialVersionUID = 1;

    StoppedException(String message, Throwable cause) {
        super(Kind.TELL_HUMAN, message, cause);
    }

    @Override
    RawlineException again() {
        return new StoppedException(getMessage(), this);
    }
}
