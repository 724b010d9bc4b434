/* The cases' fields in MessagePack, written and read by hand as maps of names. */
package io.rawline.lab.format;

import io.rawline.lab.Case;
import io.rawline.lab.message.Doubles;
import io.rawline.lab.message.Measurement;
import io.rawline.lab.message.Message;
import io.rawline.lab.message.PingPong;
import io.rawline.lab.message.Strings;
import io.rawline.lab.message.Zeek;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;

abstract class MsgPackFields<M extends Message> {
    abstract void write(M message, MessagePacker out) throws IOException;

    /** Fields may come in any order; unknown ones are passed over. */
    abstract M read(MessageUnpacker in) throws IOException;

    static MsgPackFields<? extends Message> of(Case kase) {
        return switch (kase) {
            case PINGPONG -> new PingPongs();
            case DOUBLES -> new DoublesS();
            case STRINGS -> new StringsS();
            case ZEEK -> new Zeeks();
            case MEASUREMENT -> new Measurements();
            case ORDER -> new MsgPackOrder();
        };
    }

    static void write(List<String> list, MessagePacker out) throws IOException {
        out.packArrayHeader(list.size());
        for (String element : list) {
            out.packString(element);
        }
    }

    static void write(int[] list, MessagePacker out) throws IOException {
        out.packArrayHeader(list.length);
        for (int element : list) {
            out.packInt(element);
        }
    }

    static void write(double[] list, MessagePacker out) throws IOException {
        out.packArrayHeader(list.length);
        for (double element : list) {
            out.packDouble(element);
        }
    }

    static void write(Map<String, String> map, MessagePacker out) throws IOException {
        out.packMapHeader(map.size());
        for (Map.Entry<String, String> entry : map.entrySet()) {
            out.packString(entry.getKey());
            out.packString(entry.getValue());
        }
    }

    static List<String> texts(MessageUnpacker in) throws IOException {
        int size = in.unpackArrayHeader();
        List<String> list = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            list.add(in.unpackString());
        }
        return list;
    }

    static int[] ints(MessageUnpacker in) throws IOException {
        int[] list = new int[in.unpackArrayHeader()];
        for (int i = 0; i < list.length; i++) {
            list[i] = in.unpackInt();
        }
        return list;
    }

    static double[] doubles(MessageUnpacker in) throws IOException {
        double[] list = new double[in.unpackArrayHeader()];
        for (int i = 0; i < list.length; i++) {
            list[i] = in.unpackDouble();
        }
        return list;
    }

    static Map<String, String> map(MessageUnpacker in) throws IOException {
        Map<String, String> map = new LinkedHashMap<>();
        for (int left = in.unpackMapHeader(); left > 0; left--) {
            String key = in.unpackString();
            map.put(key, in.unpackString());
        }
        return map;
    }

    private static final class PingPongs extends MsgPackFields<PingPong> {
        @Override
        void write(PingPong m, MessagePacker out) throws IOException {
            out.packMapHeader(7);
            out.packString("id");
            out.packLong(m.id);
            out.packString("version");
            out.packInt(m.version);
            out.packString("message");
            out.packString(m.message);
            out.packString("is_important");
            out.packBoolean(m.is_important);
            out.packString("names");
            write(m.names, out);
            out.packString("ints");
            write(m.ints, out);
            out.packString("doubles");
            write(m.doubles, out);
        }

        @Override
        PingPong read(MessageUnpacker in) throws IOException {
            PingPong m = new PingPong();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                switch (in.unpackString()) {
                    case "id" -> m.id = in.unpackLong();
                    case "version" -> m.version = in.unpackInt();
                    case "message" -> m.message = in.unpackString();
                    case "is_important" -> m.is_important = in.unpackBoolean();
                    case "names" -> m.names = texts(in);
                    case "ints" -> m.ints = ints(in);
                    case "doubles" -> m.doubles = doubles(in);
                    default -> in.skipValue();
                }
            }
            return m;
        }
    }

    private static final class DoublesS extends MsgPackFields<Doubles> {
        @Override
        void write(Doubles m, MessagePacker out) throws IOException {
            out.packMapHeader(6);
            out.packString("single_1");
            out.packDouble(m.single_1);
            out.packString("single_2");
            out.packDouble(m.single_2);
            out.packString("single_3");
            out.packDouble(m.single_3);
            out.packString("single_4");
            out.packDouble(m.single_4);
            out.packString("single_5");
            out.packDouble(m.single_5);
            out.packString("list");
            write(m.list, out);
        }

        @Override
        Doubles read(MessageUnpacker in) throws IOException {
            Doubles m = new Doubles();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                switch (in.unpackString()) {
                    case "single_1" -> m.single_1 = in.unpackDouble();
                    case "single_2" -> m.single_2 = in.unpackDouble();
                    case "single_3" -> m.single_3 = in.unpackDouble();
                    case "single_4" -> m.single_4 = in.unpackDouble();
                    case "single_5" -> m.single_5 = in.unpackDouble();
                    case "list" -> m.list = doubles(in);
                    default -> in.skipValue();
                }
            }
            return m;
        }
    }

    private static final class StringsS extends MsgPackFields<Strings> {
        @Override
        void write(Strings m, MessagePacker out) throws IOException {
            out.packMapHeader(6);
            out.packString("string_1");
            out.packString(m.string_1);
            out.packString("string_2");
            out.packString(m.string_2);
            out.packString("string_3");
            out.packString(m.string_3);
            out.packString("string_4");
            out.packString(m.string_4);
            out.packString("string_5");
            out.packString(m.string_5);
            out.packString("names");
            write(m.names, out);
        }

        @Override
        Strings read(MessageUnpacker in) throws IOException {
            Strings m = new Strings();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                switch (in.unpackString()) {
                    case "string_1" -> m.string_1 = in.unpackString();
                    case "string_2" -> m.string_2 = in.unpackString();
                    case "string_3" -> m.string_3 = in.unpackString();
                    case "string_4" -> m.string_4 = in.unpackString();
                    case "string_5" -> m.string_5 = in.unpackString();
                    case "names" -> m.names = texts(in);
                    default -> in.skipValue();
                }
            }
            return m;
        }
    }

    private static final class Zeeks extends MsgPackFields<Zeek> {
        @Override
        void write(Zeek m, MessagePacker out) throws IOException {
            out.packMapHeader(23 + (m.rtt == null ? 0 : 1));
            out.packString("ts");
            out.packLong(m.ts);
            out.packString("uid");
            out.packString(m.uid);
            out.packString("orig_h");
            out.packString(m.orig_h);
            out.packString("orig_p");
            out.packInt(m.orig_p);
            out.packString("resp_h");
            out.packString(m.resp_h);
            out.packString("resp_p");
            out.packInt(m.resp_p);
            out.packString("proto");
            out.packString(m.proto);
            out.packString("trans_id");
            out.packInt(m.trans_id);
            if (m.rtt != null) {
                out.packString("rtt");
                out.packDouble(m.rtt);
            }
            out.packString("query");
            out.packString(m.query);
            out.packString("qclass");
            out.packInt(m.qclass);
            out.packString("qclass_name");
            out.packString(m.qclass_name);
            out.packString("qtype");
            out.packInt(m.qtype);
            out.packString("qtype_name");
            out.packString(m.qtype_name);
            out.packString("rcode");
            out.packInt(m.rcode);
            out.packString("rcode_name");
            out.packString(m.rcode_name);
            out.packString("aa");
            out.packBoolean(m.aa);
            out.packString("tc");
            out.packBoolean(m.tc);
            out.packString("rd");
            out.packBoolean(m.rd);
            out.packString("ra");
            out.packBoolean(m.ra);
            out.packString("z");
            out.packInt(m.z);
            out.packString("answers");
            write(m.answers, out);
            out.packString("ttls");
            write(m.ttls, out);
            out.packString("rejected");
            out.packBoolean(m.rejected);
        }

        @Override
        Zeek read(MessageUnpacker in) throws IOException {
            Zeek m = new Zeek();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                switch (in.unpackString()) {
                    case "ts" -> m.ts = in.unpackLong();
                    case "uid" -> m.uid = in.unpackString();
                    case "orig_h" -> m.orig_h = in.unpackString();
                    case "orig_p" -> m.orig_p = in.unpackInt();
                    case "resp_h" -> m.resp_h = in.unpackString();
                    case "resp_p" -> m.resp_p = in.unpackInt();
                    case "proto" -> m.proto = in.unpackString();
                    case "trans_id" -> m.trans_id = in.unpackInt();
                    case "rtt" -> m.rtt = in.unpackDouble();
                    case "query" -> m.query = in.unpackString();
                    case "qclass" -> m.qclass = in.unpackInt();
                    case "qclass_name" -> m.qclass_name = in.unpackString();
                    case "qtype" -> m.qtype = in.unpackInt();
                    case "qtype_name" -> m.qtype_name = in.unpackString();
                    case "rcode" -> m.rcode = in.unpackInt();
                    case "rcode_name" -> m.rcode_name = in.unpackString();
                    case "aa" -> m.aa = in.unpackBoolean();
                    case "tc" -> m.tc = in.unpackBoolean();
                    case "rd" -> m.rd = in.unpackBoolean();
                    case "ra" -> m.ra = in.unpackBoolean();
                    case "z" -> m.z = in.unpackInt();
                    case "answers" -> m.answers = texts(in);
                    case "ttls" -> m.ttls = doubles(in);
                    case "rejected" -> m.rejected = in.unpackBoolean();
                    default -> in.skipValue();
                }
            }
            return m;
        }
    }

    private static final class Measurements extends MsgPackFields<Measurement> {
        @Override
        void write(Measurement m, MessagePacker out) throws IOException {
            out.packMapHeader(4);
            out.packString("metric");
            out.packString(m.metric);
            out.packString("tags");
            write(m.tags, out);
            out.packString("logtime");
            out.packLong(m.logtime);
            out.packString("value");
            out.packLong(m.value);
        }

        @Override
        Measurement read(MessageUnpacker in) throws IOException {
            Measurement m = new Measurement();
            for (int left = in.unpackMapHeader(); left > 0; left--) {
                switch (in.unpackString()) {
                    case "metric" -> m.metric = in.unpackString();
                    case "tags" -> m.tags = map(in);
                    case "logtime" -> m.logtime = in.unpackLong();
                    case "value" -> m.value = in.unpackLong();
                    default -> in.skipValue();
                }
            }
            return m;
        }
    }
}
