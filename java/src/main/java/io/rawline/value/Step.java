package io.rawline.value;

/**
 * One step down into a value: a {@link Field} to what a table has under its name, {@link #at} to a vector's element.
 */
public sealed interface Step permits Field, Step.Index {
    /**
     * The step to an element of a vector.
     *
     * @param index its place, the first at 0
     * @return the step
     */
    static Step at(int index) {
        return new Index(index);
    }

    /**
     * The step to an element of a vector.
     *
     * @param index its place, the first at 0
     */
    record Index(int index) implements Step {}
}
