package io.rawline.processor;

import javax.lang.model.element.Element;

/** A type that no codec can be generated for: an error of the compiler, at an element. */
final class InvalidTypeException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient Element element;

    InvalidTypeException(Element element, String message) {
        super(message);
        this.element = element;
    }

    Element element() {
        return element;
    }
}
