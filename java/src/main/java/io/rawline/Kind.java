package io.rawline;

/** What a caller can do about an error. */
public enum Kind {
    /** The request is wrong; sending it again gives the same answer. */
    FIX_REQUEST,
    /** It may work if sent again. */
    TRY_AGAIN,
    /** It will work when something has been freed or has recovered: wait, then try again. */
    WAIT,
    /** Only a person can help. */
    TELL_HUMAN
}
