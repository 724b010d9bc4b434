/* Generated SBE (Simple Binary Encoding) message codec. */
package io.rawline.lab.sbe;

import org.agrona.MutableDirectBuffer;

@SuppressWarnings("all")
public final class DoublesEncoder
{
    public static final int BLOCK_LENGTH = 40;
    public static final int TEMPLATE_ID = 2;
    public static final int SCHEMA_ID = 1;
    public static final int SCHEMA_VERSION = 0;
    public static final String SEMANTIC_VERSION = "1.0";
    public static final java.nio.ByteOrder BYTE_ORDER = java.nio.ByteOrder.LITTLE_ENDIAN;

    private final DoublesEncoder parentMessage = this;
    private MutableDirectBuffer buffer;
    private int offset;
    private int limit;

    public int sbeBlockLength()
    {
        return BLOCK_LENGTH;
    }

    public int sbeTemplateId()
    {
        return TEMPLATE_ID;
    }

    public int sbeSchemaId()
    {
        return SCHEMA_ID;
    }

    public int sbeSchemaVersion()
    {
        return SCHEMA_VERSION;
    }

    public String sbeSemanticType()
    {
        return "";
    }

    public MutableDirectBuffer buffer()
    {
        return buffer;
    }

    public int offset()
    {
        return offset;
    }

    public DoublesEncoder wrap(final MutableDirectBuffer buffer, final int offset)
    {
        if (buffer != this.buffer)
        {
            this.buffer = buffer;
        }
        this.offset = offset;
        limit(offset + BLOCK_LENGTH);

        return this;
    }

    public DoublesEncoder wrapAndApplyHeader(
        final MutableDirectBuffer buffer, final int offset, final MessageHeaderEncoder headerEncoder)
    {
        headerEncoder
            .wrap(buffer, offset)
            .blockLength(BLOCK_LENGTH)
            .templateId(TEMPLATE_ID)
            .schemaId(SCHEMA_ID)
            .version(SCHEMA_VERSION);

        return wrap(buffer, offset + MessageHeaderEncoder.ENCODED_LENGTH);
    }

    public int encodedLength()
    {
        return limit - offset;
    }

    public int limit()
    {
        return limit;
    }

    public void limit(final int limit)
    {
        this.limit = limit;
    }

    public static int single1Id()
    {
        return 1;
    }

    public static int single1SinceVersion()
    {
        return 0;
    }

    public static int single1EncodingOffset()
    {
        return 0;
    }

    public static int single1EncodingLength()
    {
        return 8;
    }

    public static String single1MetaAttribute(final MetaAttribute metaAttribute)
    {
        if (MetaAttribute.PRESENCE == metaAttribute)
        {
            return "required";
        }

        return "";
    }

    public static double single1NullValue()
    {
        return Double.NaN;
    }

    public static double single1MinValue()
    {
        return -1.7976931348623157E308d;
    }

    public static double single1MaxValue()
    {
        return 1.7976931348623157E308d;
    }

    public DoublesEncoder single1(final double value)
    {
        buffer.putDouble(offset + 0, value, BYTE_ORDER);
        return this;
    }


    public static int single2Id()
    {
        return 2;
    }

    public static int single2SinceVersion()
    {
        return 0;
    }

    public static int single2EncodingOffset()
    {
        return 8;
    }

    public static int single2EncodingLength()
    {
        return 8;
    }

    public static String single2MetaAttribute(final MetaAttribute metaAttribute)
    {
        if (MetaAttribute.PRESENCE == metaAttribute)
        {
            return "required";
        }

        return "";
    }

    public static double single2NullValue()
    {
        return Double.NaN;
    }

    public static double single2MinValue()
    {
        return -1.7976931348623157E308d;
    }

    public static double single2MaxValue()
    {
        return 1.7976931348623157E308d;
    }

    public DoublesEncoder single2(final double value)
    {
        buffer.putDouble(offset + 8, value, BYTE_ORDER);
        return this;
    }


    public static int single3Id()
    {
        return 3;
    }

    public static int single3SinceVersion()
    {
        return 0;
    }

    public static int single3EncodingOffset()
    {
        return 16;
    }

    public static int single3EncodingLength()
    {
        return 8;
    }

    public static String single3MetaAttribute(final MetaAttribute metaAttribute)
    {
        if (MetaAttribute.PRESENCE == metaAttribute)
        {
            return "required";
        }

        return "";
    }

    public static double single3NullValue()
    {
        return Double.NaN;
    }

    public static double single3MinValue()
    {
        return -1.7976931348623157E308d;
    }

    public static double single3MaxValue()
    {
        return 1.7976931348623157E308d;
    }

    public DoublesEncoder single3(final double value)
    {
        buffer.putDouble(offset + 16, value, BYTE_ORDER);
        return this;
    }


    public static int single4Id()
    {
        return 4;
    }

    public static int single4SinceVersion()
    {
        return 0;
    }

    public static int single4EncodingOffset()
    {
        return 24;
    }

    public static int single4EncodingLength()
    {
        return 8;
    }

    public static String single4MetaAttribute(final MetaAttribute metaAttribute)
    {
        if (MetaAttribute.PRESENCE == metaAttribute)
        {
            return "required";
        }

        return "";
    }

    public static double single4NullValue()
    {
        return Double.NaN;
    }

    public static double single4MinValue()
    {
        return -1.7976931348623157E308d;
    }

    public static double single4MaxValue()
    {
        return 1.7976931348623157E308d;
    }

    public DoublesEncoder single4(final double value)
    {
        buffer.putDouble(offset + 24, value, BYTE_ORDER);
        return this;
    }


    public static int single5Id()
    {
        return 5;
    }

    public static int single5SinceVersion()
    {
        return 0;
    }

    public static int single5EncodingOffset()
    {
        return 32;
    }

    public static int single5EncodingLength()
    {
        return 8;
    }

    public static String single5MetaAttribute(final MetaAttribute metaAttribute)
    {
        if (MetaAttribute.PRESENCE == metaAttribute)
        {
            return "required";
        }

        return "";
    }

    public static double single5NullValue()
    {
        return Double.NaN;
    }

    public static double single5MinValue()
    {
        return -1.7976931348623157E308d;
    }

    public static double single5MaxValue()
    {
        return 1.7976931348623157E308d;
    }

    public DoublesEncoder single5(final double value)
    {
        buffer.putDouble(offset + 32, value, BYTE_ORDER);
        return this;
    }


    private final ListEncoder list = new ListEncoder(this);

    public static long listId()
    {
        return 6;
    }

    public ListEncoder listCount(final int count)
    {
        list.wrap(buffer, count);
        return list;
    }

    public static final class ListEncoder
    {
        public static final int HEADER_SIZE = 4;
        private final DoublesEncoder parentMessage;
        private MutableDirectBuffer buffer;
        private int count;
        private int index;
        private int offset;
        private int initialLimit;

        ListEncoder(final DoublesEncoder parentMessage)
        {
            this.parentMessage = parentMessage;
        }

        public void wrap(final MutableDirectBuffer buffer, final int count)
        {
            if (count < 0 || count > 65534)
            {
                throw new IllegalArgumentException("count outside allowed range: count=" + count);
            }

            if (buffer != this.buffer)
            {
                this.buffer = buffer;
            }

            index = 0;
            this.count = count;
            final int limit = parentMessage.limit();
            initialLimit = limit;
            parentMessage.limit(limit + HEADER_SIZE);
            buffer.putShort(limit + 0, (short)8, BYTE_ORDER);
            buffer.putShort(limit + 2, (short)count, BYTE_ORDER);
        }

        public ListEncoder next()
        {
            if (index >= count)
            {
                throw new java.util.NoSuchElementException();
            }

            offset = parentMessage.limit();
            parentMessage.limit(offset + sbeBlockLength());
            ++index;

            return this;
        }

        public int resetCountToIndex()
        {
            count = index;
            buffer.putShort(initialLimit + 2, (short)count, BYTE_ORDER);

            return count;
        }

        public static int countMinValue()
        {
            return 0;
        }

        public static int countMaxValue()
        {
            return 65534;
        }

        public static int sbeHeaderSize()
        {
            return HEADER_SIZE;
        }

        public static int sbeBlockLength()
        {
            return 8;
        }

        public static int recordId()
        {
            return 7;
        }

        public static int recordSinceVersion()
        {
            return 0;
        }

        public static int recordEncodingOffset()
        {
            return 0;
        }

        public static int recordEncodingLength()
        {
            return 8;
        }

        public static String recordMetaAttribute(final MetaAttribute metaAttribute)
        {
            if (MetaAttribute.PRESENCE == metaAttribute)
            {
                return "required";
            }

            return "";
        }

        public static double recordNullValue()
        {
            return Double.NaN;
        }

        public static double recordMinValue()
        {
            return -1.7976931348623157E308d;
        }

        public static double recordMaxValue()
        {
            return 1.7976931348623157E308d;
        }

        public ListEncoder record(final double value)
        {
            buffer.putDouble(offset + 0, value, BYTE_ORDER);
            return this;
        }

    }

    public String toString()
    {
        if (null == buffer)
        {
            return "";
        }

        return appendTo(new StringBuilder()).toString();
    }

    public StringBuilder appendTo(final StringBuilder builder)
    {
        if (null == buffer)
        {
            return builder;
        }

        final DoublesDecoder decoder = new DoublesDecoder();
        decoder.wrap(buffer, offset, BLOCK_LENGTH, SCHEMA_VERSION);

        return decoder.appendTo(builder);
    }
}
