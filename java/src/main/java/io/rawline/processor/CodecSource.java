package io.rawline.processor;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.annotation.processing.ProcessingEnvironment;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.PackageElement;
import javax.lang.model.element.TypeElement;

/** The source code of one type's codec. */
final class CodecSource {
    private static final List<String> IMPORTS = List.of(
            "CodecReads",
            "CodecWrites",
            "EnumCodec",
            "Fields",
            "Kind",
            "ValueCodec",
            "ValueException",
            "ValueReader",
            "ValueWriter",
            "Variants");

    private final ProcessingEnvironment environment;
    private final TypeElement type;
    private final Shapes shapes;
    /** The type, qualified. */
    private final String name;

    CodecSource(ProcessingEnvironment environment, TypeElement type) {
        this.environment = environment;
        this.type = type;
        shapes = new Shapes(environment);
        name = type.getQualifiedName().toString();
    }

    /** The qualified name of a type's codec: {@code Order_ItemCodec} for {@code Order.Item}. */
    static String codecOf(ProcessingEnvironment environment, TypeElement type) {
        PackageElement own = environment.getElementUtils().getPackageOf(type);
        String prefix = own.isUnnamed() ? "" : own.getQualifiedName() + ".";
        return prefix
                + type.getQualifiedName().toString().substring(prefix.length()).replace('.', '_') + "Codec";
    }

    String qualifiedName() {
        return codecOf(environment, type);
    }

    String text() {
        checkType();
        String qualified = qualifiedName();
        String simple = qualified.substring(qualified.lastIndexOf('.') + 1);
        Source source = new Source();
        if (qualified.contains(".")) {
            source.add("package " + qualified.substring(0, qualified.lastIndexOf('.')) + ";", "");
        }
        IMPORTS.forEach(imported -> source.add("import " + Annotations.VALUES + imported + ";"));
        Source methods = new Source();
        body(methods);
        source.add(
                "",
                "/** Writes and reads {@link " + name + "}. Generated. */",
                "@SuppressWarnings({\"deprecation\", \"removal\"})",
                (isPublic() ? "public " : "") + "final class " + simple + " extends ValueCodec<" + name + "> {",
                "/** Writes tables with the fields' names; reads tables and vectors. */",
                "public static final " + simple + " TABLE = new " + simple + "(true);",
                "/** Writes vectors of the fields; reads tables and vectors. */",
                "public static final " + simple + " VECTOR = new " + simple + "(false);",
                "private final boolean table;");
        source.add(
                "",
                "private " + simple + "(boolean table) {",
                "this.table = table;",
                "}",
                "",
                "@Override",
                "public void write(" + name + " value, ValueWriter writer) {",
                "put(value, writer, table);",
                "}",
                "",
                "@Override",
                "public " + name + " read(ValueReader reader) {",
                "return take(reader);",
                "}");
        Stream.concat(shapes.members().stream(), Stream.of(methods.toString()))
                .forEach(member -> source.add("").add(member.split("\n")));
        return source.add("}").toString();
    }

    private void checkType() {
        for (Element element = type; element instanceof TypeElement; element = element.getEnclosingElement()) {
            if (element.getModifiers().contains(Modifier.PRIVATE)) {
                throw new InvalidTypeException(type, "generated code can't use a private type; remove private");
            }
        }
        if (!type.getTypeParameters().isEmpty()) {
            throw new InvalidTypeException(
                    type,
                    "a codec is for one type; annotate a type without type parameters, which has fields of this one");
        }
        boolean isInner = type.getEnclosingElement() instanceof TypeElement
                && type.getKind() == ElementKind.CLASS
                && !type.getModifiers().contains(Modifier.STATIC);
        if (isInner) {
            throw new InvalidTypeException(type, "generated code can't make an inner class; make it static");
        }
    }

    private boolean isPublic() {
        for (Element element = type; element instanceof TypeElement; element = element.getEnclosingElement()) {
            if (!element.getModifiers().contains(Modifier.PUBLIC)) {
                return false;
            }
        }
        return true;
    }

    private void body(Source out) {
        boolean isTransparent = Annotations.is(type, Annotations.GENERATE, "transparent");
        switch (type.getKind()) {
            case ENUM -> constants(out);
            case INTERFACE -> new SealedMethods(environment, type).add(out);
            case RECORD, CLASS -> {
                List<Field> fields = new FieldReader(type, shapes).fields();
                if (isTransparent) {
                    transparent(out, fields);
                } else {
                    new RecordMethods(type, fields).add(out);
                }
                return;
            }
            default ->
                throw new InvalidTypeException(
                        type, "a codec is generated for a record, a class, an enum or a sealed interface");
        }
        if (isTransparent) {
            throw new InvalidTypeException(type, "only a record or a class of one field can be transparent");
        }
    }

    /** The heads of the methods that other codecs call. */
    static String put(String name) {
        return "public static void put(" + name + " value, ValueWriter writer, boolean table) {";
    }

    static String take(String name) {
        return "public static " + name + " take(ValueReader reader) {";
    }

    private void constants(Source out) {
        out.add(
                "private static final EnumCodec<" + name + "> NAMES = " + Shapes.enumCodec(type) + ";",
                "",
                put(name),
                "NAMES.write(value, writer);",
                "}",
                "",
                take(name),
                "return NAMES.read(reader);",
                "}");
    }

    private void transparent(Source out, List<Field> fields) {
        List<Field> written =
                fields.stream().filter(field -> !field.isSkipped()).collect(Collectors.toList());
        if (written.size() != 1 || fields.size() != 1) {
            throw new InvalidTypeException(type, "only a record or a class of one field can be transparent");
        }
        Field field = written.get(0);
        if (field.isOptional() || !field.orElse().isEmpty()) {
            throw new InvalidTypeException(field.element(), "the field of a transparent type is always there");
        }
        String value = field.isPrimitive() ? field.access() : RecordMethods.present(field);
        out.add(
                put(name),
                "int outer = CodecWrites.enter(writer);",
                field.shape().write(value),
                "CodecWrites.end(writer, outer);",
                "}",
                "",
                take(name),
                "CodecReads.enter(reader);",
                TypeNames.of(field.type()) + " content = " + field.shape().read() + ";",
                "CodecReads.end(reader);");
        if (type.getKind() == ElementKind.RECORD) {
            out.add("return new " + name + "(content);", "}");
        } else {
            out.add(name + " value = new " + name + "();", field.access() + " = content;", "return value;", "}");
        }
    }
}
