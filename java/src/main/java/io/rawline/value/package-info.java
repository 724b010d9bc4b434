/**
 * Structured values in Zeek Broker's binary format: bytes in, bytes out.
 *
 * <ul>
 *   <li>{@link io.rawline.value.ValueWriter} writes bytes without a tree; {@link io.rawline.value.Zeek} has Zeek's
 *       messages.
 *   <li>{@link io.rawline.value.ValueDecoder} checks bytes once and gives a {@link io.rawline.value.ValueView} into
 *       them, or picks one field; {@link io.rawline.value.Envelope} owns bytes and view.
 *   <li>{@link io.rawline.value.ValueReader} takes values one after the other, to make objects of them.
 *   <li>{@link io.rawline.value.Value} is an owned tree of every type that the format has.
 *   <li>{@link io.rawline.value.TypedJson} and {@link io.rawline.value.PlainJson} show values as JSON and read them.
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
 * <p>What is wrong with bytes or texts from outside is a {@link io.rawline.value.ValueException}, which says where and
 * what to do; nothing else is thrown for them.
 */
package io.rawline.value;
