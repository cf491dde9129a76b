/* What the programs of this folder share: flags, JSON lines on standard output, the word to end from standard input. */

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

final class Lines {
    private Lines() {
    }

    /* ["--name", "value", ...] as a map. */
    static Map<String, String> flags(String[] args) {
        Map<String, String> flags = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) flags.put(args[i].substring(2), args[i + 1]);
        return flags;
    }

    /* One event with its fields, all of them text that needs no escapes; null stays null. */
    static synchronized void print(String event, String... fields) {
        StringBuilder line = new StringBuilder("{\"event\":\"").append(event).append('"');
        for (int i = 0; i < fields.length; i += 2) {
            line.append(",\"").append(fields[i]).append("\":");
            if (fields[i + 1] == null) line.append("null");
            else line.append('"').append(fields[i + 1]).append('"');
        }
        System.out.println(line.append('}'));
    }

    static void whenStdinCloses(Runnable work) {
        Thread waiting = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException gone) {
                // as good as closed
            }
            work.run();
        });
        waiting.setDaemon(true);
        waiting.start();
    }
}
