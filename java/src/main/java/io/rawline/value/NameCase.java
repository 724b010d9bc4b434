package io.rawline.value;

/** How {@link GenerateCodec} writes the names of fields, alternatives and constants. */
public enum NameCase {
    /** As they are declared. */
    AS_DECLARED,
    /** {@code firstName} as {@code first_name}. */
    SNAKE_CASE,
    /** {@code firstName} as {@code FIRST_NAME}. */
    SCREAMING_SNAKE_CASE,
    /** {@code firstName} as {@code first-name}. */
    KEBAB_CASE,
    /** {@code firstName} as {@code FIRST-NAME}. */
    SCREAMING_KEBAB_CASE,
    /** {@code FIRST_NAME} as {@code firstName}. */
    CAMEL_CASE,
    /** {@code firstName} as {@code FirstName}. */
    PASCAL_CASE
}
