/*
 * The program of the course of transactions (tests/clients/transactions/course.ts says what it does) as a Spring
 * application: a listener of batches within transactions of the container. Its exceptions have the container roll back
 * and deliver the same records again.
 */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;

public final class SpringApp {
    private static final Duration POLL = Duration.ofMillis(200);

    public static void main(String[] args) throws Exception {
        Map<String, Object> flags = new HashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) flags.put(args[i].substring(2), args[i + 1]);
        switch (args[0]) {
            case "transform" -> transform(flags);
            case "follow" -> follow(flags);
            default -> throw new IllegalArgumentException("unknown verb " + args[0]);
        }
        System.exit(0);
    }

    private static void transform(Map<String, Object> flags) throws Exception {
        try (var context = new AnnotationConfigApplicationContext()) {
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("flags", flags));
            context.register(Transforming.class);
            context.refresh();
            var listener = context.getBean(Transforming.Listener.class);
            var lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) listener.told(line);
            listener.told("go");
        }
    }

    private static void follow(Map<String, Object> flags) {
        AtomicBoolean running = new AtomicBoolean(true);
        Thread waiting = new Thread(() -> {
            new BufferedReader(new InputStreamReader(System.in)).lines().forEach(line -> { });
            running.set(false);
        });
        waiting.setDaemon(true);
        waiting.start();
        try (var consumer = new DefaultKafkaConsumerFactory<String, String>(consumerSettings(flags)).createConsumer()) {
            var all = IntStream.range(0, Integer.parseInt((String) flags.get("partitions")))
                .mapToObj(partition -> new TopicPartition((String) flags.get("topic"), partition)).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            while (running.get()) {
                consumer.poll(POLL).forEach(record -> print("{\"partition\":" + record.partition()
                    + ",\"offset\":" + record.offset() + ",\"value\":\"" + record.value() + "\"}"));
            }
        }
    }

    /* For what is committed, from the start on. */
    static Map<String, Object> consumerSettings(Map<String, Object> flags) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, flags.get("bootstrap"));
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        return settings;
    }

    static synchronized void print(String json) {
        System.out.println(json);
        System.out.flush();
    }

    /* What became of a transaction. */
    static void printEnd(String how, String tx) {
        print("{\"event\":\"" + how + "\",\"tx\":\"" + tx + "\"}");
    }
}
