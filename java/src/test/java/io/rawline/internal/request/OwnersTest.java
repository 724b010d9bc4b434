package io.rawline.internal.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.rawline.batch.Limits;
import io.rawline.error.AnswerException;
import io.rawline.error.ConnectionBrokenException;
import io.rawline.error.RawlineException;
import io.rawline.error.RefusedException;
import io.rawline.error.RequestTimeoutException;
import io.rawline.error.StoppedException;
import io.rawline.error.TlsException;
import io.rawline.error.UnreachableException;
import io.rawline.internal.http.Http;
import io.rawline.internal.http.HttpConfig;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Which owners of topics' journals are known, and for how long; without connections. */
class OwnersTest {
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final String OWNER = "http://10.0.0.7:51313";

    private final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 5);

    private Endpoint configured(String urls) {
        Http http = new Http(new HttpConfig(urls, null, null, PATIENT, PATIENT, 64, null));
        return new Endpoint(urls, http, new Responses(http, Limits.DEFAULT, 1 << 20));
    }

    private Owners owners(Endpoint configured) {
        return new Owners(configured, nowNs::get);
    }

    private static RawlineException refused(int status, String code) {
        return new RefusedException(status, code, "x", null);
    }

    @Test
    void theOwnerOfEachTopicIsTheOneNamedLast() {
        Endpoint configured = configured("http://a:1,http://b:1");
        Owners owners = owners(configured);
        assertSame(configured, owners.of("t"));
        owners.learn("t", OWNER);
        Endpoint owner = owners.of("t");
        assertEquals(OWNER, owner.url());
        owners.learn("t", OWNER);
        assertSame(owner, owners.of("t"));
        assertSame(configured, owners.of("u"));
        owners.learn("u", OWNER);
        assertSame(owner, owners.of("u"));
        owners.learn("t", "http://c:1");
        assertEquals("http://c:1", owners.of("t").url());
        // The one in use, however it is written; not the other one.
        owners.learn("t", "http://A:1/");
        assertSame(configured, owners.of("t"));
        owners.learn("t", "http://b:1");
        assertEquals("http://b:1", owners.of("t").url());
        owners.close();
        assertSame(configured, owners.of("u"));
        owners.learn("u", OWNER);
        assertSame(configured, owners.of("u"));
    }

    @Test
    void onlyUrlsOfTheSameSchemeAreFollowed() {
        for (String ours : List.of("http://a:1", "https://a:1", "http://a:1,https://b:1")) {
            Endpoint configured = configured(ours);
            for (String scheme : List.of("http", "https", "HTTPS")) {
                Owners owners = owners(configured);
                owners.learn("t", scheme + "://10.0.0.7:51313");
                boolean follows = !ours.contains(",") && ours.startsWith(scheme.toLowerCase() + ":");
                assertEquals(follows, owners.of("t") != configured, ours + " to " + scheme);
            }
        }
        Owners owners = owners(configured("http://a:1"));
        for (String wrong : List.of("", "c:1", "ftp://c:1", "http://c:1,http://d:1", "http://c:1?x", "http://u@c:1")) {
            owners.learn("t", OWNER);
            owners.learn("t", wrong);
            assertEquals("http://a:1", owners.of("t").url(), wrong);
        }
    }

    @Test
    void anOwnerThatCannotBeConnectedToIsAvoidedForAllTopicsForAWhile() {
        Endpoint configured = configured("http://a:1");
        for (RawlineException error : List.of(new UnreachableException("x", null), new TlsException("x", null))) {
            Owners owners = owners(configured);
            owners.learn("t", OWNER);
            owners.learn("u", OWNER);
            owners.learn("v", "http://c:1");
            owners.failed("t", owners.of("t"), error);
            for (String topic : List.of("t", "u")) {
                assertSame(configured, owners.of(topic));
                owners.learn(topic, OWNER);
                assertSame(configured, owners.of(topic));
            }
            assertEquals("http://c:1", owners.of("v").url());
            nowNs.addAndGet(Owners.AVOIDED_NS - 1);
            owners.learn("t", OWNER);
            assertSame(configured, owners.of("t"));
            nowNs.addAndGet(1);
            owners.learn("t", OWNER);
            assertEquals(OWNER, owners.of("t").url());
        }
    }

    @Test
    void anOwnerIsForgottenAfterAFailureThatAnotherBrokerMightNotHave() {
        Endpoint configured = configured("http://a:1");
        Owners owners = owners(configured);
        for (RawlineException error : List.of(
                new ConnectionBrokenException("x", null),
                new RequestTimeoutException("x", null),
                refused(503, "overloaded"),
                refused(500, "internal"))) {
            owners.learn("t", OWNER);
            owners.learn("u", OWNER);
            Endpoint owner = owners.of("t");
            owners.failed("t", owner, error);
            assertSame(configured, owners.of("t"), error.getMessage());
            assertSame(owner, owners.of("u"), error.getMessage());
            // The failure of an earlier owner changes nothing.
            owners.learn("t", "http://c:1");
            owners.failed("t", owner, error);
            assertEquals("http://c:1", owners.of("t").url());
        }
        for (RawlineException error :
                List.of(new StoppedException("x", null), refused(400, "bad_request"), refused(408, "sequence_gap"))) {
            owners.learn("t", OWNER);
            owners.failed("t", owners.of("t"), error);
            assertEquals(OWNER, owners.of("t").url(), error.getMessage());
        }
    }

    @Test
    void aUrlThatLeadsToSomethingElseIsAvoided() {
        for (RawlineException error :
                List.of(new AnswerException("x", null), refused(404, "status_404"), refused(502, "status_502"))) {
            Endpoint configured = configured("http://a:1");
            Owners owners = owners(configured);
            owners.learn("t", OWNER);
            owners.failed("t", owners.of("t"), error);
            owners.learn("t", OWNER);
            assertSame(configured, owners.of("t"), error.getMessage());
        }
    }

    @Test
    void whatIsKnownIsBounded() {
        Owners owners = owners(configured("http://a:1"));
        for (int i = 0; i <= Owners.TOPICS_MAX; i++) {
            owners.learn("t" + i, OWNER);
        }
        assertEquals("http://a:1", owners.of("t0").url());
        assertEquals(OWNER, owners.of("t" + Owners.TOPICS_MAX).url());
        Endpoint first = owners.of("t" + Owners.TOPICS_MAX);
        for (int i = 0; i < Owners.OWNERS_MAX; i++) {
            owners.learn("u" + i, "http://owner-" + i + ":1");
        }
        assertEquals("http://a:1", owners.of("t" + Owners.TOPICS_MAX).url());
        assertEquals("http://a:1", owners.of("u0").url());
        assertEquals(
                "http://owner-" + (Owners.OWNERS_MAX - 1) + ":1",
                owners.of("u" + (Owners.OWNERS_MAX - 1)).url());
        owners.learn("t", OWNER);
        assertNotSame(first, owners.of("t"));
    }
}
