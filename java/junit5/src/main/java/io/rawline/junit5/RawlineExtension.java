package io.rawline.junit5;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Gives tests a {@link RawlineBroker}; {@link RawlineTest} says which one. */
public final class RawlineExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(RawlineExtension.class);

    /** Created by JUnit. */
    public RawlineExtension() {}

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == RawlineBroker.class;
    }

    @Override
    public RawlineBroker resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Settings settings = Settings.of(context);
        // A store also looks into those of the contexts around it: a test finds the broker of its class.
        return context(context, settings.scope())
                .getStore(NAMESPACE)
                .getOrComputeIfAbsent(settings, Running::start, Running.class)
                .broker();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Settings settings = Settings.of(context);
        Running running = context(context, settings.scope()).getStore(NAMESPACE).get(settings, Running.class);
        if (running != null && !running.broker().isStopped()) {
            running.broker().check();
        }
    }

    private static ExtensionContext context(ExtensionContext context, Scope scope) {
        return switch (scope) {
            case TEST -> context;
            case CLASS -> outermostClass(context);
            case SESSION -> context.getRoot();
        };
    }

    private static ExtensionContext outermostClass(ExtensionContext context) {
        ExtensionContext found = context;
        for (Optional<ExtensionContext> at = Optional.of(context);
                at.isPresent();
                at = at.get().getParent()) {
            if (at.get().getTestClass().isPresent()) {
                found = at.get();
            }
        }
        return found;
    }

    /** What {@link RawlineTest} says. Brokers of equal settings can be shared. */
    private record Settings(Scope scope, String storage, List<String> flags) {
        private static Settings of(ExtensionContext context) {
            return found(context)
                    .map(found -> new Settings(found.scope(), found.storage(), Arrays.asList(found.flags())))
                    .orElse(new Settings(Scope.TEST, RawlineBroker.MEMORY, List.of()));
        }

        /** Of the method, its class, or the classes around that. */
        private static Optional<RawlineTest> found(ExtensionContext context) {
            Optional<RawlineTest> found = AnnotationSupport.findAnnotation(context.getElement(), RawlineTest.class);
            return found.or(() -> context.getParent().flatMap(Settings::found));
        }
    }

    /** A broker that ends with the context in whose store it is. */
    private record Running(RawlineBroker broker) implements CloseableResource {
        private static Running start(Settings settings) {
            return new Running(RawlineBroker.start(settings.storage(), settings.flags()));
        }

        @Override
        public void close() {
            broker.close();
        }
    }
}
