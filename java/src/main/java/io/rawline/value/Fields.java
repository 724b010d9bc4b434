package io.rawline.value;

/**
 * The names of a record's fields, to read its tables in one pass: {@link ValueReader#field} gives each key's number. A
 * name that stands where it is expected costs one comparison, any other one look-up. Immutable; share it.
 */
public final class Fields {
    private final Field[] fields;
    /** Numbers of fields plus one by hash, 0 where there is none; half empty. */
    private final int[] slots;

    private Fields(Field[] fields) {
        this.fields = fields;
        slots = new int[Integer.highestOneBit(Math.max(fields.length, 1) * 4 - 1)];
        for (int index = 0; index < fields.length; index++) {
            Field field = fields[index];
            if (find(field.encoded, field.start, field.length) >= 0) {
                throw new IllegalArgumentException("the field \"" + field + "\" is given twice; give each name once");
            }
            int slot = hash(field.encoded, field.start, field.length);
            while (slots[slot & slots.length - 1] != 0) {
                slot++;
            }
            slots[slot & slots.length - 1] = index + 1;
        }
    }

    /**
     * The fields of these names, numbered from 0; best in the order in which they are mostly written.
     *
     * @param names the names, each once
     * @return the fields
     */
    public static Fields of(String... names) {
        Field[] fields = new Field[names.length];
        for (int index = 0; index < names.length; index++) {
            fields[index] = Field.of(names[index]);
        }
        return new Fields(fields);
    }

    /**
     * How many there are.
     *
     * @return their number
     */
    public int size() {
        return fields.length;
    }

    /**
     * One of them, to write it.
     *
     * @param index its number
     * @return the field
     */
    public Field get(int index) {
        return fields[index];
    }

    /** The number of the field of this name, first tried at {@code guess}; -1 if there is none. */
    int find(byte[] bytes, int at, int length, int guess) {
        if (guess < fields.length && fields[guess].is(bytes, at, length)) {
            return guess;
        }
        return find(bytes, at, length);
    }

    private int find(byte[] bytes, int at, int length) {
        for (int slot = hash(bytes, at, length); ; slot++) {
            int number = slots[slot & slots.length - 1] - 1;
            if (number < 0 || fields[number].is(bytes, at, length)) {
                return number;
            }
        }
    }

    /** A field's own names are few and fixed, so nobody gains by choosing names that collide with them. */
    private static int hash(byte[] bytes, int at, int length) {
        if (length == 0) {
            return 0;
        }
        int hash = length * 31 + bytes[at];
        hash = hash * 31 + bytes[at + (length >> 1)];
        hash = hash * 31 + bytes[at + length - 1];
        hash = hash * 31 + bytes[at + (length >> 2)];
        return hash * 0x9e37_79b9 >>> 16;
    }
}
