/* The command: java -jar lab/java/target/lab-java.jar conform|bench … */
package io.rawline.lab;

import java.util.List;

public final class Main {
    private static final String USAGE = """
            usage: java -jar lab-java.jar conform write | conform read
                   java -jar lab-java.jar bench --quick | --full  [--filter REGEX] [--seconds N]
                   java -jar lab-java.jar rows
            The filter is looked for in FORMAT/LIBRARY[+VARIANT] CASE. LAB_RUN and LAB_COMMIT go into the results.""";

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        List<String> words = List.of(arguments);
        if (words.equals(List.of("conform", "write"))) {
            Conform.write(Lab.folder());
        } else if (words.equals(List.of("conform", "read"))) {
            Conform.read(Lab.folder());
        } else if (words.equals(List.of("rows"))) {
            Rows.all().forEach(row -> System.out.println(row.id() + " " + row.version()));
        } else if (!words.isEmpty() && words.get(0).equals("bench")) {
            Bench.run(Lab.folder(), words.subList(1, words.size()));
        } else {
            System.err.println(USAGE);
            System.exit(2);
        }
    }
}
