package io.rawline.measurement;

/** Ends the reading of a message; caught within this package. Has no stack trace, to be cheap. */
final class FaultException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The error. */
    final Fault fault;
    /** Its position in the array. */
    final int place;

    FaultException(Fault fault, int place) {
        super(fault.text(), null, false, false);
        this.fault = fault;
        this.place = place;
    }
}
