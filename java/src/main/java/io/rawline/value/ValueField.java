package io.rawline.value;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** How {@link GenerateCodec} maps one component of a record, one field of a class, or one constant of an enum. */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface ValueField {
    /**
     * The name in values.
     *
     * @return the name; by default the declared one, in the case of the type
     */
    String name() default "";

    /**
     * Whether the field may be missing. A null is left out of a table and is none in a vector. A missing field becomes
     * null, zero or false, and in a class keeps its initial value. An {@link java.util.Optional} may always be missing,
     * and so may a field with any annotation that is called {@code Nullable}.
     *
     * @return true if it may be missing
     */
    boolean optional() default false;

    /**
     * The value of a missing field: a static method without parameters.
     *
     * @return the method's name, of the type itself, or qualified by a class: {@code "java.util.List.of"}
     */
    String orElse() default "";

    /**
     * Whether the field is neither written nor read.
     *
     * @return true to leave it out; a record's component is then null, zero or false
     */
    boolean skip() default false;

    /**
     * The type of the value, where a Java type may be several: {@link Kind#COUNT} for whole numbers,
     * {@link Kind#TIMESTAMP} and {@link Kind#TIMESPAN} for a {@code long} of nanoseconds, {@link Kind#ENUM} for a
     * {@code String}, {@link Kind#SET} for a list or an array. Of a list, the types other than a set are its elements'.
     *
     * @return the type; by default what the Java type is mapped to
     */
    Kind as() default Kind.NONE;

    /**
     * A codec for the field, for types of other libraries.
     *
     * @return its class, which has a constructor without parameters
     */
    @SuppressWarnings("rawtypes")
    Class<? extends ValueCodec> with() default ValueCodec.class;
}
