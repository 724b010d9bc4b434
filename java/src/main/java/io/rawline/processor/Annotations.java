package io.rawline.processor;

import java.util.List;
import javax.lang.model.element.AnnotationMirror;
import javax.lang.model.element.AnnotationValue;
import javax.lang.model.element.Element;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.VariableElement;
import javax.lang.model.type.TypeMirror;

/** Reads annotations by name: the annotations' classes aren't in the processor's jar. */
final class Annotations {
    /** The package of the library's values. */
    static final String VALUES = "io.rawline.value.";

    static final String GENERATE = VALUES + "GenerateCodec";
    static final String FIELD = VALUES + "ValueField";

    private Annotations() {}

    static boolean has(Element element, String annotation) {
        return find(element, annotation) != null;
    }

    /** Whether an element, or its type, has an annotation of any library that is called {@code Nullable}. */
    static boolean isNullable(Element element, TypeMirror type) {
        return isNullable(element.getAnnotationMirrors()) || isNullable(type.getAnnotationMirrors());
    }

    private static boolean isNullable(List<? extends AnnotationMirror> annotations) {
        return annotations.stream().anyMatch(annotation -> annotation
                .getAnnotationType()
                .asElement()
                .getSimpleName()
                .contentEquals("Nullable"));
    }

    /** The text of a parameter; empty if it isn't given. */
    static String text(Element element, String annotation, String parameter) {
        Object value = value(element, annotation, parameter);
        return value == null ? "" : value.toString();
    }

    /** Whether a parameter is given and true. */
    static boolean is(Element element, String annotation, String parameter) {
        return Boolean.TRUE.equals(value(element, annotation, parameter));
    }

    /** The name of an enum's constant; empty if it isn't given. */
    static String constant(Element element, String annotation, String parameter) {
        Object value = value(element, annotation, parameter);
        return value == null ? "" : ((VariableElement) value).getSimpleName().toString();
    }

    /** A class; null if it isn't given. */
    static TypeMirror type(Element element, String annotation, String parameter) {
        return (TypeMirror) value(element, annotation, parameter);
    }

    private static Object value(Element element, String annotation, String parameter) {
        AnnotationMirror found = find(element, annotation);
        if (found == null) {
            return null;
        }
        for (var entry : found.getElementValues().entrySet()) {
            ExecutableElement method = entry.getKey();
            AnnotationValue value = entry.getValue();
            if (method.getSimpleName().contentEquals(parameter)) {
                return value.getValue();
            }
        }
        return null;
    }

    private static AnnotationMirror find(Element element, String annotation) {
        for (AnnotationMirror found : element.getAnnotationMirrors()) {
            if (found.getAnnotationType().toString().equals(annotation)) {
                return found;
            }
        }
        return null;
    }
}
