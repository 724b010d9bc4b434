package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A topic and a value, checked once. It owns copies of the bytes and the index, so its view is always valid and
 * thread-safe. Immutable; forwarding it copies bytes and encodes nothing.
 */
public final class Envelope {
    /** The default maximum number of hops. */
    public static final int TTL_DEFAULT = 16;

    private final byte[] topic;
    private final ValueView value;
    private final EndpointId sender;
    private final EndpointId receiver;
    private final int ttl;

    private Envelope(byte[] topic, ValueView value, EndpointId sender, EndpointId receiver, int ttl) {
        this.topic = topic;
        this.value = value;
        this.sender = sender;
        this.receiver = receiver;
        this.ttl = ttl;
    }

    /**
     * An envelope from this node to everyone.
     *
     * @param topic the topic
     * @param bytes a value's bytes, which are copied
     * @return the envelope
     * @throws ValueException the bytes are not exactly one value within the default limits
     */
    public static Envelope decode(String topic, byte[] bytes) {
        return decode(topic.getBytes(StandardCharsets.UTF_8), bytes, EndpointId.NIL, EndpointId.NIL, TTL_DEFAULT);
    }

    /** An envelope that owns the topic, and a copy of the bytes. */
    static Envelope decode(byte[] topic, byte[] bytes, EndpointId sender, EndpointId receiver, int ttl) {
        byte[] copy = bytes.clone();
        ValueDecoder decoder = new ValueDecoder();
        return new Envelope(topic, decoder.decode(copy), sender, receiver, ttl);
    }

    /**
     * The topic.
     *
     * @return the topic; invalid UTF-8 is replaced by U+FFFD
     */
    public String topic() {
        return new String(topic, StandardCharsets.UTF_8);
    }

    /**
     * The topic's bytes.
     *
     * @return a copy of them
     */
    public byte[] topicBytes() {
        return topic.clone();
    }

    /**
     * The value.
     *
     * @return a view of it
     */
    public ValueView value() {
        return value;
    }

    /**
     * The value's bytes, unchanged.
     *
     * @return a copy of them
     */
    public byte[] bytes() {
        return value.toByteArray();
    }

    /**
     * The sender.
     *
     * @return its id; nil for this node
     */
    public EndpointId sender() {
        return sender;
    }

    /**
     * The receiver.
     *
     * @return its id; nil for everyone
     */
    public EndpointId receiver() {
        return receiver;
    }

    /**
     * The maximum number of hops.
     *
     * @return 0 to 65535
     */
    public int ttl() {
        return ttl;
    }

    /**
     * The frame that carries this envelope to a peer.
     *
     * @return the frame
     */
    public Frame toFrame() {
        return new Frame(sender, receiver, Frame.DATA, ttl, topic, value.toByteArray());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Envelope envelope
                && Arrays.equals(topic, envelope.topic)
                && value.equals(envelope.value)
                && sender.equals(envelope.sender)
                && receiver.equals(envelope.receiver)
                && ttl == envelope.ttl;
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(topic) + value.hashCode();
    }

    @Override
    public String toString() {
        return topic() + " " + value;
    }
}
