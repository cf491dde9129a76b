/*
 * Transactions by Kafka's own Java client, for the checker in tests/transactions. The verbs are those of
 * python/workload.py: `writer`, `reader` and `transformer` go on until standard input closes and say what they do and
 * see as the JSON lines of tests/transactions/history.ts. A line that says what is about to be done is out before it is
 * done: the process may be killed at any time.
 */

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Workload {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final int[] RECORDS = {1, 1, 2, 3, 5, 8};
    private static final int[] HOLD_MS = {0, 0, 20, 300};

    private final Map<String, String> flags;
    private final String name;
    private final Random random;
    private final List<TopicPartition> all;
    private volatile boolean running = true;
    private KafkaConsumer<String, String> consumer;
    private KafkaProducer<String, String> producer;
    private int txn = 0;

    private Workload(Map<String, String> flags) {
        this.flags = flags;
        name = flags.get("name");
        random = new Random(Long.parseLong(flags.get("seed")));
        all = places(flags.get("topics"));
        Thread waiter = new Thread(() -> {
            ClientAdapter.untilStandardInputCloses();
            running = false;
        });
        waiter.setDaemon(true);
        waiter.start();
    }

    public static void main(String[] args) {
        Map<String, String> flags = new HashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) flags.put(args[i].substring(2), args[i + 1]);
        int code = 0;
        try {
            new Workload(flags).run(args[0]);
        } catch (Exception e) {
            e.printStackTrace();
            System.err.println(e.toString().replace('\n', ' '));
            code = 1;
        }
        // without waiting for what a broken producer still has on the way
        Runtime.getRuntime().halt(code);
    }

    private void run(String verb) throws InterruptedException {
        switch (verb) {
            case "writer" -> transact(this::write);
            case "transformer" -> {
                consumer = member();
                transact(this::transform);
                consumer.close();
            }
            case "reader" -> {
                boolean member = flags.containsKey("group");
                consumer = member ? member() : assigned();
                while (running) {
                    if (poll(POLL, "").isEmpty() || !member) continue;
                    try {
                        consumer.commitSync();
                    } catch (KafkaException e) {
                        System.err.println("commit: " + e); // a rebalance overtook it: others get the records
                    }
                }
                consumer.close();
            }
            default -> throw new IllegalArgumentException("unknown verb " + verb);
        }
    }

    /** This producer is of no use any more; a new one with its transactional id is. */
    private static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        Broken(String what, Exception cause) {
            super(what + ": " + cause, cause);
        }
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private void transact(Work work) throws InterruptedException {
        try {
            while (running) {
                try {
                    if (producer == null) connect();
                    else work.run();
                } catch (Broken e) {
                    System.err.println("new producer: " + e.getMessage());
                    if (producer != null) producer.close(Duration.ZERO);
                    producer = null;
                }
            }
        } catch (ProducerFencedException e) {
            say("fenced", "\"error\":" + quoted(e.toString()));
        }
    }

    private void connect() {
        String timeoutMs = flags.get("transaction-timeout-ms");
        Properties p = properties();
        p.put("transactional.id", flags.get("transactional-id"));
        p.put("transaction.timeout.ms", timeoutMs);
        p.put("request.timeout.ms", flags.get("request-timeout-ms"));
        p.put("delivery.timeout.ms", timeoutMs);
        p.put("max.block.ms", timeoutMs);
        p.put("linger.ms", "5");
        KafkaProducer<String, String> made = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
        say("init", "\"type\":\"invoke\"");
        try {
            untilDone("init", made::initTransactions);
        } catch (KafkaException | Broken e) {
            made.close(Duration.ZERO);
            if (e instanceof ProducerFencedException) throw e;
            throw e instanceof Broken ? e : new Broken("init", e);
        }
        say("init", "\"type\":\"ok\"");
        producer = made;
    }

    /** Calls until it is done; a timeout leaves it open whether it was, and the same call may be made again. */
    private void untilDone(String what, Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException e) {
                if (!running) throw new Broken(what, e);
            }
        }
    }

    /** One transaction that says what it will do, does it, and says what became of it; whether it is committed. */
    private boolean one(List<TopicPartition> sends, boolean commit, Work work, List<String> rest, String more)
        throws InterruptedException {
        int its = ++txn;
        long[] offsets = new long[sends.size()];
        Arrays.fill(offsets, -1);
        say("txn", "\"type\":\"invoke\",\"txn\":" + its + ",\"sends\":" + strings(sends) + ",\"commit\":" + commit + more);
        try {
            try {
                producer.beginTransaction();
                for (int n = 0; n < offsets.length; n++) {
                    int at = n;
                    TopicPartition to = sends.get(n);
                    String value = name + " " + its + " " + n + rest.get(n);
                    producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value), (metadata, failure) -> {
                        if (failure == null) offsets[at] = metadata.offset();
                    });
                }
                work.run();
                if (commit) {
                    producer.flush();
                    say("commit", "\"type\":\"invoke\",\"txn\":" + its);
                    // so that whoever is told of it may stop this process before the request is out
                    if (random.nextBoolean()) TimeUnit.MILLISECONDS.sleep(20);
                    untilDone("commit", producer::commitTransaction);
                    say("txn", "\"type\":\"ok\",\"txn\":" + its + ",\"offsets\":" + Arrays.toString(offsets));
                    return true;
                }
                untilDone("abort", producer::abortTransaction);
                say("txn", "\"type\":\"fail\",\"txn\":" + its);
            } catch (ProducerFencedException e) {
                throw e;
            } catch (KafkaException e) {
                abortAfter(e, its);
            }
        } catch (KafkaException | Broken e) {
            say("txn", "\"type\":\"info\",\"txn\":" + its + ",\"error\":" + quoted(e.toString()));
            if (e instanceof ProducerFencedException || e instanceof Broken) throw e;
            throw new Broken("txn", e);
        }
        return false;
    }

    private void abortAfter(KafkaException failure, int its) {
        untilDone("abort", producer::abortTransaction);
        say("txn", "\"type\":\"fail\",\"txn\":" + its + ",\"error\":" + quoted(failure.toString()));
    }

    /** Appends a few records to a few partitions, and in some transactions reads what others have appended before. */
    private void write() throws InterruptedException {
        List<TopicPartition> chosen = new ArrayList<>(all);
        Collections.shuffle(chosen, random);
        chosen = chosen.subList(0, 1 + random.nextInt(chosen.size()));
        int count = RECORDS[random.nextInt(RECORDS.length)];
        List<TopicPartition> sends = new ArrayList<>();
        for (int n = 0; n < count; n++) sends.add(chosen.get(random.nextInt(chosen.size())));
        boolean reads = random.nextDouble() < 0.25;
        int holdMs = HOLD_MS[random.nextInt(HOLD_MS.length)];
        int its = txn + 1;
        one(sends, random.nextDouble() < 0.75, () -> {
            if (reads) {
                if (consumer == null) consumer = assigned();
                poll(Duration.ofMillis(50), ",\"txn\":" + its);
            }
            TimeUnit.MILLISECONDS.sleep(holdMs);
        }, Collections.nCopies(count, ""), "");
        TimeUnit.MILLISECONDS.sleep((long) (random.nextDouble() * 2000 / Double.parseDouble(flags.getOrDefault("rate", "20"))));
    }

    /** Answers each record of its input by one in its output, with the offsets of the input in the same transaction. */
    private void transform() throws InterruptedException {
        List<ConsumerRecord<String, String>> records = poll(POLL, "");
        if (records.isEmpty()) return;
        List<TopicPartition> out = places(flags.get("output"));
        List<TopicPartition> sends = new ArrayList<>();
        List<String> rest = new ArrayList<>();
        List<String> inputs = new ArrayList<>();
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        for (ConsumerRecord<String, String> r : records) {
            TopicPartition from = new TopicPartition(r.topic(), r.partition());
            sends.add(out.get(random.nextInt(out.size())));
            rest.add(" " + from + "@" + r.offset());
            inputs.add("[" + quoted(from.toString()) + "," + r.offset() + "]");
            next.put(from, new OffsetAndMetadata(r.offset() + 1));
        }
        String offsets = next.entrySet().stream()
            .map(each -> "[" + quoted(each.getKey().toString()) + "," + each.getValue().offset() + "]")
            .collect(Collectors.joining(","));
        String more = ",\"inputs\":[" + String.join(",", inputs) + "],\"offsets\":[" + offsets + "]";
        try {
            Work work = () -> producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
            if (!one(sends, random.nextDouble() < 0.8, work, rest, more)) rewind();
        } catch (Broken e) {
            rewind();
            throw e;
        }
    }

    /** Goes back to what is committed, or it would never read again what the transaction had read. */
    private void rewind() {
        say("rewound", "\"of\":" + txn);
        try {
            var found = consumer.committed(consumer.assignment());
            for (TopicPartition p : consumer.assignment()) {
                OffsetAndMetadata committed = found.get(p);
                consumer.seek(p, committed == null ? 0 : committed.offset());
            }
        } catch (KafkaException e) {
            System.err.println("rewind: " + e);
            // a new member begins with what is committed, too
            consumer.close();
            consumer = member();
        }
    }

    /** The records of one poll, which are told, with where the reader is after it. */
    private List<ConsumerRecord<String, String>> poll(Duration timeout, String more) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        consumer.poll(timeout).forEach(records::add);
        if (records.isEmpty()) return records;
        String told = records.stream()
            .map(r -> "[" + quoted(r.topic() + "-" + r.partition()) + "," + r.offset() + "," + quoted(r.value()) + "]")
            .collect(Collectors.joining(","));
        String positions = consumer.assignment().stream()
            .filter(p -> records.stream().anyMatch(r -> r.partition() == p.partition() && r.topic().equals(p.topic())))
            .map(p -> "[" + quoted(p.toString()) + "," + consumer.position(p) + "]")
            .collect(Collectors.joining(","));
        say("poll", "\"records\":[" + told + "],\"positions\":[" + positions + "]" + more);
        return records;
    }

    /** Reads all partitions from their beginning, without a group. */
    private KafkaConsumer<String, String> assigned() {
        KafkaConsumer<String, String> made = consumer(properties());
        made.assign(all);
        made.seekToBeginning(all);
        return made;
    }

    /** A member of the group that reads the input topics. */
    private KafkaConsumer<String, String> member() {
        Properties p = properties();
        p.put("group.id", flags.get("group"));
        p.put("session.timeout.ms", "6000");
        p.put("heartbeat.interval.ms", "500");
        KafkaConsumer<String, String> made = consumer(p);
        List<String> topics = all.stream().map(TopicPartition::topic).distinct().toList();
        made.subscribe(topics, new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> added) {
                say("assigned", "\"places\":" + strings(added));
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> lost) {
                say("revoked", "\"places\":" + strings(lost));
            }
        });
        return made;
    }

    private KafkaConsumer<String, String> consumer(Properties p) {
        p.put("isolation.level", flags.getOrDefault("isolation", "read_committed"));
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        p.put("fetch.max.wait.ms", "200");
        p.put("max.poll.records", String.valueOf(List.of(5, 40, 200).get(random.nextInt(3))));
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    private Properties properties() {
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("client.id", name);
        return p;
    }

    /** "a:3,b:2" as the places of all these partitions. */
    private static List<TopicPartition> places(String topicCounts) {
        List<TopicPartition> found = new ArrayList<>();
        for (String each : topicCounts.split(",")) {
            String[] pair = each.split(":");
            for (int p = 0; p < Integer.parseInt(pair[1]); p++) found.add(new TopicPartition(pair[0], p));
        }
        return found;
    }

    /** A line about now, by a clock that all processes of the machine share. */
    private static void say(String f, String rest) {
        ClientAdapter.emit("{\"f\":" + quoted(f) + ",\"at\":" + System.nanoTime() / 1e6 + "," + rest + "}");
    }

    private static String strings(Collection<TopicPartition> places) {
        return places.stream().map(p -> quoted(p.toString())).collect(Collectors.joining(",", "[", "]"));
    }

    private static String quoted(String value) {
        return '"' + value.replaceAll("[\"\\\\\\p{Cntrl}]", " ") + '"';
    }
}
