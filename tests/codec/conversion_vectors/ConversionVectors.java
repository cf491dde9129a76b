// Makes UpConversion.jsonl and DownConversion.jsonl: what Kafka's own code makes of the cases of RecordBatch.jsonl when
// an old client produces or fetches them. Up is the broker's validator of 4.4.0, down is the one of 3.9.1, the last
// release that has it; so it runs twice, with the jars of the one or the other (and Jackson, lz4, snappy, zstd) in CP:
//   java -cp "$CP" ConversionVectors.java up ../../vectors/RecordBatch.jsonl > UpConversion.jsonl
//   java -cp "$CP" ConversionVectors.java down ../../vectors/RecordBatch.jsonl > DownConversion.jsonl
// Reflection stands where the packages of the two releases differ.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;

public class ConversionVectors {
  static final ObjectMapper mapper = new ObjectMapper();
  static final int MAX_BYTES = 2000;

  public static void main(String[] args) throws Exception {
    for (String line : Files.readAllLines(Path.of(args[1]))) {
      JsonNode vector = mapper.readTree(line);
      int magic = vector.get("magic").asInt();
      byte[] bytes = HexFormat.of().parseHex(vector.get("hex").asText());
      if (args[0].equals("up")) {
        if (magic == 0 || magic == 1) print(vector, mapper.createObjectNode(), () -> up(bytes));
      } else if (vector.get("kind").asText().equals("valid")) {
        long first = Long.MAX_VALUE;
        for (JsonNode batch : vector.get("batches"))
          for (JsonNode record : batch.get("records")) first = Math.min(first, record.get("offset").asLong());
        if (first == Long.MAX_VALUE) continue;
        for (int to = 0; to < Math.min(magic, 2); to++)
          for (long from = first; from < first + 2; from++) {
            byte toMagic = (byte) to;
            long fetchOffset = from;
            ObjectNode out = mapper.createObjectNode().put("toMagic", to).put("fetchOffset", "" + from);
            print(vector, out, () -> down(bytes, toMagic, fetchOffset));
          }
      }
    }
  }

  interface Conversion {
    ByteBuffer run() throws Throwable;
  }

  static void print(JsonNode vector, ObjectNode out, Conversion conversion) throws Exception {
    ObjectNode line = mapper.createObjectNode().put("case", vector.get("case").asText());
    line.setAll(out);
    try {
      ByteBuffer buffer = conversion.run().duplicate();
      if (buffer.remaining() > MAX_BYTES) return;
      byte[] converted = new byte[buffer.remaining()];
      buffer.get(converted);
      line.put("errorCode", 0).put("hex", HexFormat.of().formatHex(converted));
    } catch (Throwable thrown) {
      Throwable error = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
      line.put("errorCode", Errors.forException(error).code());
    }
    System.out.println(mapper.writeValueAsString(line));
  }

  static Class<?> type(String name) throws Exception {
    for (String p : new String[] {"record.internal.", "record.", "utils.internals.", "utils.", "compress."})
      try {
        return Class.forName("org.apache.kafka.common." + p + name);
      } catch (ClassNotFoundException next) {
        continue;
      }
    throw new ClassNotFoundException(name);
  }

  static Object call(Object on, String name, Object... args) throws Exception {
    Class<?> owner = on instanceof Class ? (Class<?>) on : on.getClass();
    for (Method method : owner.getMethods())
      if (method.getName().equals(name) && method.getParameterCount() == args.length
          && fits(method.getParameterTypes(), args)) {
        method.setAccessible(true);
        return method.invoke(on, args);
      }
    throw new NoSuchMethodException(name);
  }

  static boolean fits(Class<?>[] types, Object[] args) {
    for (int i = 0; i < types.length; i++)
      if (!types[i].isPrimitive() && args[i] != null && !types[i].isInstance(args[i])) return false;
    return true;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  static Object constant(Class<?> of, String name) {
    return Enum.valueOf((Class) of, name);
  }

  static ByteBuffer down(byte[] bytes, byte toMagic, long fetchOffset) throws Exception {
    Object records = call(type("MemoryRecords"), "readableRecords", ByteBuffer.wrap(bytes));
    Object converted = call(records, "downConvert", toMagic, fetchOffset, Time.SYSTEM);
    return (ByteBuffer) call(call(converted, "records"), "buffer");
  }

  static ByteBuffer up(byte[] bytes) throws Throwable {
    String log = "org.apache.kafka.storage.internals.log.";
    Class<?> compressionType = type("CompressionType");
    Object records = call(type("MemoryRecords"), "readableRecords", ByteBuffer.wrap(bytes));
    Object source = constant(compressionType, "NONE");
    for (Object batch : (Iterable<?>) call(records, "batches")) {
      call(batch, "ensureValid");
      Object codec = call(batch, "compressionType");
      if (codec != constant(compressionType, "NONE")) source = codec;
    }
    Class<?> validatorType = Class.forName(log + "LogValidator");
    Object origin = constant(Class.forName(log + "AppendOrigin"), "CLIENT");
    Object validator = Arrays.stream(validatorType.getConstructors())
        .filter(c -> c.getParameterCount() == 12).findFirst().orElseThrow()
        .newInstance(records, new TopicPartition("t", 0), Time.SYSTEM, source,
            call(call(type("Compression"), "of", source), "build"), false, (byte) 2,
            constant(type("TimestampType"), "CREATE_TIME"), Long.MAX_VALUE, Long.MAX_VALUE, -1, origin);
    Class<?> recorder = Class.forName(log + "LogValidator$MetricsRecorder");
    Object noMetrics = Proxy.newProxyInstance(recorder.getClassLoader(), new Class<?>[] {recorder}, (p, m, a) -> null);
    Object noBuffers = type("BufferSupplier").getField("NO_CACHING").get(null);
    Object offset = call(type("PrimitiveRef"), "ofLong", 0L);
    try {
      Object result = call(validator, "validateMessagesAndAssignOffsets", offset, noMetrics, noBuffers);
      return (ByteBuffer) call(call(result, "validatedRecords"), "buffer");
    } catch (InvocationTargetException thrown) {
      Throwable cause = thrown.getCause();
      throw cause.getClass().getSimpleName().equals("RecordValidationException")
          ? (Throwable) call(cause, "invalidException")
          : cause;
    }
  }
}
