package io.rawline.value;

/**
 * The names of a record's fields, to read its tables in one pass: {@link ValueReader#field} returns each key's number.
 * A name at its expected position costs one comparison, any other name a lookup. Immutable and thread-safe.
 */
public final class Fields {
    private final Field[] fields;
    /** Hash table of the fields' numbers plus one; 0 is an empty slot. At most half full. */
    private final int[] slots;

    private Fields(Field[] fields) {
        this.fields = fields;
        slots = new int[Integer.highestOneBit(Math.max(fields.length, 1) * 4 - 1)];
        for (int index = 0; index < fields.length; index++) {
            Field field = fields[index];
            if (find(field.encoded, field.start, field.length) >= 0) {
                throw new IllegalArgumentException("the field \"" + field + "\" is a duplicate; pass each name once");
            }
            int slot = hash(field.encoded, field.start, field.length);
            while (slots[slot & slots.length - 1] != 0) {
                slot++;
            }
            slots[slot & slots.length - 1] = index + 1;
        }
    }

    /**
     * Fields, numbered from 0. Fastest in the order in which tables usually have them.
     *
     * @param names the names, without duplicates
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
     * Number of fields.
     *
     * @return 0 or more
     */
    public int size() {
        return fields.length;
    }

    /**
     * One of the fields, to write it.
     *
     * @param index its number
     * @return the field
     */
    public Field get(int index) {
        return fields[index];
    }

    /** The number of the field with this name, compared with {@code guess} first; -1 if not found. */
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

    /**
     * Not seeded: the names are few and fixed by the program, so colliding names in the input only cost a comparison.
     */
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
