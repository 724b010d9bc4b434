package io.rawline.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** Requests from YAML: the fields that it names, and Kafka's defaults for all others. */
final class Requests {
    private Requests() {}

    static ApiMessage request(ApiKeys api, JsonNode fields) {
        var request = api.messageType.newRequest();
        fill(request, fields);
        return request;
    }

    private static void fill(Object message, JsonNode fields) {
        fields.properties().forEach(field -> set(message, field.getKey(), field.getValue()));
    }

    private static void set(Object message, String field, JsonNode value) {
        var name = "set" + field.substring(0, 1).toUpperCase(java.util.Locale.ROOT) + field.substring(1);
        Method setter = Arrays.stream(message.getClass().getMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(message.getClass() + " has no " + field));
        call(setter, message, value(setter.getGenericParameterTypes()[0], value));
    }

    private static Object value(Type type, JsonNode value) {
        if (value.isNull()) {
            return null;
        } else if (type == boolean.class) {
            return value.booleanValue();
        } else if (type == byte.class || type == Byte.class) {
            return (byte) value.intValue();
        } else if (type == short.class || type == Short.class) {
            return (short) value.intValue();
        } else if (type == int.class || type == Integer.class) {
            return value.intValue();
        } else if (type == long.class || type == Long.class) {
            return value.longValue();
        } else if (type == String.class) {
            return value.asText();
        } else if (type == byte[].class) {
            return value.isArray() ? subscription(value) : bytes(value.asText());
        } else if (type == Uuid.class) {
            return Uuid.fromString(value.asText());
        } else if (type == BaseRecords.class) {
            return records(value);
        } else if (type instanceof ParameterizedType list) {
            return collection(new ArrayList<>(), list.getActualTypeArguments()[0], value);
        } else if (type instanceof Class<?> one && Collection.class.isAssignableFrom(one)) {
            var element = ((ParameterizedType) one.getGenericSuperclass()).getActualTypeArguments()[0];
            return collection(instance(one), element, value);
        } else {
            var message = instance((Class<?>) type);
            fill(message, value);
            return message;
        }
    }

    private static Object collection(Object empty, Type element, JsonNode values) {
        @SuppressWarnings("unchecked")
        var collection = (Collection<Object>) empty;
        values.forEach(value -> collection.add(value(element, value)));
        return collection;
    }

    /** One batch, {@code {count, codec, producerId, producerEpoch, baseSequence, transactional, time, magic, flip}}. */
    private static MemoryRecords records(JsonNode batch) {
        long time = batch.path("time").asLong(1_700_000_000_000L);
        var records = IntStream.range(0, batch.path("count").asInt(1))
                .mapToObj(number -> new SimpleRecord(time + number, bytes("key " + number), bytes("value " + number)))
                .toArray(SimpleRecord[]::new);
        var made = MemoryRecords.withRecords(
                (byte) batch.path("magic").asInt(2),
                0,
                Compression.of(batch.path("codec").asText("none")).build(),
                TimestampType.CREATE_TIME,
                batch.path("producerId").asLong(-1),
                (short) batch.path("producerEpoch").asInt(-1),
                batch.path("baseSequence").asInt(-1),
                0,
                batch.path("transactional").asBoolean(false),
                records);
        // A byte that is wrong, at this position.
        if (batch.has("flip")) {
            int at = batch.path("flip").intValue();
            made.buffer().put(at, (byte) (made.buffer().get(at) ^ 1));
        }
        return made;
    }

    /** A consumer's metadata when it joins a group: its topics. Kafka's broker reads it. */
    private static byte[] subscription(JsonNode topics) {
        var names = new ArrayList<String>();
        topics.forEach(topic -> names.add(topic.asText()));
        var written = ConsumerProtocol.serializeSubscription(new Subscription(names));
        var bytes = new byte[written.remaining()];
        written.get(bytes);
        return bytes;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static Object instance(Class<?> type) {
        try {
            return type.getConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(type.toString(), error);
        }
    }

    private static void call(Method setter, Object message, Object value) {
        try {
            setter.invoke(message, value);
        } catch (IllegalAccessException | InvocationTargetException error) {
            throw new IllegalArgumentException(setter.toString(), error);
        }
    }
}
