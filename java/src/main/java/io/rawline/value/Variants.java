package io.rawline.value;

import java.nio.charset.StandardCharsets;

/**
 * The names of a type's alternatives or constants, which are written as enums: alone, or as a vector of the name and
 * the content. Generated code numbers them from 0.
 */
public final class Variants {
    private final Fields names;
    private final byte[][] encoded;

    private Variants(String... names) {
        this.names = Fields.of(names);
        encoded = new byte[names.length][];
        for (int number = 0; number < names.length; number++) {
            byte[] name = names[number].getBytes(StandardCharsets.UTF_8);
            byte[] head = new byte[1 + Wire.sizeBytes(name.length) + name.length];
            head[0] = Wire.ENUM;
            System.arraycopy(name, 0, head, Wire.putSize(head, 1, name.length), name.length);
            encoded[number] = head;
        }
    }

    /**
     * The names.
     *
     * @param names all of them, in the order of their numbers
     * @return the names
     */
    public static Variants of(String... names) {
        return new Variants(names);
    }

    /**
     * Adds a name.
     *
     * @param writer the writer
     * @param number the name's number
     */
    public void write(ValueWriter writer, int number) {
        byte[] name = encoded[number];
        writer.addEncoded(name, 0, name.length);
    }

    /**
     * Begins a name and content, which {@link CodecWrites#end} ends.
     *
     * @param writer the writer
     * @param number the name's number
     * @return what that method needs
     */
    public int begin(ValueWriter writer, int number) {
        int outer = CodecWrites.beginVector(writer, 2);
        write(writer, number);
        return outer;
    }

    /**
     * Reads a name, up to its content; {@link #end} ends it.
     *
     * @param reader the reader
     * @return twice the name's number, plus one if content follows
     */
    public int read(ValueReader reader) {
        int position = reader.position();
        boolean hasContent = reader.tag() == Wire.VECTOR;
        if (hasContent) {
            if (reader.list() != 2) {
                throw ValueException.variant(
                        position, "a variant is its name, or a vector of its name and its content");
            }
            CodecReads.enter(reader);
        }
        long name = reader.text(reader.tag() == Wire.STRING ? Wire.STRING : Wire.ENUM);
        int start = (int) name;
        int length = (int) (name >>> 32);
        int number = names.find(reader.bytes, start, length, 0);
        if (number < 0) {
            throw ValueException.variant(
                    position,
                    "the type has no variant \"" + Utf8.lossy(reader.bytes, start, length) + "\"; its variants are "
                            + all());
        }
        return number << 1 | (hasContent ? 1 : 0);
    }

    /**
     * Ends what {@link #read} began.
     *
     * @param reader the reader
     * @param found what it returned
     */
    public void end(ValueReader reader, int found) {
        if ((found & 1) != 0) {
            CodecReads.end(reader);
        }
    }

    /**
     * The error for content that a variant doesn't have, or for its absence.
     *
     * @param start where the value starts
     * @param found what {@link #read} returned
     * @return the error
     */
    public ValueException misfit(int start, int found) {
        return ValueException.variant(
                start,
                "the variant " + names.get(found >> 1) + ((found & 1) != 0 ? " has content" : " has no content")
                        + ", unlike the type's variant of this name");
    }

    private String all() {
        StringBuilder all = new StringBuilder();
        for (int number = 0; number < names.size(); number++) {
            all.append(number == 0 ? "" : ", ").append(names.get(number));
        }
        return all.toString();
    }
}
