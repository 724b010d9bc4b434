package io.rawline.error;

/** The response is not one that a broker sends. */
public final class AnswerException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public AnswerException(String message, Throwable cause) {
        super(ErrorKind.TELL_HUMAN, message, cause);
    }

    @Override
    public AnswerException copy() {
        return new AnswerException(getMessage(), this);
    }
}
