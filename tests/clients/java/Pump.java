/*
 * The verb `pump`: sends numbered records at a steady rate until standard input closes, and tells of each what became of
 * it. Sending and telling share the object's lock, for acknowledgements come on the client's own thread.
 */

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

final class Pump {
    /** Records under way at once; with more, a broker that is away would only be told more lines later. */
    private static final int WINDOW = 2000;
    private static final int[] BATCHES = {1, 1, 2, 5, 20, 60};
    private static final long TICK_MS = 5;

    private final String topic;
    private final String name;
    private final int rate;
    private final Random random;
    private final long[] next;
    private final KafkaProducer<String, String> producer;
    private int underWay = 0;
    private volatile boolean running = true;
    /** By partition: the acknowledged records that follow each other and are not told yet: first, count, offset. */
    private final Map<Integer, long[]> acked = new HashMap<>();

    Pump(Map<String, String> flags, Properties p) {
        topic = flags.get("topic");
        name = flags.get("producer");
        rate = Integer.parseInt(flags.get("rate"));
        random = new Random(Long.parseLong(flags.get("seed")));
        next = new long[Integer.parseInt(flags.get("partitions"))];
        p.put("acks", flags.getOrDefault("acks", "all"));
        p.put("compression.type", flags.getOrDefault("codec", "none"));
        p.put("enable.idempotence", flags.getOrDefault("idempotent", "false"));
        p.put("linger.ms", "5");
        p.put("delivery.timeout.ms", "300000");
        if (flags.containsKey("in-flight")) p.put("max.in.flight.requests.per.connection", flags.get("in-flight"));
        producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
    }

    void run() throws InterruptedException {
        Thread waiter = new Thread(() -> {
            ClientAdapter.untilStandardInputCloses();
            running = false;
        });
        waiter.setDaemon(true);
        waiter.start();
        double perMs = rate / 1000.0;
        double due = 0;
        for (long last = System.nanoTime(); running; ) {
            TimeUnit.MILLISECONDS.sleep(TICK_MS);
            long now = System.nanoTime();
            // what an absence of the broker held up is not made up for afterwards
            due = Math.min(due + (now - last) / 1e6 * perMs, rate);
            last = now;
            while (due > 0 && room()) due -= send();
            tellAll();
        }
        producer.flush();
        producer.close();
        tellAll();
        synchronized (this) {
            ClientAdapter.emit("{\"event\":\"flushed\",\"left\":" + underWay + "}");
        }
    }

    private synchronized boolean room() {
        return underWay < WINDOW;
    }

    private int send() {
        int partition = random.nextInt(next.length);
        int count = BATCHES[random.nextInt(BATCHES.length)];
        long first = next[partition];
        next[partition] += count;
        synchronized (this) {
            underWay += count;
        }
        ClientAdapter.emit("{\"event\":\"sending\"," + range(partition, first, count) + "}");
        for (long number = first; number < first + count; number++) {
            long its = number;
            String value = name + " " + number + " " + ".".repeat(random.nextInt(100));
            producer.send(
                new ProducerRecord<>(topic, partition, null, value),
                (metadata, failure) -> delivered(partition, its, metadata, failure));
        }
        return count;
    }

    private synchronized void delivered(int partition, long number, RecordMetadata metadata, Exception failure) {
        underWay--;
        if (failure != null) {
            String said = failure.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ");
            ClientAdapter.emit("{\"event\":\"failed\"," + range(partition, number, 1) + ",\"error\":\"" + said + "\"}");
            return;
        }
        long[] run = acked.get(partition);
        if (run != null && number == run[0] + run[1] && metadata.offset() == run[2] + run[1]) {
            run[1]++;
            return;
        }
        tell(partition);
        acked.put(partition, new long[] {number, 1, metadata.offset()});
    }

    private synchronized void tellAll() {
        for (int partition = 0; partition < next.length; partition++) tell(partition);
    }

    private void tell(int partition) {
        long[] run = acked.remove(partition);
        if (run == null) return;
        ClientAdapter.emit("{\"event\":\"acked\"," + range(partition, run[0], run[1]) + ",\"offset\":" + run[2] + "}");
    }

    private static String range(int partition, long first, long count) {
        return "\"partition\":" + partition + ",\"first\":" + first + ",\"count\":" + count;
    }
}
