/**
 * Structured values in Zeek Broker's binary format: bytes in, bytes out.
 *
 * <ul>
 *   <li>{@link io.rawline.value.ValueWriter} writes bytes without a tree; {@link io.rawline.value.Zeek} has Zeek's
 *       messages.
 *   <li>{@link io.rawline.value.ValueDecoder} checks bytes once and returns a {@link io.rawline.value.ValueView} of
 *       them, or picks one field; {@link io.rawline.value.Envelope} owns bytes and view.
 *   <li>{@link io.rawline.value.ValueReader} reads values in sequence, to make objects of them.
 *   <li>{@link io.rawline.value.Value} is an owned tree of values of any type.
 *   <li>{@link io.rawline.value.TypedJson} and {@link io.rawline.value.PlainJson} write values as JSON and read them.
 * </ul>
 *
 * <pre>{@code
 * static final Field UID = Field.of("uid");
 * static final Field QUERY = Field.of("query");
 *
 * ValueWriter writer = new ValueWriter();
 * writer.beginTable().key(UID).add("CHhAvVGS1DHFjwGM9").key(QUERY).add("example.com").end();
 * byte[] bytes = writer.toByteArray();
 *
 * ValueDecoder decoder = new ValueDecoder();
 * String query = decoder.pick(bytes, QUERY).asString();
 * ValueView event = decoder.decode(bytes);
 * String uid = event.get(UID).asString("-");
 * }</pre>
 *
 * <p>Invalid bytes or texts throw {@link io.rawline.value.ValueException}, which says where the error is and what to
 * do.
 */
package io.rawline.value;
