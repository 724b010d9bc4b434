package io.rawline.measurement;

/** A string or a series that has no id; the message says why, and what to do. */
public final class MeasurementException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    MeasurementException(String message) {
        super(message);
    }
}
