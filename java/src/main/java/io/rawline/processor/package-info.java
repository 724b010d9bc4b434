/**
 * The annotation processor that generates codecs for types annotated with {@code GenerateCodec}. It is in a separate
 * jar, with the classifier {@code processor}, and uses no other package: the compiler needs it, a program does not.
 */
package io.rawline.processor;
