package io.rawline.measurement;

/** Takes measurements one after the other. */
@FunctionalInterface
public interface MeasurementSink {
    /**
     * Takes one measurement.
     *
     * @param series the series' id in the decoder's table
     * @param timeMs its time as it was written: milliseconds since 1970
     * @param value its value; a long above 2^53 is rounded
     */
    void add(int series, long timeMs, double value);
}
