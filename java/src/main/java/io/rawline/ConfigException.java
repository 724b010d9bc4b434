package io.rawline;

/** A setting, or an argument, that can't be: fix it. */
public final class ConfigException extends RawlineException {
    private static final long serialVersionUID = 1;

    ConfigException(String message, Throwable cause) {
        super(Kind.FIX_REQUEST, message, cause);
    }

    @Override
    RawlineException again() {
        return new ConfigException(getMessage(), this);
    }
}
