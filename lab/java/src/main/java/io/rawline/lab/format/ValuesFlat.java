/* The flat cases as Rawline values. */
package io.rawline.lab.format;

import io.rawline.lab.message.Check;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.value.Field;
import io.rawline.value.Fields;
import io.rawline.value.Step;
import io.rawline.value.ValueView;

/** Each case is written in the order of its fields, so that what grows comes last. */
final class ValuesFlat {
    private ValuesFlat() {}

    static final class PingPongs extends Values.Form<PingPong> {
        private static final Field ID = Field.of("id");
        private static final Field VERSION = Field.of("version");
        private static final Field MESSAGE = Field.of("message");
        private static final Field IS_IMPORTANT = Field.of("is_important");
        private static final Field NAMES = Field.of("names");
        private static final Field INTS = Field.of("ints");
        private static final Field DOUBLES = Field.of("doubles");
        private static final Fields FIELDS = Fields.of("id", "version", "message", "is_important", "names", "ints", "doubles");

        PingPongs(boolean table) {
            super(table, table ? MESSAGE : Step.at(2));
        }

        @Override
        void write(PingPong m) {
            begin();
            key(ID).addInteger(m.id);
            key(VERSION).addInteger(m.version);
            key(MESSAGE).add(m.message);
            key(IS_IMPORTANT).add(m.is_important);
            key(NAMES);
            write(m.names);
            key(INTS);
            write(m.ints);
            key(DOUBLES);
            write(m.doubles);
            out.end();
        }

        @Override
        PingPong read() {
            PingPong m = new PingPong();
            for (int i = 0, count = count(); i < count; i++) {
                switch (place(FIELDS, i)) {
                    case 0 -> m.id = whole();
                    case 1 -> m.version = (int) whole();
                    case 2 -> m.message = in.string();
                    case 3 -> m.is_important = in.bool();
                    case 4 -> m.names = texts();
                    case 5 -> m.ints = ints();
                    case 6 -> m.doubles = doubles();
                    default -> in.skip();
                }
            }
            return m;
        }

        @Override
        long check(ValueView v) {
            return whole(at(v, ID, 0))
                    + whole(at(v, VERSION, 1))
                    + checkText(at(v, MESSAGE, 2))
                    + Check.of(at(v, IS_IMPORTANT, 3).asBoolean())
                    + checkTexts(at(v, NAMES, 4))
                    + checkInts(at(v, INTS, 5))
                    + checkDoubles(at(v, DOUBLES, 6));
        }
    }

    static final class DoublesS extends Values.Form<Doubles> {
        private static final Field SINGLE_1 = Field.of("single_1");
        private static final Field SINGLE_2 = Field.of("single_2");
        private static final Field SINGLE_3 = Field.of("single_3");
        private static final Field SINGLE_4 = Field.of("single_4");
        private static final Field SINGLE_5 = Field.of("single_5");
        private static final Field LIST = Field.of("list");
        private static final Fields FIELDS = Fields.of("single_1", "single_2", "single_3", "single_4", "single_5", "list");

        DoublesS(boolean table) {
            super(table, table ? SINGLE_3 : Step.at(2));
        }

        @Override
        void write(Doubles m) {
            begin();
            key(SINGLE_1).add(m.single_1);
            key(SINGLE_2).add(m.single_2);
            key(SINGLE_3).add(m.single_3);
            key(SINGLE_4).add(m.single_4);
            key(SINGLE_5).add(m.single_5);
            key(LIST);
            write(m.list);
            out.end();
        }

        @Override
        Doubles read() {
            Doubles m = new Doubles();
            for (int i = 0, count = count(); i < count; i++) {
                switch (place(FIELDS, i)) {
                    case 0 -> m.single_1 = in.real();
                    case 1 -> m.single_2 = in.real();
                    case 2 -> m.single_3 = in.real();
                    case 3 -> m.single_4 = in.real();
                    case 4 -> m.single_5 = in.real();
                    case 5 -> m.list = doubles();
                    default -> in.skip();
                }
            }
            return m;
        }

        @Override
        long check(ValueView v) {
            return Check.of(at(v, SINGLE_1, 0).asReal())
                    + Check.of(at(v, SINGLE_2, 1).asReal())
                    + Check.of(at(v, SINGLE_3, 2).asReal())
                    + Check.of(at(v, SINGLE_4, 3).asReal())
                    + Check.of(at(v, SINGLE_5, 4).asReal())
                    + checkDoubles(at(v, LIST, 5));
        }
    }

    static final class StringsS extends Values.Form<Strings> {
        private static final Field STRING_1 = Field.of("string_1");
        private static final Field STRING_2 = Field.of("string_2");
        private static final Field STRING_3 = Field.of("string_3");
        private static final Field STRING_4 = Field.of("string_4");
        private static final Field STRING_5 = Field.of("string_5");
        private static final Field NAMES = Field.of("names");
        private static final Fields FIELDS = Fields.of("string_1", "string_2", "string_3", "string_4", "string_5", "names");

        StringsS(boolean table) {
            super(table, table ? STRING_3 : Step.at(2));
        }

        @Override
        void write(Strings m) {
            begin();
            key(STRING_1).add(m.string_1);
            key(STRING_2).add(m.string_2);
            key(STRING_3).add(m.string_3);
            key(STRING_4).add(m.string_4);
            key(STRING_5).add(m.string_5);
            key(NAMES);
            write(m.names);
            out.end();
        }

        @Override
        Strings read() {
            Strings m = new Strings();
            for (int i = 0, count = count(); i < count; i++) {
                switch (place(FIELDS, i)) {
                    case 0 -> m.string_1 = in.string();
                    case 1 -> m.string_2 = in.string();
                    case 2 -> m.string_3 = in.string();
                    case 3 -> m.string_4 = in.string();
                    case 4 -> m.string_5 = in.string();
                    case 5 -> m.names = texts();
                    default -> in.skip();
                }
            }
            return m;
        }

        @Override
        long check(ValueView v) {
            return checkText(at(v, STRING_1, 0))
                    + checkText(at(v, STRING_2, 1))
                    + checkText(at(v, STRING_3, 2))
                    + checkText(at(v, STRING_4, 3))
                    + checkText(at(v, STRING_5, 4))
                    + checkTexts(at(v, NAMES, 5));
        }
    }

    static final class Measurements extends Values.Form<Measurement> {
        private static final Field METRIC = Field.of("metric");
        private static final Field TAGS = Field.of("tags");
        private static final Field LOGTIME = Field.of("logtime");
        private static final Field VALUE = Field.of("value");
        private static final Fields FIELDS = Fields.of("metric", "tags", "logtime", "value");

        Measurements(boolean table) {
            super(table, table ? METRIC : Step.at(0));
        }

        @Override
        void write(Measurement m) {
            begin();
            key(METRIC).add(m.metric);
            key(TAGS);
            write(m.tags);
            key(LOGTIME).addInteger(m.logtime);
            key(VALUE).addInteger(m.value);
            out.end();
        }

        @Override
        Measurement read() {
            Measurement m = new Measurement();
            for (int i = 0, count = count(); i < count; i++) {
                switch (place(FIELDS, i)) {
                    case 0 -> m.metric = in.string();
                    case 1 -> m.tags = map();
                    case 2 -> m.logtime = whole();
                    case 3 -> m.value = whole();
                    default -> in.skip();
                }
            }
            return m;
        }

        @Override
        long check(ValueView v) {
            return checkText(at(v, METRIC, 0))
                    + checkMap(at(v, TAGS, 1))
                    + whole(at(v, LOGTIME, 2))
                    + whole(at(v, VALUE, 3));
        }
    }
}
