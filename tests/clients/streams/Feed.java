/*
 * Makes the topics and feeds the application at a steady rate until standard input closes: lines of words, two streams,
 * three tables. The producer is idempotent, and who reads the topics knows what it sent.
 */

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Feed {
    private static final int PARTITIONS = 3;
    private static final List<String> STREAMS = List.of("lines", "left", "right");
    private static final List<String> TABLES = List.of("orders", "prices", "customers");
    private static final List<String> RESULTS =
        List.of("counts-once", "counts-windowed", "counts-plain", "joined-streams", "joined-tables", "joined-foreign");
    private static final int WORDS = 300;
    private static final int JOIN_KEYS = 20;
    private static final int ORDERS = 150;
    private static final int CUSTOMERS = 15;
    private static final long TICK_MS = 20;

    private final Random random;
    private final KafkaProducer<String, String> producer;
    private final Map<String, Long> acked = new ConcurrentHashMap<>();
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private final long[] lineNumbers = new long[PARTITIONS];
    private long number;

    private Feed(Random random, KafkaProducer<String, String> producer) {
        this.random = random;
        this.producer = producer;
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> flags = Lines.flags(args);
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("linger.ms", 10);
        p.put("compression.type", "lz4");
        createTopics(p);
        AtomicBoolean running = new AtomicBoolean(true);
        Lines.whenStdinCloses(() -> running.set(false));
        try (var producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            Feed feed = new Feed(new Random(Long.parseLong(flags.get("seed"))), producer);
            while (running.get() && feed.failure.get() == null) {
                feed.tick();
                Thread.sleep(TICK_MS);
            }
            producer.flush();
            if (feed.failure.get() != null) throw feed.failure.get();
            feed.acked.forEach((topic, count) -> Lines.print("fed", "topic", topic, "records", String.valueOf(count)));
        }
    }

    private static void createTopics(Properties p) throws Exception {
        try (Admin admin = Admin.create(p)) {
            Map<String, String> compact = new HashMap<>();
            compact.put("cleanup.policy", "compact");
            // Values that were overwritten are looked at in the end: their compaction begins only later.
            compact.put("min.compaction.lag.ms", "3600000");
            var plain = java.util.stream.Stream.of(STREAMS, RESULTS).flatMap(List::stream)
                .map(name -> new NewTopic(name, PARTITIONS, (short) 1));
            var tables = TABLES.stream().map(name -> new NewTopic(name, PARTITIONS, (short) 1).configs(compact));
            admin.createTopics(java.util.stream.Stream.concat(plain, tables).toList()).all().get();
        }
        Lines.print("created");
    }

    /* What is sent in each 20 ms. */
    private void tick() {
        for (int i = 0; i < 4; i++) sendLine();
        if (random.nextInt(2) == 0) send("left", key("j", JOIN_KEYS), "L" + number);
        if (random.nextInt(2) == 0) send("right", key("j", JOIN_KEYS), "R" + number);
        String customer = key("c", CUSTOMERS);
        // No deletions: Streams does not pass one on that comes again after a crash to a store that has it already.
        send("orders", key("o", ORDERS), "O" + number + " " + customer);
        send("prices", key("o", ORDERS), "P" + number);
        if (random.nextInt(5) == 0) send("customers", customer, "C" + number);
    }

    private void sendLine() {
        int partition = random.nextInt(PARTITIONS);
        StringBuilder line = new StringBuilder().append(partition).append(' ').append(lineNumbers[partition]++);
        for (int i = random.nextInt(8); i >= 0; i--) line.append(' ').append(key("w", WORDS));
        send(new ProducerRecord<>("lines", partition, null, line.toString()));
    }

    private String key(String prefix, int count) {
        return prefix + random.nextInt(count);
    }

    private void send(String topic, String key, String value) {
        number++;
        send(new ProducerRecord<>(topic, key, value));
    }

    private void send(ProducerRecord<String, String> record) {
        producer.send(record, (metadata, error) -> {
            if (error != null) failure.compareAndSet(null, error);
            else acked.merge(record.topic(), 1L, Long::sum);
        });
    }
}
