package io.rawline.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import javax.annotation.processing.ProcessingEnvironment;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.TypeMirror;

/** The methods that write and read a sealed interface. */
final class SealedMethods {
    private final ProcessingEnvironment environment;
    private final TypeElement type;
    private final String name;

    /** An alternative: its class, its name in a value, and its codec, which one without content doesn't have. */
    private record Alternative(String type, String name, String codec) {}

    SealedMethods(ProcessingEnvironment environment, TypeElement type) {
        this.environment = environment;
        this.type = type;
        name = type.getQualifiedName().toString();
    }

    void add(Source out) {
        if (!type.getModifiers().contains(Modifier.SEALED)) {
            throw new InvalidTypeException(
                    type, "an interface needs to be sealed, so that its alternatives are known; add sealed");
        }
        List<Alternative> alternatives = alternatives();
        String names =
                alternatives.stream().map(found -> Source.quote(found.name())).collect(Collectors.joining(", "));
        out.add("private static final Variants NAMES = Variants.of(" + names + ");", "", CodecSource.put(name));
        for (int number = 0; number < alternatives.size(); number++) {
            Alternative found = alternatives.get(number);
            String test = "value instanceof " + found.type();
            out.add(
                    number == 0
                            ? "if (" + test + (found.codec() == null ? "" : " found0") + ") {"
                            : "} else if (" + test + (found.codec() == null ? "" : " found" + number) + ") {");
            if (found.codec() == null) {
                out.add("NAMES.write(writer, " + number + ");");
            } else {
                out.add(
                        "int outer = NAMES.begin(writer, " + number + ");",
                        found.codec() + ".put(found" + number + ", writer, table);",
                        "CodecWrites.end(writer, outer);");
            }
        }
        out.add(
                "} else {",
                "throw CodecWrites.unknown(value);",
                "}",
                "}",
                "",
                CodecSource.take(name),
                "int start = reader.position();",
                "int found = NAMES.read(reader);",
                name + " value = switch (found) {");
        for (int number = 0; number < alternatives.size(); number++) {
            Alternative found = alternatives.get(number);
            out.add(
                    found.codec() == null
                            ? "case " + (number << 1) + " -> new " + found.type() + "();"
                            : "case " + (number << 1 | 1) + " -> " + found.codec() + ".take(reader);");
        }
        out.add(
                "default -> throw NAMES.misfit(start, found);",
                "};",
                "NAMES.end(reader, found);",
                "return value;",
                "}");
    }

    private List<Alternative> alternatives() {
        String nameCase = Annotations.constant(type, Annotations.GENERATE, "names");
        List<Alternative> alternatives = new ArrayList<>();
        for (TypeMirror permitted : type.getPermittedSubclasses()) {
            TypeElement found = (TypeElement) ((DeclaredType) permitted).asElement();
            String given = Annotations.text(found, Annotations.GENERATE, "name");
            String own =
                    given.isEmpty() ? Names.in(nameCase, found.getSimpleName().toString()) : given;
            if (alternatives.stream().anyMatch(other -> other.name().equals(own))) {
                throw new InvalidTypeException(
                        found, "two alternatives have the name \"" + own + "\" in a value; rename one");
            }
            alternatives.add(new Alternative(found.getQualifiedName().toString(), own, codec(found)));
        }
        return alternatives;
    }

    private String codec(TypeElement found) {
        if (found.getKind() == ElementKind.RECORD && found.getRecordComponents().isEmpty()) {
            return null;
        }
        if (!Annotations.has(found, Annotations.GENERATE)) {
            throw new InvalidTypeException(
                    type,
                    "the alternative " + found.getQualifiedName() + " has no codec; annotate it with @GenerateCodec");
        }
        return CodecSource.codecOf(environment, found);
    }
}
