package io.rawline.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Crc32C;

/** Responses as flat lists of fields, without what differs from one run to the next. */
final class Responses {
    /** Text for humans, and how long a client should wait. */
    private static final List<String> IGNORED =
            List.of("throttleTimeMs", "errorMessage", "port", "_tag", "documentation");
    /** Names that a broker makes up. */
    private static final List<String> RANDOM =
            List.of("clusterId", "memberId", "leader", "topicId", "producerId", "logDir", "coordinatorEpoch");
    /** The key of a list's element, instead of its position. */
    private static final List<String> NAMES = List.of(
            "name", "topic", "topicName", "resourceName", "groupId", "partitionIndex", "partition", "index", "apiKey");
    /** Kafka stores the offsets of groups in a topic. */
    private static final String INTERNAL = "__consumer_offsets";

    private Responses() {}

    /** Kafka's own JSON of a response; of batches, their checksum. */
    static JsonNode json(ApiKeys api, ApiMessage response, short version) {
        try {
            var type = response.getClass();
            var converter = Class.forName(type.getName() + "JsonConverter");
            var write = converter.getMethod("write", type, short.class, boolean.class);
            var json = (JsonNode) write.invoke(null, response, version, false);
            if (response instanceof FetchResponseData fetched) {
                addChecksums(fetched, json);
            }
            return json;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(api.toString(), error);
        }
    }

    /** Path to value, of all fields that can be compared. */
    static Map<String, String> fields(JsonNode json) {
        var fields = new TreeMap<String, String>();
        add(fields, "", json);
        return fields;
    }

    private static void add(Map<String, String> fields, String path, JsonNode node) {
        if (node instanceof ObjectNode object) {
            object.properties().forEach(field -> {
                if (!IGNORED.contains(field.getKey())) {
                    var value = RANDOM.contains(field.getKey()) ? random(field.getValue()) : field.getValue();
                    add(fields, path + "/" + field.getKey(), value);
                }
            });
        } else if (node instanceof ArrayNode array) {
            fields.put(path + "/size", String.valueOf(visible(array).size()));
            int place = 0;
            for (var element : visible(array)) {
                add(fields, path + "/" + Objects.requireNonNullElse(name(element), String.valueOf(place)), element);
                place++;
            }
        } else {
            fields.put(path, node.toString());
        }
    }

    private static List<JsonNode> visible(ArrayNode array) {
        var elements = new java.util.ArrayList<JsonNode>();
        array.forEach(element -> {
            if (!INTERNAL.equals(name(element)) && !isOfOthers(element.path("groupId").asText())) {
                elements.add(element);
            }
        });
        return elements;
    }

    /** Other tests have groups in the same broker at the same time. */
    private static boolean isOfOthers(String group) {
        return !group.isEmpty() && !group.startsWith("oracle-");
    }

    private static String name(JsonNode element) {
        return NAMES.stream()
                .map(element::get)
                .filter(Objects::nonNull)
                .map(JsonNode::asText)
                .findFirst()
                .orElse(null);
    }

    /** Whether there is one. */
    private static JsonNode random(JsonNode value) {
        if (value.isContainerNode() || value.isNull()) {
            return value;
        }
        var none = List.of("", "-1", Uuid.ZERO_UUID.toString());
        return none.contains(value.asText()) ? value : new TextNode("its own");
    }

    private static void addChecksums(FetchResponseData fetched, JsonNode json) {
        for (int topic = 0; topic < fetched.responses().size(); topic++) {
            var partitions = fetched.responses().get(topic).partitions();
            for (int partition = 0; partition < partitions.size(); partition++) {
                if (partitions.get(partition).records() instanceof MemoryRecords records) {
                    var bytes = records.buffer().duplicate();
                    var node = json.at("/responses/" + topic + "/partitions/" + partition);
                    ((ObjectNode) node).put("recordsCrc", Crc32C.compute(bytes, 0, bytes.remaining()));
                }
            }
        }
    }
}
