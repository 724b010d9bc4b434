package io.rawline.processor;

import java.util.stream.Collectors;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.ArrayType;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.TypeMirror;

/** Types as source code, qualified and without annotations. */
final class TypeNames {
    private TypeNames() {}

    static String of(TypeMirror type) {
        return switch (type.getKind()) {
            case ARRAY -> of(((ArrayType) type).getComponentType()) + "[]";
            case DECLARED -> {
                DeclaredType declared = (DeclaredType) type;
                String name =
                        ((TypeElement) declared.asElement()).getQualifiedName().toString();
                yield declared.getTypeArguments().isEmpty()
                        ? name
                        : name
                                + declared.getTypeArguments().stream()
                                        .map(TypeNames::of)
                                        .collect(Collectors.joining(", ", "<", ">"));
            }
            case BOOLEAN, BYTE, SHORT, INT, LONG, CHAR, FLOAT, DOUBLE ->
                type.getKind().name().toLowerCase(java.util.Locale.ROOT);
            default -> type.toString();
        };
    }
}
