package io.rawline.measurement;

/** Leaves the forward reader in the middle of a message; never leaves this package. Without a stack, to be cheap. */
final class FaultException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    final Fault fault;
    /** Where it is, in the array. */
    final int place;

    FaultException(Fault fault, int place) {
        super(fault.text(), null, false, false);
        this.fault = fault;
        this.place = place;
    }
}
