package io.rawline.junit5;

/** Which tests share a broker. */
public enum Scope {
    /** Each test has its own. Methods before and after each test get that of the test. */
    TEST,
    /** All tests of a class, also those of its nested classes. */
    CLASS,
    /** All tests with this scope. */
    SESSION
}
