package io.rawline;

/** The answer is not one that a broker gives. */
public final class AnswerException extends RawlineException {
    private static final long serialVersionUID = 1;

    AnswerException(String message, Throwable cause) {
        super(Kind.TELL_HUMAN, message, cause);
    }

    @Override
    RawlineException again() {
        return new AnswerException(getMessage(), this);
    }
}
