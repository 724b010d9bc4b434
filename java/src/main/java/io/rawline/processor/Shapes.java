package io.rawline.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.annotation.processing.ProcessingEnvironment;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.ArrayType;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.PrimitiveType;
import javax.lang.model.type.TypeKind;
import javax.lang.model.type.TypeMirror;

/** The shapes of Java's types, and the members of a codec that write and read containers. */
final class Shapes {
    private static final String VALUES = Annotations.VALUES;

    /** Types of the format and the library that have one shape. */
    private static final Map<String, Shape> SCALARS = Map.of(
            "java.lang.String",
            Shape.of("String", "writer.add(@);", "CodecReads.string(reader)", true, new Shape.Head(-1, "string", "@")),
            "java.time.Instant",
            word("java.time.Instant", 9, "addTimestamp", "CodecWrites.nanoseconds(@)", "CodecReads.instant(reader)"),
            "java.time.Duration",
            word("java.time.Duration", 10, "addTimespan", "CodecWrites.nanoseconds(@)", "CodecReads.duration(reader)"),
            VALUES + "Address",
            Shape.of(VALUES + "Address", "writer.add(@);", "reader.address()", true),
            VALUES + "Subnet",
            Shape.of(VALUES + "Subnet", "writer.add(@);", "reader.subnet()", true),
            VALUES + "Port",
            Shape.of(VALUES + "Port", "writer.add(@);", "reader.port()", true),
            VALUES + "Value",
            Shape.of(VALUES + "Value", "CodecWrites.tree(writer, @);", "CodecReads.value(reader)", true),
            "java.net.InetAddress",
            Shape.of(
                    "java.net.InetAddress",
                    "writer.add(" + VALUES + "Address.of(@));",
                    "reader.address().toInetAddress()",
                    false));

    private static final Map<String, String> COLLECTIONS = Map.ofEntries(
            Map.entry("java.util.Collection", "java.util.ArrayList"),
            Map.entry("java.util.List", "java.util.ArrayList"),
            Map.entry("java.util.ArrayList", "java.util.ArrayList"),
            Map.entry("java.util.Set", "java.util.LinkedHashSet"),
            Map.entry("java.util.HashSet", "java.util.HashSet"),
            Map.entry("java.util.LinkedHashSet", "java.util.LinkedHashSet"),
            Map.entry("java.util.SortedSet", "java.util.TreeSet"),
            Map.entry("java.util.NavigableSet", "java.util.TreeSet"),
            Map.entry("java.util.TreeSet", "java.util.TreeSet"),
            Map.entry("java.util.Map", "java.util.LinkedHashMap"),
            Map.entry("java.util.HashMap", "java.util.HashMap"),
            Map.entry("java.util.LinkedHashMap", "java.util.LinkedHashMap"),
            Map.entry("java.util.SortedMap", "java.util.TreeMap"),
            Map.entry("java.util.NavigableMap", "java.util.TreeMap"),
            Map.entry("java.util.TreeMap", "java.util.TreeMap"));

    private final ProcessingEnvironment environment;
    /** Members of the codec, which shapes refer to by number. */
    private final List<String> members = new ArrayList<>();

    Shapes(ProcessingEnvironment environment) {
        this.environment = environment;
    }

    List<String> members() {
        return members;
    }

    private static Shape word(String type, int tag, String add, String bits, String read) {
        String write = "writer." + add + "(" + bits + ");";
        return Shape.of(type, write, read, true, new Shape.Head(tag, "word", bits));
    }

    /** The shape of a type, with the type of {@code as}; errors are reported at {@code element}. */
    Shape of(TypeMirror type, String as, Element element) {
        boolean isSet = as.equals("SET");
        Shape shape = type.getKind() == TypeKind.ARRAY ? array((ArrayType) type, as, element) : one(type, as, element);
        if (isSet && !shape.type().endsWith("[]") && !isCollection(type)) {
            throw invalid(element, type, "only a list or an array can be written as a set; remove as = Kind.SET");
        }
        return shape;
    }

    private Shape one(TypeMirror type, String as, Element element) {
        if (type.getKind().isPrimitive()) {
            return primitive(type.getKind(), TypeNames.of(type), as, element, type);
        }
        if (type.getKind() != TypeKind.DECLARED) {
            throw invalid(element, type, "use a type that is known");
        }
        DeclaredType declared = (DeclaredType) type;
        TypeElement named = (TypeElement) declared.asElement();
        String name = named.getQualifiedName().toString();
        PrimitiveType unboxed = unboxed(type);
        if (unboxed != null) {
            return primitive(unboxed.getKind(), TypeNames.of(type), as, element, type);
        }
        if (name.startsWith("java.util.Optional")) {
            return optional(declared, name, as, element);
        }
        if (COLLECTIONS.containsKey(name)) {
            return name.endsWith("Map") ? map(declared, name, as, element) : collection(declared, name, as, element);
        }
        if (as.equals("ENUM") && name.equals("java.lang.String")) {
            return Shape.of("String", "writer.addEnum(@);", "CodecReads.string(reader)", true);
        }
        if (!as.isEmpty()) {
            throw invalid(element, type, "it can't be written as Kind." + as + "; remove it");
        }
        if (SCALARS.containsKey(name)) {
            return SCALARS.get(name);
        }
        if (Annotations.has(named, Annotations.GENERATE)) {
            String codec = CodecSource.codecOf(environment, named);
            return Shape.of(
                    TypeNames.of(type),
                    codec + ".put(@, writer, table);",
                    codec + ".take(reader)",
                    named.getKind() == ElementKind.ENUM);
        }
        if (named.getKind() == ElementKind.ENUM) {
            return constants(named);
        }
        throw invalid(element, type, advice(name));
    }

    private static String advice(String name) {
        if (name.startsWith("java.time.") || name.equals("java.util.Date")) {
            return "use an Instant or a Duration, or name a codec: @ValueField(with = ...)";
        }
        if (name.startsWith("java.net.Inet")) {
            return "use an InetAddress or an Address";
        }
        if (name.equals("java.lang.Object") || name.startsWith(VALUES + "Value.")) {
            return "use " + VALUES + "Value for values of any type";
        }
        return "annotate it with @GenerateCodec, or name a codec: @ValueField(with = ...)";
    }

    private InvalidTypeException invalid(Element element, TypeMirror type, String advice) {
        return new InvalidTypeException(
                element, "the type " + TypeNames.of(type) + " can't be converted to a value; " + advice);
    }

    private PrimitiveType unboxed(TypeMirror type) {
        try {
            return environment.getTypeUtils().unboxedType(type);
        } catch (IllegalArgumentException none) {
            return null;
        }
    }

    private Shape primitive(TypeKind kind, String name, String as, Element element, TypeMirror type) {
        boolean isWhole =
                kind == TypeKind.LONG || kind == TypeKind.INT || kind == TypeKind.SHORT || kind == TypeKind.BYTE;
        if (!as.isEmpty()
                && !(isWhole && (as.equals("COUNT") || as.equals("INTEGER")))
                && !(kind == TypeKind.LONG && as.startsWith("TIMES"))) {
            throw invalid(element, type, "it can't be written as Kind." + as + "; remove it");
        }
        return switch (kind) {
            case BOOLEAN -> Shape.of(name, "writer.add(@);", "reader.bool()", true, new Shape.Head(1, "bool", "@"));
            case CHAR -> Shape.of(name, "writer.add(String.valueOf(@));", "CodecReads.character(reader)", true);
            case FLOAT -> real(name, "(float) CodecReads.real(reader)");
            case DOUBLE -> real(name, "CodecReads.real(reader)");
            case LONG ->
                switch (as) {
                    case "COUNT" -> word(name, 2, "addCount", "@", "CodecReads.count(reader)");
                    case "TIMESTAMP" -> word(name, 9, "addTimestamp", "@", "reader.timestamp()");
                    case "TIMESPAN" -> word(name, 10, "addTimespan", "@", "reader.timespan()");
                    default -> word(name, 3, "addInteger", "@", "CodecReads.int64(reader)");
                };
            case INT -> whole(name, as, 32);
            case SHORT -> whole(name, as, 16);
            default -> whole(name, as, 8);
        };
    }

    private static Shape real(String name, String read) {
        return Shape.of(name, "writer.add(@);", read, false, new Shape.Head(4, "word", "CodecWrites.bits(@)"));
    }

    private static Shape whole(String name, String as, int bits) {
        String read = "CodecReads.int" + bits + "(reader)";
        return as.equals("COUNT")
                ? Shape.of(name, "CodecWrites.count(writer, @);", read, true)
                : word(name, 3, "addInteger", "@", read);
    }

    private Shape constants(TypeElement type) {
        String name = type.getQualifiedName().toString();
        String codec = "CODEC_" + members.size();
        members.add("private static final EnumCodec<" + name + "> " + codec + " = " + enumCodec(type) + ";");
        return Shape.of(name, codec + ".write(@, writer);", codec + ".read(reader)", true);
    }

    /** An expression that makes an enum's codec. */
    static String enumCodec(TypeElement type) {
        String name = type.getQualifiedName().toString();
        String nameCase = Annotations.constant(type, Annotations.GENERATE, "names");
        List<String> constants = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (Element constant : type.getEnclosedElements()) {
            if (constant.getKind() == ElementKind.ENUM_CONSTANT) {
                String own = constant.getSimpleName().toString();
                String given = Annotations.text(constant, Annotations.FIELD, "name");
                String written = given.isEmpty() ? Names.in(nameCase, own) : given;
                if (names.contains(Source.quote(written))) {
                    throw new InvalidTypeException(
                            constant, "two constants have the name \"" + written + "\" in a value; rename one");
                }
                constants.add(name + "." + own);
                names.add(Source.quote(written));
            }
        }
        if (constants.isEmpty()) {
            throw new InvalidTypeException(type, "an enum without constants has no values");
        }
        return "EnumCodec.of(new " + name + "[] {" + String.join(", ", constants) + "}, " + String.join(", ", names)
                + ")";
    }

    private Shape optional(DeclaredType type, String name, String as, Element element) {
        String primitive = name.substring("java.util.Optional".length());
        if (primitive.isEmpty() && type.getTypeArguments().isEmpty()) {
            throw invalid(element, type, "give it a type argument");
        }
        Shape inner =
                switch (primitive) {
                    case "Int" -> primitive(TypeKind.INT, "int", as, element, type);
                    case "Long" -> primitive(TypeKind.LONG, "long", as, element, type);
                    case "Double" -> primitive(TypeKind.DOUBLE, "double", as, element, type);
                    default -> of(type.getTypeArguments().get(0), as, element);
                };
        if (inner.empty() != null) {
            throw invalid(element, type, "an Optional of an Optional can't be distinguished from an empty one");
        }
        Shape.Empty empty = new Shape.Empty(
                "@.isPresent()",
                "@.get" + (primitive.isEmpty() ? "" : "As" + primitive) + "()",
                name + ".empty()",
                inner);
        int number = members.size();
        String full = TypeNames.of(type);
        members.add(new Source()
                .add(
                        "private static void write" + number + "(" + full
                                + " value, ValueWriter writer, boolean table) {",
                        "if (value.isPresent()) {",
                        inner.write(empty.content().replace("@", "value")),
                        "} else {",
                        "writer.addNone();",
                        "}",
                        "}",
                        "",
                        "private static " + full + " read" + number + "(ValueReader reader) {",
                        "return reader.isNone() ? " + empty.none() + " : " + name + ".of(" + inner.read() + ");",
                        "}")
                .toString());
        return new Shape(full, call("write", number), "read" + number + "(reader)", false, null, empty);
    }

    private static String call(String method, int number) {
        return method + number + "(@, writer, table);";
    }

    private boolean isCollection(TypeMirror type) {
        return type.getKind() == TypeKind.DECLARED
                && COLLECTIONS.containsKey(((TypeElement) ((DeclaredType) type).asElement())
                        .getQualifiedName()
                        .toString());
    }

    private static String present(String expression, Element element) {
        return "CodecWrites.present(" + expression + ", "
                + Source.quote(element.getSimpleName().toString()) + ")";
    }

    private Shape array(ArrayType type, String as, Element element) {
        TypeMirror component = type.getComponentType();
        String full = TypeNames.of(type);
        if (component.getKind() == TypeKind.BYTE && as.isEmpty()) {
            return Shape.of(full, "writer.addBytes(@);", "CodecReads.bytes(reader)", false);
        }
        boolean isSet = as.equals("SET");
        Shape inner = of(component, isSet ? "" : as, element);
        int number = members.size();
        String each = component.getKind().isPrimitive() ? "element" : present("element", element);
        Source source = new Source();
        source.add("private static void write" + number + "(" + full + " value, ValueWriter writer, boolean table) {");
        if (isSet) {
            source.add("int start = CodecWrites.beginContainer(writer, Kind.SET);");
        } else {
            source.add("int outer = CodecWrites.beginVector(writer, value.length);");
        }
        source.add("for (" + inner.type() + " element : value) {", inner.write(each), "}");
        source.add(
                isSet ? "CodecWrites.endContainer(writer, start, false);" : "CodecWrites.end(writer, outer);",
                "}",
                "",
                "private static " + full + " read" + number + "(ValueReader reader) {",
                full + " values = " + newArray(full) + ";",
                "for (int index = 0; index < values.length; index++) {",
                "values[index] = " + inner.read() + ";",
                "}",
                "CodecReads.end(reader);",
                "return values;",
                "}");
        members.add(source.toString());
        return Shape.of(full, call("write", number), "read" + number + "(reader)", false);
    }

    /** {@code String[][]} as {@code new String[n][]}. */
    private static String newArray(String type) {
        int brackets = type.indexOf("[]");
        return "new " + type.substring(0, brackets) + "[CodecReads.elements(reader, false)]"
                + type.substring(brackets + 2);
    }

    private Shape collection(DeclaredType type, String name, String as, Element element) {
        if (type.getTypeArguments().isEmpty()) {
            throw invalid(element, type, "give it a type argument");
        }
        boolean isJavaSet = name.endsWith("Set");
        boolean isSet = isJavaSet || as.equals("SET");
        TypeMirror argument = type.getTypeArguments().get(0);
        Shape inner = of(argument, as.equals("SET") ? "" : as, element);
        if (isJavaSet) {
            checkEquality(argument, element, "elements of a set");
        }
        String full = TypeNames.of(type);
        String made = COLLECTIONS.get(name) + "<" + inner.type() + ">";
        boolean isUnique = isJavaSet && inner.isUnique();
        int number = members.size();
        Source source = new Source()
                .add(
                        "private static void write" + number + "(" + full
                                + " value, ValueWriter writer, boolean table) {",
                        "int start = CodecWrites.beginContainer(writer, Kind." + (isSet ? "SET" : "VECTOR") + ");",
                        "for (" + inner.type() + " element : value) {",
                        inner.write(present("element", element)),
                        "}",
                        "CodecWrites.endContainer(writer, start, " + (!isSet || isUnique) + ");",
                        "}",
                        "",
                        "private static " + full + " read" + number + "(ValueReader reader) {",
                        "int start = reader.position();",
                        "int left = CodecReads.elements(reader, " + isUnique + ");");
        if (isJavaSet) {
            source.add(
                    made + " values = new " + made + "();",
                    "for (; left > 0; left--) {",
                    "CodecReads.unique(reader, start, values.add(" + inner.read() + "));",
                    "}");
        } else {
            source.add(
                    made + " values = CodecReads.list(left);",
                    "for (; left > 0; left--) {",
                    "values.add(" + inner.read() + ");",
                    "}");
        }
        members.add(source.add("CodecReads.end(reader);", "return values;", "}").toString());
        return Shape.of(full, call("write", number), "read" + number + "(reader)", false);
    }

    private Shape map(DeclaredType type, String name, String as, Element element) {
        if (type.getTypeArguments().isEmpty()) {
            throw invalid(element, type, "give it type arguments");
        }
        if (!as.isEmpty()) {
            throw invalid(element, type, "a map can't be written as Kind." + as + "; remove it");
        }
        Shape key = of(type.getTypeArguments().get(0), "", element);
        Shape value = of(type.getTypeArguments().get(1), "", element);
        checkEquality(type.getTypeArguments().get(0), element, "keys of a map");
        String full = TypeNames.of(type);
        String arguments = "<" + key.type() + ", " + value.type() + ">";
        String made = COLLECTIONS.get(name) + arguments;
        int number = members.size();
        members.add(new Source()
                .add(
                        "private static void write" + number + "(" + full
                                + " value, ValueWriter writer, boolean table) {",
                        "int start = CodecWrites.beginContainer(writer, Kind.TABLE);",
                        "for (java.util.Map.Entry" + arguments + " entry : value.entrySet()) {",
                        key.write(present("entry.getKey()", element)),
                        value.write(present("entry.getValue()", element)),
                        "}",
                        "CodecWrites.endContainer(writer, start, " + key.isUnique() + ");",
                        "}",
                        "",
                        "private static " + full + " read" + number + "(ValueReader reader) {",
                        "int start = reader.position();",
                        "int left = CodecReads.pairs(reader, " + key.isUnique() + ");",
                        made + " values = new " + made + "();",
                        "for (; left > 0; left--) {",
                        key.type() + " key = " + key.read() + ";",
                        "CodecReads.unique(reader, start, values.put(key, " + value.read() + ") == null);",
                        "}",
                        "CodecReads.end(reader);",
                        "return values;",
                        "}")
                .toString());
        return Shape.of(full, call("write", number), "read" + number + "(reader)", false);
    }

    private void checkEquality(TypeMirror type, Element element, String role) {
        if (type.getKind() == TypeKind.ARRAY) {
            throw invalid(element, type, role + " need equality, which arrays don't have; use a list or a string");
        }
    }

    /** The shape of a field that names a codec. */
    Shape with(TypeMirror type, TypeMirror codec) {
        String name = "CODEC_" + members.size();
        String made = TypeNames.of(codec);
        members.add("private static final " + made + " " + name + " = new " + made + "();");
        return Shape.of(TypeNames.of(type), name + ".write(@, writer);", name + ".read(reader)", false);
    }
}
