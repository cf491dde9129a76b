/*
 * The adapter of Kafka's own Java clients. One source for 3.9 and 4.4: it uses only what both have, so the deprecated
 * listConsumerGroups and state. Results alone go to standard output, as JSON lines; the reason of a failure is the
 * last line of standard error.
 */

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class ClientAdapter {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final PrintStream OUT =
        new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);

    private final Map<String, String> flags;
    private final String topic;
    private final String group;

    private ClientAdapter(Map<String, String> flags) {
        this.flags = flags;
        this.topic = flags.get("topic");
        this.group = flags.get("group");
    }

    public static void main(String[] args) {
        int code = 0;
        try {
            Map<String, String> flags = new HashMap<>();
            for (int i = 1; i + 1 < args.length; i += 2) flags.put(args[i].substring(2), args[i + 1]);
            new ClientAdapter(flags).run(args[0]);
        } catch (Exception e) {
            Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
            e.printStackTrace();
            System.err.println(cause.toString().replace('\n', ' '));
            code = 1;
        }
        OUT.flush();
        System.exit(code);
    }

    private void run(String verb) throws Exception {
        switch (verb) {
            case "produce" -> produce();
            case "consume" -> consume();
            case "member" -> member();
            case "pump" -> new Pump(flags, properties()).run();
            default -> {
                try (Admin admin = Admin.create(properties())) {
                    administer(verb, admin);
                }
            }
        }
    }

    private void administer(String verb, Admin admin) throws Exception {
        switch (verb) {
            case "create" -> {
                int partitions = Integer.parseInt(flags.get("partitions"));
                admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
                emit("{\"ok\":true}");
            }
            case "list" -> emit("{\"topics\":" + strings(admin.listTopics().names().get()) + "}");
            case "describe" -> {
                int partitions = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
                emit("{\"partitions\":" + partitions + "}");
            }
            case "delete" -> {
                admin.deleteTopics(List.of(topic)).all().get();
                emit("{\"ok\":true}");
            }
            case "committed" -> {
                var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
                Map<Integer, Long> byPartition = new TreeMap<>();
                offsets.forEach((tp, o) -> {
                    if (tp.topic().equals(topic) && o != null) byPartition.put(tp.partition(), o.offset());
                });
                byPartition.forEach((p, o) -> emit("{\"partition\":" + p + ",\"offset\":" + o + "}"));
            }
            case "groups" -> {
                var ids = admin.listConsumerGroups().all().get().stream().map(g -> g.groupId()).toList();
                emit("{\"groups\":" + strings(ids) + "}");
            }
            case "describe-group" -> {
                var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                emit("{\"state\":" + quoted(described.state().toString()) + ",\"members\":" + described.members().size() + "}");
            }
            case "delete-group" -> {
                admin.deleteConsumerGroups(List.of(group)).all().get();
                emit("{\"ok\":true}");
            }
            default -> throw new IllegalArgumentException("unknown verb " + verb);
        }
    }

    private void produce() throws Exception {
        int start = Integer.parseInt(flags.getOrDefault("start", "0"));
        int count = Integer.parseInt(flags.get("count"));
        String base = flags.get("timestamp-base");
        Integer partition = flags.containsKey("partition") ? Integer.valueOf(flags.get("partition")) : null;
        Properties p = properties();
        p.put("acks", "all");
        p.put("compression.type", flags.getOrDefault("codec", "none"));
        p.put("enable.idempotence", flags.getOrDefault("idempotent", "false"));
        p.put("linger.ms", "5"); // so that there are batches to compress
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            for (int i = start; i < start + count; i++) {
                Long timestamp = base == null ? null : Long.valueOf(Long.parseLong(base) + i);
                sent.add(producer.send(new ProducerRecord<>(topic, partition, timestamp, "k" + i, "v" + i)));
            }
            for (var each : sent) each.get();
        }
        emit("{\"acked\":" + sent.size() + "}");
    }

    private void consume() {
        int count = Integer.parseInt(flags.get("count"));
        String from = flags.getOrDefault("from", "beginning");
        long deadline = System.currentTimeMillis() + Long.parseLong(flags.getOrDefault("timeout-ms", "30000"));
        int seen = 0;
        try (var consumer = consumer(properties())) {
            var partitions = consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
            consumer.assign(partitions);
            if (from.equals("beginning")) consumer.seekToBeginning(partitions);
            else seekToTime(consumer, partitions, Long.parseLong(from.substring("timestamp:".length())));
            while (seen < count && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> r : consumer.poll(POLL)) {
                    if (seen == count) break;
                    seen++;
                    OUT.println("{\"partition\":" + r.partition() + ",\"offset\":" + r.offset()
                        + ",\"key\":" + quoted(r.key()) + ",\"value\":" + quoted(r.value()) + "}");
                }
            }
        }
        if (seen < count) throw new IllegalStateException("consumed " + seen + " of " + count + " records in time");
        emit("{\"done\":" + seen + "}");
    }

    private void seekToTime(KafkaConsumer<String, String> consumer, List<TopicPartition> partitions, long ms) {
        var found = consumer.offsetsForTimes(partitions.stream().collect(Collectors.toMap(tp -> tp, tp -> ms)));
        for (TopicPartition tp : partitions) {
            OffsetAndTimestamp at = found.get(tp);
            if (at == null) consumer.seekToEnd(List.of(tp)); // no record at or after that time
            else consumer.seek(tp, at.offset());
        }
    }

    private void member() {
        Properties p = properties();
        p.put("group.id", group);
        String protocol = flags.getOrDefault("group-protocol", "classic");
        p.put("group.protocol", protocol);
        if (protocol.equals("classic")) { // under the consumer protocol the broker has the say
            p.put("session.timeout.ms", "6000"); // the shortest that Kafka allows
            p.put("heartbeat.interval.ms", "1000");
        }
        if (flags.containsKey("instance-id")) p.put("group.instance.id", flags.get("instance-id"));
        try (var consumer = consumer(p)) {
            Thread waiter = new Thread(() -> {
                untilStandardInputCloses();
                consumer.wakeup();
            });
            waiter.setDaemon(true);
            waiter.start();
            consumer.subscribe(List.of(topic), new AssignmentPrinter(consumer));
            while (true) pollAndCommit(consumer);
        } catch (WakeupException leave) {
            // closing the consumer has left the group
        }
    }

    private void pollAndCommit(KafkaConsumer<String, String> consumer) {
        ConsumerRecords<String, String> records = consumer.poll(POLL);
        if (records.isEmpty()) return;
        for (ConsumerRecord<String, String> r : records) {
            OUT.println("{\"event\":\"record\",\"at\":" + now() + ",\"partition\":" + r.partition() + ",\"offset\":" + r.offset()
                + ",\"value\":" + quoted(r.value()) + "}");
        }
        OUT.flush();
        try {
            consumer.commitSync();
            emit("{\"event\":\"committed\",\"at\":" + now() + "}");
        } catch (RebalanceInProgressException | CommitFailedException e) {
            System.err.println("commit: " + e); // the next commit takes along what is still owned then
        }
    }

    /**
     * Prints the whole assignment when it differs from the one printed before. A revocation is printed at once, since
     * under a cooperative protocol records of other partitions may come before the new assignment does.
     */
    private static final class AssignmentPrinter implements ConsumerRebalanceListener {
        private final KafkaConsumer<?, ?> consumer;
        private List<Integer> printed = null;

        AssignmentPrinter(KafkaConsumer<?, ?> consumer) {
            this.consumer = consumer;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            print(revoked);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> added) {
            print(List.of());
        }

        /** What the consumer calls its assignment still has what it is about to lose. */
        private void print(Collection<TopicPartition> lost) {
            var now = consumer.assignment().stream().filter(tp -> !lost.contains(tp))
                .map(TopicPartition::partition).sorted().toList();
            if (!now.equals(printed)) emit("{\"event\":\"assigned\",\"partitions\":" + now + "}");
            printed = now;
        }
    }

    /** Milliseconds by a clock that all processes of the machine share, to order what several of them saw. */
    private static double now() {
        return System.nanoTime() / 1e6;
    }

    static void untilStandardInputCloses() {
        try {
            while (System.in.read() >= 0) { /* what it says is of no interest */ }
        } catch (java.io.IOException closed) {
            // as good as its end
        }
    }

    private Properties properties() {
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.getOrDefault("bootstrap", "127.0.0.1:9092"));
        p.put("client.id", "java-adapter");
        return p;
    }

    private static KafkaConsumer<String, String> consumer(Properties p) {
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    private static String strings(Collection<String> values) {
        return values.stream().map(ClientAdapter::quoted).collect(Collectors.joining(",", "[", "]"));
    }

    private static String quoted(String value) {
        return value == null ? "null" : '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    static synchronized void emit(String json) {
        OUT.println(json);
        OUT.flush();
    }
}
