/* Generated SBE (Simple Binary Encoding) message codec. */
package io.rawline.lab.sbe;

import org.agrona.DirectBuffer;

@SuppressWarnings("all")
public final class DoublesDecoder
{
    public static final int BLOCK_LENGTH = 40;
    public static final int TEMPLATE_ID = 2;
    public static final int SCHEMA_ID = 1;
    public static final int SCHEMA_VERSION = 0;
    public static final String SEMANTIC_VERSION = "1.0";
    public static final java.nio.ByteOrder BYTE_ORDER = java.nio.ByteOrder.LITTLE_ENDIAN;

    private final DoublesDecoder parentMessage = this;
    private DirectBuffer buffer;
    private int offset;
    private int limit;
    int actingBlockLength;
    int actingVersion;

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

    public DirectBuffer buffer()
    {
        return buffer;
    }

    public int offset()
    {
        return offset;
    }

    public DoublesDecoder wrap(
        final DirectBuffer buffer,
        final int offset,
        final int actingBlockLength,
        final int actingVersion)
    {
        if (buffer != this.buffer)
        {
            this.buffer = buffer;
        }
        this.offset = offset;
        this.actingBlockLength = actingBlockLength;
        this.actingVersion = actingVersion;
        limit(offset + actingBlockLength);

        return this;
    }

    public DoublesDecoder wrapAndApplyHeader(
        final DirectBuffer buffer,
        final int offset,
        final MessageHeaderDecoder headerDecoder)
    {
        headerDecoder.wrap(buffer, offset);

        final int templateId = headerDecoder.templateId();
        if (TEMPLATE_ID != templateId)
        {
            throw new IllegalStateException("Invalid TEMPLATE_ID: " + templateId);
        }

        return wrap(
            buffer,
            offset + MessageHeaderDecoder.ENCODED_LENGTH,
            headerDecoder.blockLength(),
            headerDecoder.version());
    }

    public DoublesDecoder sbeRewind()
    {
        return wrap(buffer, offset, actingBlockLength, actingVersion);
    }

    public int sbeDecodedLength()
    {
        final int currentLimit = limit();
        sbeSkip();
        final int decodedLength = encodedLength();
        limit(currentLimit);

        return decodedLength;
    }

    public int actingVersion()
    {
        return actingVersion;
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

    public double single1()
    {
        return buffer.getDouble(offset + 0, BYTE_ORDER);
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

    public double single2()
    {
        return buffer.getDouble(offset + 8, BYTE_ORDER);
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

    public double single3()
    {
        return buffer.getDouble(offset + 16, BYTE_ORDER);
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

    public double single4()
    {
        return buffer.getDouble(offset + 24, BYTE_ORDER);
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

    public double single5()
    {
        return buffer.getDouble(offset + 32, BYTE_ORDER);
    }


    private final ListDecoder list = new ListDecoder(this);

    public static long listDecoderId()
    {
        return 6;
    }

    public static int listDecoderSinceVersion()
    {
        return 0;
    }

    public ListDecoder list()
    {
        list.wrap(buffer);
        return list;
    }

    public static final class ListDecoder
        implements Iterable<ListDecoder>, java.util.Iterator<ListDecoder>
    {
        public static final int HEADER_SIZE = 4;
        private final DoublesDecoder parentMessage;
        private DirectBuffer buffer;
        private int count;
        private int index;
        private int offset;
        private int blockLength;

        ListDecoder(final DoublesDecoder parentMessage)
        {
            this.parentMessage = parentMessage;
        }

        public void wrap(final DirectBuffer buffer)
        {
            if (buffer != this.buffer)
            {
                this.buffer = buffer;
            }

            index = 0;
            final int limit = parentMessage.limit();
            parentMessage.limit(limit + HEADER_SIZE);
            blockLength = (buffer.getShort(limit + 0, BYTE_ORDER) & 0xFFFF);
            count = (buffer.getShort(limit + 2, BYTE_ORDER) & 0xFFFF);
        }

        public ListDecoder next()
        {
            if (index >= count)
            {
                throw new java.util.NoSuchElementException();
            }

            offset = parentMessage.limit();
            parentMessage.limit(offset + blockLength);
            ++index;

            return this;
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

        public int actingBlockLength()
        {
            return blockLength;
        }

        public int actingVersion()
        {
            return parentMessage.actingVersion;
        }

        public int count()
        {
            return count;
        }

        public java.util.Iterator<ListDecoder> iterator()
        {
            return this;
        }

        public void remove()
        {
            throw new UnsupportedOperationException();
        }

        public boolean hasNext()
        {
            return index < count;
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

        public double record()
        {
            return buffer.getDouble(offset + 0, BYTE_ORDER);
        }


        public StringBuilder appendTo(final StringBuilder builder)
        {
            if (null == buffer)
            {
                return builder;
            }

            builder.append('(');
            builder.append("record=");
            builder.append(this.record());
            builder.append(')');

            return builder;
        }
        
        public ListDecoder sbeSkip()
        {

            return this;
        }
    }

    public String toString()
    {
        if (null == buffer)
        {
            return "";
        }

        final DoublesDecoder decoder = new DoublesDecoder();
        decoder.wrap(buffer, offset, actingBlockLength, actingVersion);

        return decoder.appendTo(new StringBuilder()).toString();
    }

    public StringBuilder appendTo(final StringBuilder builder)
    {
        if (null == buffer)
        {
            return builder;
        }

        final int originalLimit = limit();
        limit(offset + actingBlockLength);
        builder.append("[Doubles](sbeTemplateId=");
        builder.append(TEMPLATE_ID);
        builder.append("|sbeSchemaId=");
        builder.append(SCHEMA_ID);
        builder.append("|sbeSchemaVersion=");
        if (parentMessage.actingVersion != SCHEMA_VERSION)
        {
            builder.append(parentMessage.actingVersion);
            builder.append('/');
        }
        builder.append(SCHEMA_VERSION);
        builder.append("|sbeBlockLength=");
        if (actingBlockLength != BLOCK_LENGTH)
        {
            builder.append(actingBlockLength);
            builder.append('/');
        }
        builder.append(BLOCK_LENGTH);
        builder.append("):");
        builder.append("single1=");
        builder.append(this.single1());
        builder.append('|');
        builder.append("single2=");
        builder.append(this.single2());
        builder.append('|');
        builder.append("single3=");
        builder.append(this.single3());
        builder.append('|');
        builder.append("single4=");
        builder.append(this.single4());
        builder.append('|');
        builder.append("single5=");
        builder.append(this.single5());
        builder.append('|');
        builder.append("list=[");
        final int listOriginalOffset = list.offset;
        final int listOriginalIndex = list.index;
        final ListDecoder list = this.list();
        if (list.count() > 0)
        {
            while (list.hasNext())
            {
                list.next().appendTo(builder);
                builder.append(',');
            }
            builder.setLength(builder.length() - 1);
        }
        list.offset = listOriginalOffset;
        list.index = listOriginalIndex;
        builder.append(']');

        limit(originalLimit);

        return builder;
    }
    
    public DoublesDecoder sbeSkip()
    {
        sbeRewind();
        ListDecoder list = this.list();
        if (list.count() > 0)
        {
            while (list.hasNext())
            {
                list.next();
                list.sbeSkip();
            }
        }

        return this;
    }
}
