package io.rawline.processor;

/**
 * How a Java type is written and read: templates in which {@code @} is replaced by an expression.
 *
 * @param type the type, as Java writes it
 * @param write a statement that writes an object
 * @param read an expression that reads one
 * @param isUnique whether different objects are always different values
 * @param head the part of the value that is written together with a key
 * @param empty how the absence of an object is expressed; null if it can't be
 */
record Shape(String type, String write, String read, boolean isUnique, Head head, Empty empty) {
    /**
     * The tag, and how the rest is written after it.
     *
     * @param tag the value's tag
     * @param method the method of {@code CodecWrites} that writes a key, the tag and the rest
     * @param argument its last argument
     */
    record Head(int tag, String method, String argument) {}

    /**
     * An object that may be absent.
     *
     * @param isPresent a condition
     * @param content an expression of the written value if it holds
     * @param none an expression of an absent object
     * @param inner how the content is written
     */
    record Empty(String isPresent, String content, String none, Shape inner) {}

    static Shape of(String type, String write, String read, boolean isUnique) {
        return new Shape(type, write, read, isUnique, null, null);
    }

    static Shape of(String type, String write, String read, boolean isUnique, Head head) {
        return new Shape(type, write, read, isUnique, head, null);
    }

    String write(String value) {
        return write.replace("@", value);
    }
}
