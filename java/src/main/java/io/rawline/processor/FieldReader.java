package io.rawline.processor;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.element.VariableElement;
import javax.lang.model.type.TypeMirror;
import javax.lang.model.util.ElementFilter;

/** The fields of a record or a class, with their annotations. */
final class FieldReader {
    private final TypeElement type;
    private final Shapes shapes;
    private final String nameCase;

    FieldReader(TypeElement type, Shapes shapes) {
        this.type = type;
        this.shapes = shapes;
        nameCase = Annotations.constant(type, Annotations.GENERATE, "names");
    }

    List<Field> fields() {
        List<Field> fields = new ArrayList<>();
        if (type.getKind() == ElementKind.RECORD) {
            for (Element component : type.getRecordComponents()) {
                fields.add(field(component, "value." + component.getSimpleName() + "()"));
            }
        } else {
            checkClass();
            for (VariableElement field : ElementFilter.fieldsIn(type.getEnclosedElements())) {
                Set<Modifier> modifiers = field.getModifiers();
                if (!modifiers.contains(Modifier.STATIC) && !modifiers.contains(Modifier.TRANSIENT)) {
                    checkField(field);
                    fields.add(field(field, "value." + field.getSimpleName()));
                }
            }
        }
        checkNames(fields);
        return fields;
    }

    private void checkClass() {
        TypeMirror parent = type.getSuperclass();
        boolean isPlain = parent.toString().equals("java.lang.Object");
        if (!isPlain || type.getModifiers().contains(Modifier.ABSTRACT)) {
            throw new InvalidTypeException(
                    type, "a codec is generated for a class that extends no other; use a record or a sealed interface");
        }
        boolean hasConstructor = ElementFilter.constructorsIn(type.getEnclosedElements()).stream()
                .anyMatch(constructor -> constructor.getParameters().isEmpty()
                        && !constructor.getModifiers().contains(Modifier.PRIVATE));
        if (!hasConstructor) {
            throw new InvalidTypeException(
                    type, "a class needs a constructor without parameters that isn't private; add one or use a record");
        }
    }

    private static void checkField(VariableElement field) {
        if (field.getModifiers().contains(Modifier.PRIVATE)
                || field.getModifiers().contains(Modifier.FINAL)) {
            throw new InvalidTypeException(
                    field,
                    "a field that is private or final can't be read or set; make it neither, make it transient to"
                            + " leave it out, or use a record");
        }
    }

    private void checkNames(List<Field> fields) {
        Set<String> seen = new HashSet<>();
        for (Field field : fields) {
            if (!field.isSkipped() && !seen.add(field.name())) {
                throw new InvalidTypeException(
                        field.element(), "two fields have the name \"" + field.name() + "\" in a value; rename one");
            }
        }
    }

    private Field field(Element element, String access) {
        String own = element.getSimpleName().toString();
        String given = Annotations.text(element, Annotations.FIELD, "name");
        String name = given.isEmpty() ? Names.in(nameCase, own) : given;
        TypeMirror fieldType = element.asType();
        String orElse = orElse(element);
        boolean isOptional =
                Annotations.is(element, Annotations.FIELD, "optional") || Annotations.isNullable(element, fieldType);
        if (Annotations.is(element, Annotations.FIELD, "skip")) {
            return new Field(element, name, access, fieldType, null, true, orElse);
        }
        if (isOptional && !orElse.isEmpty()) {
            throw new InvalidTypeException(element, "a field has one of optional and orElse");
        }
        return new Field(element, name, access, fieldType, shape(element, fieldType), isOptional, orElse);
    }

    private Shape shape(Element element, TypeMirror fieldType) {
        String as = Annotations.constant(element, Annotations.FIELD, "as");
        TypeMirror with = Annotations.type(element, Annotations.FIELD, "with");
        if (with == null) {
            return shapes.of(fieldType, as.equals("NONE") ? "" : as, element);
        }
        if (!as.isEmpty()) {
            throw new InvalidTypeException(element, "a field has one of as and with");
        }
        return shapes.with(fieldType, with);
    }

    /** The call of a static method of the type, or of another class. */
    private String orElse(Element element) {
        String method = Annotations.text(element, Annotations.FIELD, "orElse");
        if (method.isEmpty()) {
            return "";
        }
        String owner = method.contains(".") ? "" : type.getQualifiedName() + ".";
        return owner + method + "()";
    }
}
