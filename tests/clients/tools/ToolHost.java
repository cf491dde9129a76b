/*
 * Runs Kafka's command-line tools one after the other in one JVM, which would take a second to start for each. Reads a line
 * of JSON for each run, {"tool", "args", "input"}, and prints one: {"code", "out", "err"}. What a tool prints after its
 * end is nobody's.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

public final class ToolHost {
    /** Ends a tool that asked for the process to end, wherever in it that was. */
    private static final class Ended extends Error {
        final int code;

        Ended(int code) {
            super("exit " + code, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Exit.Procedure end = (code, message) -> {
            if (message != null) System.err.println(message);
            throw new Ended(code);
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        // They would pile up, and run when this program ends.
        Exit.setShutdownHookAdder((name, hook) -> { });
        PrintStream out = System.out;
        ObjectMapper json = new ObjectMapper();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            out.println(json.writeValueAsString(run(json, json.readTree(line))));
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode run(ObjectMapper json, JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
        PrintStream stdout = System.out, stderr = System.err;
        InputStream stdin = System.in;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(request.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        int code = 0;
        try {
            Class.forName(request.get("tool").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) args.toArray(new String[0]));
        } catch (InvocationTargetException thrown) {
            code = codeOf(thrown.getCause());
        } finally {
            // Scala's Console keeps the stream that it first saw; tools that use it flush it themselves.
            System.out.flush();
            System.err.flush();
            System.setOut(stdout);
            System.setErr(stderr);
            System.setIn(stdin);
        }
        return json.createObjectNode()
            .put("code", code)
            .put("out", out.toString(StandardCharsets.UTF_8))
            .put("err", err.toString(StandardCharsets.UTF_8));
    }

    /** As a JVM would end by what was thrown. */
    private static int codeOf(Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (cause instanceof Ended) return ((Ended) cause).code;
        }
        thrown.printStackTrace();
        return 1;
    }
}
