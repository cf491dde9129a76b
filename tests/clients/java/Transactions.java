/*
 * Transactions by Kafka's own Java clients of some releases: the verb `transform`, which is Transform.java, and `follow`,
 * which reads what was committed and prints it until standard input closes.
 */

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Transactions {
    static final Duration POLL = Duration.ofMillis(200);

    public static void main(String[] args) throws Exception {
        Map<String, String> flags = new HashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) flags.put(args[i].substring(2), args[i + 1]);
        if (args[0].equals("follow")) {
            follow(flags);
            return;
        }
        if (args[0].equals("write")) {
            write(flags);
            return;
        }
        if (!args[0].equals("transform")) throw new IllegalArgumentException("unknown verb " + args[0]);
        System.exit(new Transform(flags).run());
    }

    /* One transaction of its own in partition 0. */
    private static void write(Map<String, String> flags) {
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("transactional.id", flags.get("transactional-id"));
        boolean commits = flags.get("end").equals("commit");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            for (int i = 0; i < Integer.parseInt(flags.get("count")); i++) {
                producer.send(new ProducerRecord<>(flags.get("output"), 0, null, flags.get("value") + " " + i));
            }
            producer.flush();
            if (commits) producer.commitTransaction();
            else producer.abortTransaction();
        }
        print("{\"ended\":\"" + flags.get("end") + "\"}");
    }

    private static void follow(Map<String, String> flags) {
        AtomicBoolean running = new AtomicBoolean(true);
        readLines(line -> {}, () -> running.set(false));
        try (KafkaConsumer<String, String> consumer = consumer(flags, new Properties())) {
            List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(flags.get("partitions")))
                .mapToObj(p -> new TopicPartition(flags.get("topic"), p)).collect(Collectors.toList());
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (running.get()) {
                for (ConsumerRecord<String, String> r : consumer.poll(POLL)) {
                    print("{\"partition\":" + r.partition() + ",\"offset\":" + r.offset() + ",\"value\":\"" + r.value() + "\"}");
                }
            }
        }
    }

    static KafkaConsumer<String, String> consumer(Map<String, String> flags, Properties p) {
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("isolation.level", flags.getOrDefault("isolation", "read_committed"));
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    /* Gives each line of standard input to `take`, and calls `closed` when it closes, on a thread of its own. */
    static void readLines(Consumer<String> take, Runnable closed) {
        Thread reader = new Thread(() -> {
            try {
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
                for (String line = in.readLine(); line != null; line = in.readLine()) take.accept(line);
            } catch (IOException asGoodAsClosed) {
                // the harness is gone
            }
            closed.run();
        });
        reader.setDaemon(true);
        reader.start();
    }

    static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
