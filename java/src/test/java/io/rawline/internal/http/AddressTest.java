package io.rawline.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** How a broker's URL is parsed. */
class AddressTest {
    @Test
    void anAddressHasItsParts() {
        assertEquals(new Address("http://[::1]:7/", false, "::1", 7, "[::1]:7", ""), Address.parse("http://[::1]:7/"));
        assertEquals("/rawline", Address.parse("http://gate.example/rawline/").path());
        assertEquals("/%C3%BC", Address.parse("http://gate.example/ü").path());
        assertEquals(new Address("http://a_b:7", false, "a_b", 7, "a_b:7", ""), Address.parse("http://a_b:7"));
        assertEquals(443, Address.parse("https://a_b").port());
        assertEquals(80, Address.parse("http://gate.example").port());
        assertEquals(443, Address.parse("https://gate.example").port());
        assertEquals(
                "a%20b%26c%3Dd%2F%C3%BC-._~".toLowerCase(),
                Address.queryValue("a b&c=d/ü-._~").toLowerCase());
    }
}
