package io.rawline.measurement;

/** Receives measurements in order. */
@FunctionalInterface
public interface MeasurementSink {
    /**
     * Receives a measurement.
     *
     * @param series the series' id in the decoder's table
     * @param timeMs its time as written: milliseconds since 1970
     * @param value its value; a long above 2^53 is rounded
     */
    void add(int series, long timeMs, double value);
}
