package io.rawline.junit5;

/** The broker didn't start, or has ended; the message has what it wrote to stderr. */
public final class BrokerException extends RuntimeException {
    private static final long serialVersionUID = 1;

    BrokerException(String message) {
        super(message);
    }

    BrokerException(String message, Throwable cause) {
        super(message, cause);
    }
}
