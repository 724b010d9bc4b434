/**
 * The client of the Rawline event broker, in plain Java.
 *
 * <p>Packages, each of which uses only those above it: {@code error}; {@code batch}, {@code internal.http}
 * and {@code value}; {@code measurement}, which uses {@code batch} and {@code value}; {@code io.rawline}, which uses
 * {@code batch} and {@code internal.http}. {@code processor}, which uses none, is for compilers.
 */
module io.rawline.client {
    requires aircompressor;
    // For the processor only, which is in a separate jar.
    requires static java.compiler;

    exports io.rawline;
    exports io.rawline.batch;
    exports io.rawline.error;
    exports io.rawline.measurement;
    exports io.rawline.value;
}
