/* Avro records of plain objects and back, and how an application reads the generated ones. */
package io.rawline.lab.format;

import io.rawline.lab.message.Order;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.util.Utf8;

final class AvroRecords {
    private AvroRecords() {}

    /** The record of a plain object, whose fields are named as the schema's. */
    static IndexedRecord record(Object message, Schema schema, boolean specific) {
        IndexedRecord record =
                specific ? (IndexedRecord) SpecificData.newInstance(SpecificData.get().getClass(schema), schema)
                        : new GenericData.Record(schema);
        for (Schema.Field field : schema.getFields()) {
            try {
                record.put(field.pos(),
                        value(message.getClass().getField(field.name()).get(message), field.schema(), specific));
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("no field " + field.name() + " in " + message.getClass(), e);
            }
        }
        return record;
    }

    private static Object value(Object value, Schema schema, boolean specific) {
        if (value == null) {
            return null;
        }
        return switch (schema.getType()) {
            case UNION -> value(value, schema.getTypes().get(1), specific);
            case RECORD -> record(value, schema, specific);
            case STRING -> specific ? value : new Utf8((String) value);
            case MAP -> {
                Map<Object, Object> map = new LinkedHashMap<>();
                ((Map<?, ?>) value).forEach((k, v) ->
                        map.put(specific ? k : new Utf8((String) k), value(v, schema.getValueType(), specific)));
                yield map;
            }
            case ARRAY -> {
                List<Object> list = new ArrayList<>();
                for (Object element : elements(value)) {
                    list.add(value(element, schema.getElementType(), specific));
                }
                yield list;
            }
            default -> value;
        };
    }

    private static List<?> elements(Object list) {
        if (list instanceof int[] ints) {
            return java.util.Arrays.stream(ints).boxed().toList();
        }
        return list instanceof double[] doubles ? java.util.Arrays.stream(doubles).boxed().toList() : (List<?>) list;
    }

    /** The plain object of a record. */
    static Object message(IndexedRecord record, Class<?> type) {
        try {
            Object message = type.getConstructor().newInstance();
            for (Schema.Field schema : record.getSchema().getFields()) {
                java.lang.reflect.Field field = type.getField(schema.name());
                field.set(message,
                        plain(record.get(schema.pos()), field.getType(),
                        field.getGenericType().getTypeName().contains("Line")));
            }
            return message;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(type + " does not fit " + record.getSchema(), e);
        }
    }

    private static Object plain(Object value, Class<?> type, boolean lines) {
        if (value instanceof CharSequence) {
            return value.toString();
        } else if (value instanceof IndexedRecord record) {
            return message(record, type);
        } else if (value instanceof Map<?, ?> map) {
            Map<String, String> plain = new LinkedHashMap<>();
            map.forEach((k, v) -> plain.put(k.toString(), v.toString()));
            return plain;
        } else if (value instanceof List<?> list) {
            if (type == int[].class) {
                return list.stream().mapToInt(element -> (Integer) element).toArray();
            } else if (type == double[].class) {
                return list.stream().mapToDouble(element -> (Double) element).toArray();
            }
            List<Object> plain = new ArrayList<>();
            list.forEach(element -> plain.add(plain(element, lines ? Order.Line.class : String.class, false)));
            return plain;
        }
        return value;
    }
}
