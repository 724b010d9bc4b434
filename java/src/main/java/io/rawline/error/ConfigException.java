package io.rawline.error;

/** A setting or an argument is invalid. */
public final class ConfigException extends RawlineException {
    private static final long serialVersionUID = 1;

    /**
     * An error, with the one that caused it.
     *
     * @param message the error, and what to do
     * @param cause the cause, or null
     */
    public ConfigException(String message, Throwable cause) {
        super(ErrorKind.FIX_REQUEST, message, cause);
    }

    @Override
    public ConfigException copy() {
        return new ConfigException(getMessage(), this);
    }
}
