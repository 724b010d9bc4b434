package io.rawline.error;

/** How a caller can handle an error. */
public enum ErrorKind {
    /** The request is wrong; sending it again gives the same response. */
    FIX_REQUEST,
    /** The request may succeed if sent again. */
    TRY_AGAIN,
    /** The request succeeds after something has been freed or has recovered: wait, then send it again. */
    WAIT,
    /** Only a human can help. */
    TELL_HUMAN
}
