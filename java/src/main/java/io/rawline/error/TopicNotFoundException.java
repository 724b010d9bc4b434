package io.rawline.error;

/** The topic doesn't exist: the broker's error {@code topic_not_found}. */
public final class TopicNotFoundException extends RefusedException {
    private static final long serialVersionUID = 1;

    /** The topic's name. */
    private final String topic;

    /**
     * A topic doesn't exist.
     *
     * @param topic the topic's name
     * @param refused the broker's error response
     */
    public TopicNotFoundException(String topic, RefusedException refused) {
        super(
                refused.status(),
                refused.code(),
                null,
                "the topic \"" + topic + "\" doesn't exist; check the name, or create the topic first (HTTP "
                        + refused.status() + ", " + refused.code() + ")",
                refused);
        this.topic = topic;
    }

    /**
     * The topic's name.
     *
     * @return as given by the caller
     */
    public String topic() {
        return topic;
    }

    @Override
    public TopicNotFoundException copy() {
        return new TopicNotFoundException(topic, this);
    }
}
