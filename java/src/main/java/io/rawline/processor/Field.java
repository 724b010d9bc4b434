package io.rawline.processor;

import javax.lang.model.element.Element;
import javax.lang.model.type.TypeMirror;

/**
 * A component of a record or a field of a class.
 *
 * @param element where errors are reported
 * @param name its name in a value
 * @param access an expression of its content in the object {@code value}
 * @param type its type
 * @param shape how it is written; null if it is skipped
 * @param isOptional whether it may be missing
 * @param orElse an expression of what it becomes if it is; empty if it has none
 */
record Field(
        Element element, String name, String access, TypeMirror type, Shape shape, boolean isOptional, String orElse) {
    boolean isSkipped() {
        return shape == null;
    }

    boolean isPrimitive() {
        return type.getKind().isPrimitive();
    }

    /** Whether objects without it are an error. */
    boolean isRequired() {
        return !isOptional && orElse.isEmpty() && shape.empty() == null;
    }
}
