package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rawline.testkit.LogLines;
import java.io.IOException;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** The state of brokers at several addresses. */
class AddressesTest {
    private static Addresses parse(String urls, Addresses others) {
        return Addresses.parse(
                urls,
                others,
                address -> new Liveness(() -> Liveness.Answer.LIVES, Runnable::run, tick -> {}, System::nanoTime));
    }

    private static Liveness liveness(Addresses addresses, String url) {
        return addresses.liveness(Address.parse(url));
    }

    @Test
    void aBrokerInTwoListsIsSilentOnce() {
        Addresses given = parse("http://a:1,http://b:2", null);
        assertNotSame(liveness(given, "http://a:1"), liveness(given, "http://b:2"));
        Addresses owner = parse("http://B:2", given);
        assertSame(liveness(given, "http://b:2"), liveness(owner, "http://b:2"));
        Addresses other = parse("http://c:3", given);
        assertNotNull(liveness(other, "http://c:3"));
        assertNull(liveness(given, "http://c:3"));
    }

    @Test
    void aBrokerThatNoOtherCanReplaceIsNotAsked() {
        Addresses alone = parse("http://a:1", null);
        assertEquals("a", alone.first().host());
        assertNull(liveness(alone, "http://a:1"));
        assertNotNull(liveness(parse("http://a:1", alone), "http://a:1"));
    }

    @Test
    void aChangeOfTheBrokerIsLogged() throws Exception {
        Addresses addresses = parse("http://a:1,http://b:2", null);
        Addresses.Opener opener = (address, peer) -> {
            if (address.host().equals("a")) {
                throw new IOException("no route");
            }
            return null;
        };
        try (LogLines logged = new LogLines(Level.ALL)) {
            addresses.connect(opener);
            addresses.connect(opener);
            assertEquals(1, logged.lines().size());
            String line = logged.lines().get(0);
            assertTrue(line.endsWith("can't connect to http://a:1 (no route), continues at http://b:2"), line);
        }
    }
}
