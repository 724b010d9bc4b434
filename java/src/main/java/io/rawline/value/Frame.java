package io.rawline.value;

import java.util.Arrays;

/**
 * A frame of Zeek Broker's peer protocol (version 1). The payload is not inspected.
 *
 * <pre>
 *  0  16  sender          33   2  hops left, big-endian
 * 16  16  receiver        35   2  topic's length T, big-endian
 * 32   1  kind            37   T  topic, then the payload up to the frame's end
 * </pre>
 */
public final class Frame {
    /**
     * The kind of a frame with a value. 2 is a data store's command, 3 subscriptions, 4 a ping, 5 a pong.
     */
    public static final int DATA = 1;

    private static final int KIND_MAX = 5;

    /** Bytes before the topic. */
    private static final int HEADER_BYTES = 37;

    private static final int TOPIC_BYTES_MAX = 0xffff;

    private final EndpointId sender;
    private final EndpointId receiver;
    private final int kind;
    private final int ttl;
    private final byte[] topic;
    private final byte[] payload;

    Frame(EndpointId sender, EndpointId receiver, int kind, int ttl, byte[] topic, byte[] payload) {
        this.sender = sender;
        this.receiver = receiver;
        this.kind = kind;
        this.ttl = ttl;
        this.topic = topic;
        this.payload = payload;
    }

    /**
     * Parses a frame, without the length that precedes it.
     *
     * @param bytes the bytes
     * @return the frame, with copies of topic and payload
     * @throws ValueException it is truncated or of an unknown kind
     */
    public static Frame parse(byte[] bytes) {
        if (bytes.length < HEADER_BYTES) {
            throw truncated(bytes.length, HEADER_BYTES);
        }
        int kind = bytes[32] & 0xff;
        if (kind < DATA || kind > KIND_MAX) {
            throw ValueException.frame("unknown frame kind " + kind + "; use 1 (data) to 5 (pong)");
        }
        int payloadAt = HEADER_BYTES + Wire.getShort(bytes, 35);
        if (bytes.length < payloadAt) {
            throw truncated(bytes.length, payloadAt);
        }
        return new Frame(
                new EndpointId(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8)),
                new EndpointId(Wire.getLong(bytes, 16), Wire.getLong(bytes, 24)),
                kind,
                Wire.getShort(bytes, 33),
                Arrays.copyOfRange(bytes, HEADER_BYTES, payloadAt),
                Arrays.copyOfRange(bytes, payloadAt, bytes.length));
    }

    private static ValueException truncated(int have, int need) {
        return ValueException.frame("the frame is truncated: " + have + " of " + need + " bytes; send it whole");
    }

    /**
     * Encodes the frame, without the length that precedes it.
     *
     * @return the bytes
     * @throws ValueException if the topic has more than 65,535 bytes
     */
    public byte[] encode() {
        if (topic.length > TOPIC_BYTES_MAX) {
            throw ValueException.frame("a topic of " + topic.length + " bytes; the maximum in a frame is "
                    + TOPIC_BYTES_MAX + "; use a shorter topic");
        }
        byte[] bytes = new byte[HEADER_BYTES + topic.length + payload.length];
        Wire.putLong(bytes, 0, sender.high());
        Wire.putLong(bytes, 8, sender.low());
        Wire.putLong(bytes, 16, receiver.high());
        Wire.putLong(bytes, 24, receiver.low());
        bytes[32] = (byte) kind;
        Wire.putShort(bytes, 33, ttl);
        Wire.putShort(bytes, 35, topic.length);
        System.arraycopy(topic, 0, bytes, HEADER_BYTES, topic.length);
        System.arraycopy(payload, 0, bytes, HEADER_BYTES + topic.length, payload.length);
        return bytes;
    }

    /**
     * The envelope of a data frame.
     *
     * @return the envelope
     * @throws ValueException the frame is of another kind, or its payload isn't a value
     */
    public Envelope toEnvelope() {
        if (kind != DATA) {
            throw ValueException.frame("a frame of kind " + kind + " has no value; send one of kind 1 (data)");
        }
        return Envelope.decode(topic, payload, sender, receiver, ttl);
    }

    /**
     * The kind of its payload: 1 (a value), 2 (a data store's command), 3 (changed subscriptions), 4 (a ping), 5 (a
     * pong).
     *
     * @return 1 to 5
     */
    public int kind() {
        return kind;
    }

    /**
     * The payload; a value's bytes for kind 1.
     *
     * @return a copy
     */
    public byte[] payload() {
        return payload.clone();
    }
}
