package io.rawline.measurement;

import io.rawline.error.ErrorKind;
import io.rawline.error.RawlineException;

/** A string, a series or a schema is not accepted; the message has the reason, and what to do. */
public final class MeasurementException extends RawlineException {
    private static final long serialVersionUID = 1L;

    MeasurementException(String message) {
        super(ErrorKind.FIX_REQUEST, message);
    }
}
