/* Avro records of plain objects and back, and how an application reads the generated ones. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.message.Check;
import io.rawline.lab.message.Order;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
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
                specific ? (IndexedRecord) SpecificData.newInstance(SpecificData.get().getClass(schema), schema) : new GenericData.Record(schema);
        for (Schema.Field field : schema.getFields()) {
            try {
                record.put(field.pos(), value(message.getClass().getField(field.name()).get(message), field.schema(), specific));
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
                ((Map<?, ?>) value).forEach((k, v) -> map.put(specific ? k : new Utf8((String) k), value(v, schema.getValueType(), specific)));
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
                field.set(message, plain(record.get(schema.pos()), field.getType(), field.getGenericType().getTypeName().contains("Line")));
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

    /** Reads every field of the case's generated record by its getters. */
    static ToLongFunction<IndexedRecord> readOf(Case kase) {
        return switch (kase) {
            case PINGPONG -> record -> read((rawline.lab.PingPong) record);
            case DOUBLES -> record -> read((rawline.lab.Doubles) record);
            case STRINGS -> record -> read((rawline.lab.Strings) record);
            case ZEEK -> record -> read((rawline.lab.Zeek) record);
            case MEASUREMENT -> record -> read((rawline.Measurement) record);
            case ORDER -> record -> read((rawline.lab.Order) record);
        };
    }

    private static long read(rawline.lab.PingPong m) {
        return m.getId() + m.getVersion() + Check.of(m.getMessage()) + Check.of(m.getIsImportant()) + Check.of(m.getNames())
                + Check.of(m.getInts()) + Check.of(m.getDoubles());
    }

    private static long read(rawline.lab.Doubles m) {
        return Check.of(m.getSingle1()) + Check.of(m.getSingle2()) + Check.of(m.getSingle3()) + Check.of(m.getSingle4()) + Check.of(m.getSingle5())
                + Check.of(m.getList());
    }

    private static long read(rawline.lab.Strings m) {
        return Check.of(m.getString1()) + Check.of(m.getString2()) + Check.of(m.getString3()) + Check.of(m.getString4()) + Check.of(m.getString5())
                + Check.of(m.getNames());
    }

    private static long read(rawline.lab.Zeek m) {
        return m.getTs() + Check.of(m.getUid()) + Check.of(m.getOrigH()) + m.getOrigP() + Check.of(m.getRespH()) + m.getRespP()
                + Check.of(m.getProto())
                + m.getTransId() + Check.of(m.getRtt()) + Check.of(m.getQuery()) + m.getQclass() + Check.of(m.getQclassName()) + m.getQtype()
                + Check.of(m.getQtypeName()) + m.getRcode() + Check.of(m.getRcodeName()) + Check.of(m.getAa()) + Check.of(m.getTc())
                + Check.of(m.getRd())
                + Check.of(m.getRa()) + m.getZ() + Check.of(m.getAnswers()) + Check.of(m.getTtls()) + Check.of(m.getRejected());
    }

    private static long read(rawline.Measurement m) {
        return Check.of(m.getMetric()) + Check.of(m.getTags()) + m.getLogtime() + m.getValue();
    }

    private static long read(rawline.lab.Order m) {
        rawline.lab.Customer customer = m.getCustomer();
        long check = m.getId() + m.getPlacedAt() + Check.of(m.getCurrency()) + customer.getId() + Check.of(customer.getName())
                + Check.of(customer.getEmail()) + Check.of(m.getNote()) + m.getTotalCents();
        rawline.lab.Shipping shipping = m.getShipping();
        if (shipping != null) {
            check += Check.of(shipping.getStreet()) + Check.of(shipping.getCity()) + Check.of(shipping.getPostcode())
                    + Check.of(shipping.getCountry());
        }
        for (rawline.lab.Line line : m.getLines()) {
            check += Check.of(line.getSku()) + Check.of(line.getDescription()) + line.getQuantity() + line.getUnitPriceCents()
                    + Check.of(line.getDiscount());
        }
        return check;
    }
}
