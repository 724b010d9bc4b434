package io.rawline.value;

/**
 * The codec of an enum: a constant is written as its name.
 *
 * @param <E> the enum
 */
public final class EnumCodec<E extends Enum<E>> extends ValueCodec<E> {
    private final E[] constants;
    /** The number of each constant by its ordinal. */
    private final int[] numbers;

    private final Variants names;

    private EnumCodec(E[] constants, String... names) {
        this.constants = constants;
        this.names = Variants.of(names);
        int ordinals = 0;
        for (E constant : constants) {
            ordinals = Math.max(ordinals, constant.ordinal() + 1);
        }
        numbers = new int[ordinals];
        for (int number = 0; number < constants.length; number++) {
            numbers[constants[number].ordinal()] = number;
        }
    }

    /**
     * A codec.
     *
     * @param constants all constants
     * @param names the name of each
     * @param <E> the enum
     * @return the codec
     */
    public static <E extends Enum<E>> EnumCodec<E> of(E[] constants, String... names) {
        if (constants.length != names.length) {
            throw new IllegalArgumentException(constants.length + " constants have " + names.length + " names");
        }
        return new EnumCodec<>(constants, names);
    }

    @Override
    public void write(E value, ValueWriter writer) {
        names.write(writer, numbers[value.ordinal()]);
    }

    @Override
    public E read(ValueReader reader) {
        int position = reader.position();
        int found = names.read(reader);
        if ((found & 1) != 0) {
            throw names.misfit(position, found);
        }
        return constants[found >> 1];
    }
}
