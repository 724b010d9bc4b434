package io.rawline.value;

import java.util.Arrays;

/**
 * The frame in which Zeek Broker's peers send a value to each other (protocol version 1). The payload is not looked
 * into.
 *
 * <pre>
 *  0  16  sender          33   2  hops left, big-endian
 * 16  16  receiver        35   2  topic's length T, big-endian
 * 32   1  kind            37   T  topic, then the payload up to the frame's end
 * </pre>
 */
public final class Frame {
    /**
     * The kind of a frame that carries a value; 2 is a data store's command, 3 subscriptions, 4 a ping, 5 its answer.
     */
    public static final int DATA = 1;

    private static final int KIND_MAX = 5;

    /** Bytes in front of the topic. */
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
     * The parts of a frame's bytes, without the length in front of it.
     *
     * @param bytes the bytes
     * @return the frame, with copies of topic and payload
     * @throws ValueException if it is cut off or of an unknown kind
     */
    public static Frame parse(byte[] bytes) {
        if (bytes.length < HEADER_BYTES) {
            throw cutOff(bytes.length, HEADER_BYTES);
        }
        int kind = bytes[32] & 0xff;
        if (kind < DATA || kind > KIND_MAX) {
            throw ValueException.frame("no frame has the kind " + kind + "; use 1 (data) to 5 (pong)");
        }
        int payloadAt = HEADER_BYTES + Wire.getShort(bytes, 35);
        if (bytes.length < payloadAt) {
            throw cutOff(bytes.length, payloadAt);
        }
        return new Frame(
                new EndpointId(Wire.getLong(bytes, 0), Wire.getLong(bytes, 8)),
                new EndpointId(Wire.getLong(bytes, 16), Wire.getLong(bytes, 24)),
                kind,
                Wire.getShort(bytes, 33),
                Arrays.copyOfRange(bytes, HEADER_BYTES, payloadAt),
                Arrays.copyOfRange(bytes, payloadAt, bytes.length));
    }

    private static ValueException cutOff(int have, int need) {
        return ValueException.frame("the frame is cut off: " + have + " of " + need + " bytes; send it whole");
    }

    /**
     * The frame's bytes, without the length in front of it.
     *
     * @return the bytes
     * @throws ValueException if the topic has more than 65,535 bytes
     */
    public byte[] encode() {
        if (topic.length > TOPIC_BYTES_MAX) {
            throw ValueException.frame("a topic of " + topic.length + " bytes; a frame takes at most " + TOPIC_BYTES_MAX
                    + ": use a shorter topic");
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
     * The envelope that a frame of data carries.
     *
     * @return the envelope
     * @throws ValueException if the frame is of another kind, or its payload is no value
     */
    public Envelope toEnvelope() {
        if (kind != DATA) {
            throw ValueException.frame("a frame of kind " + kind + " carries no value; send one of kind 1 (data)");
        }
        return Envelope.decode(topic, payload, sender, receiver, ttl);
    }

    /**
     * What it carries: 1 (a value), 2 (a data store's command), 3 (changed subscriptions), 4 (a ping), 5 (its answer).
     *
     * @return 1 to 5
     */
    public int kind() {
        return kind;
    }

    /**
     * What it carries, for data a value's bytes.
     *
     * @return a copy
     */
    public byte[] payload() {
        return payload.clone();
    }
}
