package io.rawline.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** Which broker a test gets, and what a test reports whose broker ends or doesn't start. */
class RawlineExtensionTest {
    private static final Set<String> URLS = ConcurrentHashMap.newKeySet();

    /** Runs the tests of a class, which are not run otherwise. */
    private static Events run(Class<?>... classes) {
        URLS.clear();
        EngineTestKit.Builder builder = EngineTestKit.engine("junit-jupiter");
        for (Class<?> each : classes) {
            builder.selectors(selectClass(each));
        }
        return builder.execute().testEvents();
    }

    /** Brokers of tests. */
    @RawlineTest
    static class OwnBrokers {
        private RawlineBroker before;

        @BeforeEach
        void prepare(RawlineBroker broker) {
            before = broker;
        }

        @RepeatedTest(2)
        void eachTestHasItsOwn(RawlineBroker broker) throws Exception {
            assertSame(before, broker);
            assertEquals(List.of(), broker.client().topics());
            RawlineBrokerTest.append(broker, "x");
            URLS.add(broker.url());
        }
    }

    /** A broker of a class. */
    @RawlineTest(scope = Scope.CLASS)
    static class SharedByClass {
        private static RawlineBroker before;

        @BeforeAll
        static void prepare(RawlineBroker broker) {
            before = broker;
        }

        @RepeatedTest(2)
        void theClassHasOne(RawlineBroker broker) {
            assertSame(before, broker);
            URLS.add(broker.url());
        }

        @Test
        @RawlineTest(flags = "--no-create-topics")
        void aMethodCanHaveAnother(RawlineBroker broker) {
            assertNotSame(before, broker);
        }

        /** A class inside. */
        @Nested
        class Inner {
            @Test
            void nestedClassesShareIt(RawlineBroker broker) {
                assertSame(before, broker);
            }
        }
    }

    /** One of two classes with a broker. */
    @RawlineTest(scope = Scope.SESSION)
    static class First {
        @Test
        void hasTheSessions(RawlineBroker broker) {
            URLS.add(broker.url());
        }
    }

    /** The other one. */
    @RawlineTest(scope = Scope.SESSION)
    static class Second {
        @Test
        void hasTheSessions(RawlineBroker broker) {
            URLS.add(broker.url());
        }
    }

    /** Tests whose brokers end or do not start. */
    @RawlineTest
    static class Failing {
        @Test
        void endsItself(RawlineBroker broker) throws Exception {
            String pid = broker.log().isEmpty() ? "" : RawlineBrokerTest.pid(broker);
            new ProcessBuilder("kill", "-KILL", pid).start().waitFor();
            RawlineBrokerTest.waitUntil(
                    () -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
        }

        @Test
        void stopsIt(RawlineBroker broker) {
            broker.stop();
        }

        @Test
        @RawlineTest(flags = {"--memory", "1KiB"})
        void hasAWrongFlag(RawlineBroker broker) {}
    }

    @Test
    void testsShareWhatTheyAskFor() {
        run(OwnBrokers.class).assertStatistics(events -> events.succeeded(2).failed(0));
        assertEquals(2, URLS.size());
        run(SharedByClass.class).assertStatistics(events -> events.succeeded(4).failed(0));
        assertEquals(1, URLS.size());
        run(First.class, Second.class)
                .assertStatistics(events -> events.succeeded(2).failed(0));
        assertEquals(1, URLS.size());
    }

    @Test
    void thePageHasTheTestedExample() throws Exception {
        String page = Files.readString(Path.of("../../docs/testing.md"));
        assertTrue(
                page.contains("```java\n" + Files.readString(Path.of("src/test/java/orders/OrdersTest.java")) + "```"));
    }

    @Test
    void aBrokerThatEndsFailsItsTest() {
        Events events = run(Failing.class);
        events.assertStatistics(statistics -> statistics.succeeded(1).failed(2));
        Map<String, String> failures = events.failed().stream()
                .collect(Collectors.toMap(
                        event -> event.getTestDescriptor().getDisplayName(),
                        event -> event.getRequiredPayload(TestExecutionResult.class)
                                .getThrowable()
                                .orElseThrow()
                                .toString()));
        String ended = failures.get("endsItself(RawlineBroker)");
        assertTrue(ended.contains("the broker has ended (exit code 137)"), ended);
        assertTrue(ended.contains("rawline: listening on http://"), ended);
        String wrong = failures.get("hasAWrongFlag(RawlineBroker)");
        assertTrue(wrong.contains("--memory must be at least"), wrong);
        assertNotEquals(ended, wrong);
    }
}
