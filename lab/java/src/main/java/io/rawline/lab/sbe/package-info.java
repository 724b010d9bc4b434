/* Generated SBE (Simple Binary Encoding) message codecs.*/
/**
 * null
 */
package io.rawline.lab.sbe;
