package io.rawline.junit5;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests of this class, or this test, can have a {@link RawlineBroker} as a parameter. On a method, it replaces the one
 * of the class.
 *
 * <p>A broker that ends by itself fails the test, with what it wrote to stderr.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(RawlineExtension.class)
public @interface RawlineTest {
    /**
     * Which tests share a broker.
     *
     * @return by default, none
     */
    Scope scope() default Scope.TEST;

    /**
     * Where the broker stores: {@link RawlineBroker#MEMORY}, {@link RawlineBroker#DIRECTORY}, or a value of {@code
     * --storage}, such as a path.
     *
     * @return by default, in memory
     */
    String storage() default RawlineBroker.MEMORY;

    /**
     * More flags of {@code rawline serve}.
     *
     * @return for example {@code --no-create-topics}
     */
    String[] flags() default {};
}
