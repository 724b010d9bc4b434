package io.rawline.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.protocol.ApiKeys;

/** One entry of calls.yaml: a request, and in which fields the two brokers' responses are known to differ. */
record Call(String name, ApiKeys api, JsonNode entry, List<Difference> differences) {
    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

    /** A field, or with {@code *} and {@code **} several; each broker's value, and why both are right. */
    record Difference(String at, String kafka, String rawline, String because) {
        /** The value of a field that a response doesn't have. */
        static final String ABSENT = "absent";

        boolean explains(Difference found) {
            return path().matcher(found.at).matches()
                    && ("*".equals(kafka) || kafka.equals(found.kafka))
                    && ("*".equals(rawline) || rawline.equals(found.rawline));
        }

        private Pattern path() {
            var parts = Stream.of(at.split("(?<=[*])(?![*])|(?<![*])(?=[*])"));
            var expression = parts.map(part -> switch (part) {
                case "**" -> ".*";
                case "*" -> "[^/]*";
                default -> Pattern.quote(part);
            });
            return Pattern.compile(expression.collect(Collectors.joining()));
        }

        @Override
        public String toString() {
            return "{at: " + at + ", kafka: '" + kafka + "', rawline: '" + rawline + "'}";
        }
    }

    /** The differences that any call may have: those of the file's first entry. */
    static List<Difference> anywhere() throws IOException {
        return differences(entries().get(0));
    }

    static List<Call> all() throws IOException {
        var calls = new ArrayList<Call>();
        for (var entry : entries().subList(1, entries().size())) {
            calls.add(new Call(text(entry, "call"), ApiKeys.valueOf(text(entry, "api")), entry, differences(entry)));
        }
        return calls;
    }

    private static List<JsonNode> entries() throws IOException {
        try (var file = Call.class.getResourceAsStream("/calls.yaml")) {
            var entries = new ArrayList<JsonNode>();
            YAML.readTree(file).forEach(entries::add);
            return entries;
        }
    }

    private static List<Difference> differences(JsonNode entry) {
        var differences = new ArrayList<Difference>();
        for (var one : entry.path("differences")) {
            var because = text(one, "because");
            differences.add(new Difference(text(one, "at"), text(one, "kafka"), text(one, "rawline"), because));
        }
        return differences;
    }

    /** Of the versions that both brokers have: all, or those that the entry names. */
    List<Short> versions(short first, short last) {
        var asked = entry.path("versions").asText(first + "-" + last);
        if (asked.equals("last")) {
            return List.of(last);
        }
        var ends = asked.split("-");
        var versions = new ArrayList<Short>();
        for (int version = Integer.parseInt(ends[0]); version <= Integer.parseInt(ends[ends.length - 1]); version++) {
            versions.add((short) version);
        }
        return versions;
    }

    /** The request's fields, with what earlier responses of the same broker said. */
    JsonNode request(short version, Map<String, JsonNode> saved) throws IOException {
        var text = entry.path("request").toString().replace("$version", String.valueOf(version));
        for (var variable : saved.entrySet()) {
            text = text.replace(
                    "\"$" + variable.getKey() + "\"", variable.getValue().toString());
        }
        return YAML.readTree(text);
    }

    /** The version of the response's body. */
    short answered(short version) {
        return (short) entry.path("answered-as").asInt(version);
    }

    static List<Difference> between(Map<String, String> kafka, Map<String, String> rawline) {
        var paths = new TreeSet<>(kafka.keySet());
        paths.addAll(rawline.keySet());
        var found = new ArrayList<Difference>();
        for (var path : paths) {
            var theirs = kafka.getOrDefault(path, Difference.ABSENT);
            var ours = rawline.getOrDefault(path, Difference.ABSENT);
            if (!theirs.equals(ours)) {
                found.add(new Difference(path, theirs, ours, ""));
            }
        }
        return found;
    }

    private static String text(JsonNode node, String field) {
        if (!node.hasNonNull(field)) {
            throw new IllegalArgumentException("calls.yaml: no \"" + field + "\" in " + node);
        }
        return node.get(field).asText();
    }
}
