package io.rawline.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.rawline.interop.Call.Difference;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.protocol.ApiKeys;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The same requests to Rawline and to a real Kafka, in each version that both have, and their responses compared. A
 * difference that calls.yaml doesn't list fails, and so does one that it lists and that doesn't occur.
 */
class OracleTest {
    /** Requests that change nothing are repeated: Kafka's brokers learn a little later what its controller has done. */
    private static final Set<ApiKeys> READS = Set.of(
            ApiKeys.METADATA,
            ApiKeys.DESCRIBE_TOPIC_PARTITIONS,
            ApiKeys.DESCRIBE_CONFIGS,
            ApiKeys.DESCRIBE_GROUPS,
            ApiKeys.CONSUMER_GROUP_DESCRIBE,
            ApiKeys.LIST_GROUPS,
            ApiKeys.FIND_COORDINATOR,
            ApiKeys.LIST_TRANSACTIONS,
            ApiKeys.DESCRIBE_TRANSACTIONS,
            ApiKeys.DESCRIBE_PRODUCERS,
            ApiKeys.LIST_OFFSETS);

    /** The error codes of a coordinator that is starting, and of one that is still ending a transaction. */
    private static final Set<String> LATER = Set.of("14", "15", "16", "51");

    private static final int TRIES = 20;
    private static final int PAUSE_MS = 50;

    private static List<Difference> anywhere;
    /** Those of them that have not occurred. */
    private static Set<Difference> missing;

    private static RealKafka kafka;
    private static Broker theirs;
    private static Broker ours;

    /** A broker, its versions, and what calls have saved of its responses. */
    private static final class Broker {
        private final String address;
        private final Map<ApiKeys, ApiVersion> versions = new HashMap<>();
        private final Map<String, JsonNode> saved = new HashMap<>();
        private Wire wire;

        Broker(String address) throws IOException {
            this.address = address;
            wire = new Wire(address);
            var request = new ApiVersionsRequestData()
                    .setClientSoftwareName("interop")
                    .setClientSoftwareVersion("1");
            var response = (ApiVersionsResponseData) wire.ask(ApiKeys.API_VERSIONS, (short) 4, request);
            response.apiKeys().stream()
                    .filter(one -> ApiKeys.hasId(one.apiKey()))
                    .forEach(one -> versions.put(ApiKeys.forId(one.apiKey()), one));
        }

        /** The response's fields; a closed connection is a response too. */
        Map<String, String> ask(Call call, short version) throws IOException {
            var request = Requests.request(call.api(), call.request(version, saved));
            try {
                var bytes = wire.exchange(call.api(), version, request);
                var response = wire.parse(call.api(), call.answered(version), bytes);
                var json = Responses.json(call.api(), response, call.answered(version));
                call.entry().path("save").properties().forEach(variable -> {
                    var value = json.at(variable.getValue().asText());
                    saved.put(variable.getKey(), value.isMissingNode() ? new TextNode("") : value);
                });
                return Responses.fields(json);
            } catch (EOFException | SocketException closed) {
                wire.close();
                wire = new Wire(address);
                return Map.of("", "connection closed");
            }
        }
    }

    @BeforeAll
    static void start(@TempDir Path folder) throws IOException {
        anywhere = Call.anywhere();
        missing = new LinkedHashSet<>(anywhere);
        kafka = RealKafka.start(folder);
        theirs = new Broker(kafka.address());
        ours = new Broker(System.getenv("RAWLINE_KAFKA_COMPARED"));
    }

    @AfterAll
    static void stop() throws IOException {
        theirs.wire.close();
        ours.wire.close();
        kafka.close();
    }

    @Test
    void responsesAreKafkas() throws Exception {
        var wrong = new ArrayList<String>();
        for (var call : Call.all()) {
            wrong.addAll(compare(call));
        }
        missing.forEach(listed -> wrong.add("anywhere, listed and doesn't occur: " + listed));
        assertEquals("", String.join("\n", wrong), "differences");
    }

    /** Versions that Kafka doesn't have, or whose requests it would understand differently. */
    @Test
    void versionsAreKafkas() {
        ours.versions.forEach((api, own) -> {
            var known = theirs.versions.get(api);
            if (api == ApiKeys.TXN_OFFSET_COMMIT) {
                // Only those of clients whose transactions can't mix.
                assertEquals(known.maxVersion(), own.minVersion(), api.toString());
                return;
            }
            assertEquals(known.minVersion(), own.minVersion(), () -> api + ": " + own + " instead of " + known);
            assertTrue(own.maxVersion() <= known.maxVersion(), () -> api + ": " + own + " instead of " + known);
        });
    }

    /** The differences of a call, in lines that can be copied to calls.yaml. */
    private static List<String> compare(Call call) throws Exception {
        var kafkas = theirs.versions.get(call.api());
        var rawlines = ours.versions.get(call.api());
        short first = (short) Math.max(kafkas.minVersion(), rawlines.minVersion());
        short last = (short) Math.min(kafkas.maxVersion(), rawlines.maxVersion());
        var unlisted = new LinkedHashMap<Difference, List<Short>>();
        var gone = new LinkedHashSet<>(call.differences());
        int asked = 0;
        for (short version : call.versions(first, last)) {
            try {
                for (var found : differences(call, version)) {
                    var listed = listed(call, found);
                    gone.removeAll(listed);
                    missing.removeAll(listed);
                    if (listed.isEmpty()) {
                        unlisted.computeIfAbsent(found, any -> new ArrayList<>())
                                .add(version);
                    }
                }
                asked++;
            } catch (UnsupportedVersionException error) {
                // The version's request can't say what this call asks for.
                continue;
            }
        }
        assertTrue(asked > 0, () -> "no version has the request of: " + call.name());
        var wrong = new ArrayList<String>();
        unlisted.forEach(
                (found, versions) -> wrong.add(call.name() + ", versions " + versions + ", not listed: " + found));
        gone.forEach(listed -> wrong.add(call.name() + ", listed and doesn't occur: " + listed));
        return wrong;
    }

    private static List<Difference> listed(Call call, Difference found) {
        var all = Stream.concat(call.differences().stream(), anywhere.stream());
        return all.filter(one -> one.explains(found)).toList();
    }

    private static List<Difference> differences(Call call, short version) throws Exception {
        for (int tries = TRIES; ; tries--) {
            var kafkas = theirs.ask(call, version);
            if (LATER.contains(kafkas.getOrDefault("/errorCode", "")) && tries > 1) {
                // Rawline isn't asked yet: it would do twice what Kafka does once.
                Thread.sleep(PAUSE_MS);
                continue;
            }
            var found = Call.between(kafkas, ours.ask(call, version));
            boolean isListed = found.stream().noneMatch(one -> listed(call, one).isEmpty());
            if (isListed || !READS.contains(call.api()) || tries == 1) {
                return found;
            }
            Thread.sleep(PAUSE_MS);
        }
    }
}
