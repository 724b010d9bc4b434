package io.rawline.measurement;

import java.util.Arrays;

/** Measurements as columns; a row is the same place in each. Filled again and again; for one thread at a time. */
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
     * Rows.
     *
     * @return their number
     */
    public int rows() {
        return rows;
    }

    /**
     * Series ids of the decoder's table.
     *
     * @return the column itself, of which the first {@link #rows} count, until the next row is added
     */
    public int[] series() {
        return series;
    }

    /**
     * Times as they were written: milliseconds since 1970.
     *
     * @return the column itself, of which the first {@link #rows} count, until the next row is added
     */
    public long[] timeMs() {
        return timeMs;
    }

    /**
     * Values. A long above 2^53 is rounded.
     *
     * @return the column itself, of which the first {@link #rows} count, until the next row is added
     */
    public double[] value() {
        return value;
    }
}
