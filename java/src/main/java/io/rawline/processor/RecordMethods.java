package io.rawline.processor;

import java.util.List;
import java.util.stream.Collectors;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.TypeElement;

/** The methods that write and read a record or a class. */
final class RecordMethods {
    /** Number of fields whose presence a word holds. */
    private static final int WORD_BITS = 64;

    private final String name;
    private final boolean isRecord;
    private final List<Field> all;
    /** Those that are written and read. */
    private final List<Field> fields;

    RecordMethods(TypeElement type, List<Field> all) {
        name = type.getQualifiedName().toString();
        isRecord = type.getKind() == ElementKind.RECORD;
        this.all = all;
        fields = all.stream().filter(field -> !field.isSkipped()).toList();
    }

    void add(Source out) {
        String names = fields.stream().map(field -> Source.quote(field.name())).collect(Collectors.joining(", "));
        out.add(
                "private static final Fields FIELDS = Fields.of(" + names + ");",
                "",
                CodecSource.put(name),
                "if (table) {",
                "putTable(value, writer);",
                "} else {",
                "putVector(value, writer);",
                "}",
                "}",
                "");
        writeTable(out);
        out.add("");
        writeVector(out);
        out.add("");
        read(out);
    }

    /** A field's content, which must not be null. */
    static String present(Field field) {
        return "CodecWrites.present(" + field.access() + ", " + Source.quote(field.name()) + ")";
    }

    /** Puts content that isn't primitive into variables, so that an accessor is called once. */
    private void variables(Source out) {
        for (int number = 0; number < fields.size(); number++) {
            Field field = fields.get(number);
            if (!field.isPrimitive()) {
                String content = field.isOptional() ? field.access() : present(field);
                out.add(TypeNames.of(field.type()) + " " + local(number) + " = " + content + ";");
            }
        }
    }

    private static String local(int number) {
        return "field" + number;
    }

    /** How a field is written that may be absent; null if it can't be. */
    private static Shape.Empty absence(Field field, int number) {
        Shape.Empty empty = field.shape().empty();
        String local = local(number);
        if (empty != null) {
            String test = empty.isPresent().replace("@", local);
            return new Shape.Empty(
                    field.isOptional() ? local + " != null && " + test : test,
                    empty.content().replace("@", local),
                    empty.none(),
                    empty.inner());
        }
        return field.isOptional() && !field.isPrimitive()
                ? new Shape.Empty(local + " != null", local, "null", field.shape())
                : null;
    }

    private String content(Field field, int number) {
        return field.isPrimitive() ? field.access() : local(number);
    }

    private void writeTable(Source out) {
        out.add("private static void putTable(" + name + " value, ValueWriter writer) {", "boolean table = true;");
        variables(out);
        out.add("int present = " + fields.size() + ";");
        for (int number = 0; number < fields.size(); number++) {
            Shape.Empty absence = absence(fields.get(number), number);
            if (absence != null) {
                out.add(
                        "boolean has" + number + " = " + absence.isPresent() + ";",
                        "if (!has" + number + ") {",
                        "present--;",
                        "}");
            }
        }
        out.add("int outer = CodecWrites.beginTable(writer, present);");
        for (int number = 0; number < fields.size(); number++) {
            Field field = fields.get(number);
            Shape.Empty absence = absence(field, number);
            if (absence == null) {
                writePair(out, field, number, field.shape(), content(field, number));
            } else {
                out.add("if (has" + number + ") {");
                writePair(out, field, number, absence.inner(), absence.content());
                out.add("}");
            }
        }
        out.add("CodecWrites.end(writer, outer);", "}");
    }

    private static void writePair(Source out, Field field, int number, Shape shape, String content) {
        Shape.Head head = shape.head();
        Key key = Key.of(field.name());
        Key whole = head != null && head.tag() >= 0 ? key.with(head.tag()) : key;
        if (!whole.fitsWords()) {
            out.add("writer.key(FIELDS.get(" + number + "));", shape.write(content));
        } else if (head == null) {
            out.add("CodecWrites.head(writer, " + key.written() + ");", shape.write(content));
        } else {
            out.add("CodecWrites." + head.method() + "(writer, " + whole.written() + ", "
                    + head.argument().replace("@", content) + ");");
        }
    }

    private void writeVector(Source out) {
        out.add("private static void putVector(" + name + " value, ValueWriter writer) {", "boolean table = false;");
        variables(out);
        out.add("int outer = CodecWrites.beginVector(writer, " + fields.size() + ");");
        for (int number = 0; number < fields.size(); number++) {
            Field field = fields.get(number);
            Shape.Empty absence = absence(field, number);
            if (absence == null) {
                out.add(field.shape().write(content(field, number)));
            } else {
                out.add(
                        "if (" + absence.isPresent() + ") {",
                        absence.inner().write(absence.content()),
                        "} else {",
                        "writer.addNone();",
                        "}");
            }
        }
        out.add("CodecWrites.end(writer, outer);", "}");
    }

    private void read(Source out) {
        out.add(CodecSource.take(name), "int start = reader.position();");
        locals(out);
        for (int word = 0; word < words(); word++) {
            out.add("long seen" + word + " = 0;");
        }
        out.add(
                "try {",
                "int found = CodecReads.begin(reader);",
                "boolean table = found >= 0;",
                "int left = table ? found : ~found;");
        if (fields.size() <= WORD_BITS) {
            for (int number = 0; number < fields.size(); number++) {
                readInOrder(out, number);
            }
            out.add("if (!table) {", "CodecReads.skip(reader, left);", "left = 0;", "}");
            out.add("for (; left > 0; left--) {", "switch (reader.field(FIELDS)) {");
        } else {
            // The method would be too large for the JIT compiler if it had a part for each field in order, too.
            out.add("for (int next = 0; left > 0; left--, next++) {", "switch (table ? reader.field(FIELDS) : next) {");
        }
        for (int number = 0; number < fields.size(); number++) {
            String seen = "seen" + number / WORD_BITS;
            out.add(
                    "case " + number + " -> {",
                    seen + " = CodecReads.once(reader, " + seen + ", " + bit(number) + ");",
                    take(number),
                    "}");
        }
        out.add(
                "default -> reader.skip();",
                "}",
                "}",
                "CodecReads.end(reader);",
                "} catch (ValueException error) {",
                "throw CodecReads.within(error, reader, start, FIELDS);",
                "}");
        absent(out);
        construct(out);
        out.add("}");
    }

    private int words() {
        return (fields.size() + WORD_BITS - 1) / WORD_BITS;
    }

    private static String bit(int number) {
        return String.format("0x%xL", 1L << number);
    }

    /** Where a field is kept until the object is made: a class's own field, or a variable. */
    private String place(int number) {
        return isRecord ? local(number) : fields.get(number).access();
    }

    private void locals(Source out) {
        if (!isRecord) {
            out.add(name + " value = new " + name + "();");
            return;
        }
        for (int number = 0; number < fields.size(); number++) {
            Field field = fields.get(number);
            Shape.Empty empty = field.shape().empty();
            String none = empty == null || field.isOptional() ? zero(field) : empty.none();
            out.add(TypeNames.of(field.type()) + " " + local(number) + " = " + none + ";");
        }
    }

    private static String zero(Field field) {
        return switch (field.type().getKind()) {
            case BOOLEAN -> "false";
            case BYTE, SHORT, INT, LONG, CHAR, FLOAT, DOUBLE -> "0";
            default -> "null";
        };
    }

    private void readInOrder(Source out, int number) {
        Key key = Key.of(fields.get(number).name());
        String argument = key.fitsWords() ? key.compared() : "FIELDS.get(" + number + ")";
        out.add(
                "if (left > 0 && (!table || CodecReads.key(reader, " + argument + "))) {",
                "left--;",
                "seen0 |= " + bit(number) + ";",
                take(number),
                "}");
    }

    /** A statement that reads a field. */
    private String take(int number) {
        Field field = fields.get(number);
        Shape.Empty empty = field.shape().empty();
        String read = field.shape().read();
        if (empty == null && field.isOptional()) {
            read = "reader.isNone() ? " + zero(field) + " : " + read;
        } else if (empty == null && !field.orElse().isEmpty()) {
            read = "reader.isNone() ? " + field.orElse() + " : " + read;
        }
        return place(number) + " = " + read + ";";
    }

    private void absent(Source out) {
        for (int word = 0; word < words(); word++) {
            long required = 0;
            for (int number = word * WORD_BITS; number < Math.min(fields.size(), (word + 1) * WORD_BITS); number++) {
                required |= fields.get(number).isRequired() ? 1L << number : 0;
            }
            if (required != 0) {
                String mask = String.format("0x%xL", required);
                out.add(
                        "if ((seen" + word + " & " + mask + ") != " + mask + ") {",
                        "throw CodecReads.missing(reader, start, ~seen" + word + " & " + mask + ", " + word * WORD_BITS
                                + ", FIELDS);",
                        "}");
            }
        }
        for (int number = 0; number < fields.size(); number++) {
            if (!fields.get(number).orElse().isEmpty()) {
                out.add(
                        "if ((seen" + number / WORD_BITS + " & " + bit(number) + ") == 0) {",
                        place(number) + " = " + fields.get(number).orElse() + ";",
                        "}");
            }
        }
    }

    private void construct(Source out) {
        if (!isRecord) {
            all.stream()
                    .filter(field -> field.isSkipped() && !field.orElse().isEmpty())
                    .forEach(field -> out.add(field.access() + " = " + field.orElse() + ";"));
            out.add("return value;");
            return;
        }
        String arguments = all.stream()
                .map(field -> field.isSkipped() ? skipped(field) : local(fields.indexOf(field)))
                .collect(Collectors.joining(", "));
        out.add("return new " + name + "(" + arguments + ");");
    }

    private static String skipped(Field field) {
        if (!field.orElse().isEmpty()) {
            return field.orElse();
        }
        return "(" + TypeNames.of(field.type()) + ") " + zero(field);
    }
}
