/* One way of using one library on one case: what conformance and measurements share. */
package io.rawline.lab;

/**
 * A row opened for a case. One thread at a time: it may own buffers and reuse them.
 *
 * @param <E> the encoded type: the case's plain object, or the library's own if that is an object an application would
 * hold and change
 * @param <D> the decoded type: an object that owns all of its memory
 */
public interface Row<E, D> {
    /** The object to encode, from the case's message; never timed. */
    E prepare(Object message);

    /** The case's message from the decoded object; never timed. */
    Object restore(D decoded);

    /** Timed. Returns what keeps the bytes alive: the bytes themselves, or the reused buffer that holds them. */
    Object encode(E message) throws Exception;

    /** A copy of the bytes that the last {@link #encode} wrote; never timed. */
    default byte[] bytes(Object encoded) {
        return (byte[]) encoded;
    }

    /** Timed. */
    D decode(byte[] bytes) throws Exception;

    /** Timed: reads the case's one field as cheaply as the library allows, and returns its check. */
    long field(byte[] bytes) throws Exception;

    /** Timed: reads every field once, through views if the format has them, and returns the sum of their checks. */
    long fields(byte[] bytes) throws Exception;
}
