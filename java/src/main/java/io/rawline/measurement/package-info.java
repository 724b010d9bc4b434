/**
 * Measurements: a metric, tags, a time and a value each, as Avro records in an ordinary topic.
 *
 * <ul>
 *   <li>{@link io.rawline.measurement.MeasurementEncoder} encodes them.
 *   <li>{@link io.rawline.measurement.MeasurementDecoder} decodes them, into {@link io.rawline.measurement.Columns} or
 *       any sink, with a {@link io.rawline.measurement.SeriesTable} that all threads share: each series has one dense
 *       id.
 *   <li>{@link io.rawline.measurement.WriterSchema} decodes those that another schema wrote.
 * </ul>
 *
 * <pre>{@code
 * SeriesTable table = new SeriesTable(100_000);
 * MeasurementDecoder decoder = new MeasurementDecoder(MeasurementShape.DEFAULT, table);
 * Columns columns = new Columns();
 * Counts counts = decoder.decode(fetched.records(), columns);
 * for (int row = 0; row < columns.rows(); row++) {
 *     String metric = table.metric(columns.series()[row]);
 *     double value = columns.value()[row];
 * }
 * }</pre>
 */
package io.rawline.measurement;
