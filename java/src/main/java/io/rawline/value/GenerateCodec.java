package io.rawline.value;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Generates a {@link ValueCodec} for a record, a class with fields, or a sealed interface of these: for {@code Dns} the
 * class {@code DnsCodec} in the same package, for {@code Order.Item} the class {@code Order_ItemCodec}. Its constant
 * {@code TABLE} writes tables with the fields' names, {@code VECTOR} vectors of the fields; both read either.
 *
 * <pre>{@code
 * @GenerateCodec(names = NameCase.SNAKE_CASE)
 * public record Dns(Instant time, Address client, String query, Optional<Duration> roundTrip, List<Address> answers) {}
 *
 * byte[] bytes = DnsCodec.TABLE.encode(event);
 * Dns back = DnsCodec.TABLE.decode(bytes);
 * }</pre>
 *
 * <p>{@code docs/values.md} describes how types are mapped. A class needs a constructor without parameters; all its
 * fields are written that aren't static or transient, and none may be private or final. An alternative of a sealed
 * interface is written as its name and its content.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface GenerateCodec {
    /**
     * How the names of fields, or of a sealed interface's alternatives, are written.
     *
     * @return the case
     */
    NameCase names() default NameCase.AS_DECLARED;

    /**
     * The name of this type as an alternative of a sealed interface.
     *
     * @return the name; by default the simple name of the type, in the interface's case
     */
    String name() default "";

    /**
     * Whether the type is written as its only field, without a container.
     *
     * @return true for a wrapper of one field
     */
    boolean transparent() default false;
}
