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
import org.slf4j.LoggerFactory;

public final class ToolHost {
    /** Ends a tool that asked for the process to end, wherever in it that was. */
    private static final class Ended extends Error {
        Ended(int code) {
            super("exit " + code, null, false, false);
        }
    }

    private static final ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();

    /** The first end that a tool asked for, and what it had printed by then: some catch it, and end in another way again. */
    private static ObjectNode said;

    public static void main(String[] arguments) throws Exception {
        Exit.Procedure end = (code, message) -> {
            if (message != null) System.err.println(message);
            if (said.get("code") == null) tell(code);
            throw new Ended(code);
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        // They would pile up, and run when this program ends.
        Exit.setShutdownHookAdder((name, hook) -> { });
        // The logger keeps the stderr that it finds first: that of this process, not of a tool.
        LoggerFactory.getLogger(ToolHost.class);
        PrintStream answers = System.out;
        ObjectMapper json = new ObjectMapper();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(json.writeValueAsString(run(json, json.readTree(line))));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode run(ObjectMapper json, JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        said = json.createObjectNode();
        out.reset();
        err.reset();
        PrintStream stdout = System.out, stderr = System.err;
        InputStream stdin = System.in;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(request.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        try {
            Class.forName(request.get("tool").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) args.toArray(new String[0]));
            if (said.get("code") == null) tell(0);
        } catch (InvocationTargetException thrown) {
            if (said.get("code") == null) {
                thrown.getCause().printStackTrace();
                tell(1);
            }
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
            System.setIn(stdin);
        }
        return said;
    }

    /** Keeps how the run ends. Scala's Console keeps the stream that it first saw; tools that use it flush it themselves. */
    private static void tell(int code) {
        System.out.flush();
        System.err.flush();
        said.put("code", code)
            .put("out", out.toString(StandardCharsets.UTF_8))
            .put("err", err.toString(StandardCharsets.UTF_8));
    }
}
