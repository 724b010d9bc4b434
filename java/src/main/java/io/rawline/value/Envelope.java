package io.rawline.value;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A topic and a value's bytes, checked once: it owns copies of both and the index, so its view is good for ever and in
 * every thread. Immutable; sending it on copies bytes and encodes nothing.
 */
public final class Envelope {
    /** The hops that an envelope may take unless it says otherwise. */
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
     * The envelope of these bytes, from this node to everyone.
     *
     * @param topic the topic
     * @param bytes a value's bytes, which are copied
     * @return the envelope
     * @throws ValueException if the bytes are not one value within the default limits
     */
    public static Envelope decode(String topic, byte[] bytes) {
        return decode(topic.getBytes(StandardCharsets.UTF_8), bytes, EndpointId.NIL, EndpointId.NIL, TTL_DEFAULT);
    }

    /** The envelope of a topic that nobody else keeps and of bytes that are copied. */
    static Envelope decode(byte[] topic, byte[] bytes, EndpointId sender, EndpointId receiver, int ttl) {
        byte[] copy = bytes.clone();
        ValueDecoder decoder = new ValueDecoder();
        return new Envelope(topic, decoder.decode(copy), sender, receiver, ttl);
    }

    /**
     * The topic.
     *
     * @return the topic; what is not UTF-8 is replaced by U+FFFD
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
     * The value's bytes, as they came.
     *
     * @return a copy of them
     */
    public byte[] bytes() {
        return value.toByteArray();
    }

    /**
     * Who sends it.
     *
     * @return the sender; nil for this node
     */
    public EndpointId sender() {
        return sender;
    }

    /**
     * Who is to get it.
     *
     * @return the receiver; nil for everyone
     */
    public EndpointId receiver() {
        return receiver;
    }

    /**
     * How many hops it may take.
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
