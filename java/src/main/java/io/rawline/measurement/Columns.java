package io.rawline.measurement;

import java.util.Arrays;

/** Measurements as columns; a row has the same index in each. Reusable; not thread-safe. */
public final class Columns implements MeasurementSink {
    private int[] series = new int[1024];
    private long[] timeMs = new long[1024];
    private double[] value = new double[1024];
    private int rows;

    /** Columns without rows. */
    public Columns() {}

    @Override
    public void add(int series, long timeMs, double value) {
        int row = rows;
        if (row == this.series.length) {
            grow();
        }
        this.series[row] = series;
        this.timeMs[row] = timeMs;
        this.value[row] = value;
        rows = row + 1;
    }

    private void grow() {
        int rowsMax = Math.addExact(rows, rows);
        series = Arrays.copyOf(series, rowsMax);
        timeMs = Arrays.copyOf(timeMs, rowsMax);
        value = Arrays.copyOf(value, rowsMax);
    }

    /** Removes all rows and keeps the memory. */
    public void clear() {
        rows = 0;
    }

    /**
     * Number of rows.
     *
     * @return 0 or more
     */
    public int rows() {
        return rows;
    }

    /**
     * The series' ids in the decoder's table.
     *
     * @return the column's array, of which the first {@link #rows} elements are valid until the next row is added
     */
    public int[] series() {
        return series;
    }

    /**
     * The times, as written: milliseconds since 1970.
     *
     * @return the column's array, of which the first {@link #rows} elements are valid until the next row is added
     */
    public long[] timeMs() {
        return timeMs;
    }

    /**
     * The values. A long above 2^53 is rounded.
     *
     * @return the column's array, of which the first {@link #rows} elements are valid until the next row is added
     */
    public double[] value() {
        return value;
    }
}
