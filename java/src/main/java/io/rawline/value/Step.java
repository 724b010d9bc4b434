package io.rawline.value;

/**
 * One step of a path into a value: a {@link Field} is a table's key, {@link #at} a vector's index.
 */
public sealed interface Step permits Field, Step.Index {
    /**
     * The step to an element of a vector.
     *
     * @param index its index from 0
     * @return the step
     */
    static Step at(int index) {
        return new Index(index);
    }

    /**
     * The step to an element of a vector.
     *
     * @param index its index from 0
     */
    record Index(int index) implements Step {}
}
