package io.rawline.value;

/**
 * An endpoint's id of 16 bytes. All zeros is nil: this node as a sender, everyone as a receiver.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record EndpointId(long high, long low) {
    /** This node as a sender, everyone as a receiver. */
    public static final EndpointId NIL = new EndpointId(0, 0);
}
