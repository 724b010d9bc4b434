package io.rawline.processor;

import java.io.IOException;
import java.io.Writer;
import java.util.Set;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;
import javax.tools.Diagnostic;

/** Generates a codec for each type that is annotated with {@code GenerateCodec}. */
public final class CodecProcessor extends AbstractProcessor {
    /** For the compiler. */
    public CodecProcessor() {}

    @Override
    public Set<String> getSupportedAnnotationTypes() {
        return Set.of(Annotations.GENERATE);
    }

    @Override
    public SourceVersion getSupportedSourceVersion() {
        return SourceVersion.latest();
    }

    @Override
    public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
        for (TypeElement annotation : annotations) {
            for (Element element : round.getElementsAnnotatedWith(annotation)) {
                generate((TypeElement) element);
            }
        }
        return false;
    }

    private void generate(TypeElement type) {
        try {
            CodecSource source = new CodecSource(processingEnv, type);
            String text = source.text();
            try (Writer out = processingEnv
                    .getFiler()
                    .createSourceFile(source.qualifiedName(), type)
                    .openWriter()) {
                out.write(text);
            }
        } catch (InvalidTypeException error) {
            report(error.getMessage(), error.element());
        } catch (IOException error) {
            report("can't write the codec: " + error.getMessage(), type);
        }
    }

    private void report(String message, Element element) {
        processingEnv.getMessager().printMessage(Diagnostic.Kind.ERROR, message, element);
    }
}
