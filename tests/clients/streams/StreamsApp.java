/*
 * A Kafka Streams application: word counts, also by time, a windowed join, and joins of tables. It prints JSON lines of
 * what becomes of it, and ends in order when its standard input closes.
 *
 * Under at_least_once a plain count may count a line again that was under way at a crash. The other counts keep beside
 * each number how far it has come in each partition of the lines, so replays change nothing and it is exact.
 */

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.StateRestoreListener;

public final class StreamsApp {
    private static final long PROGRESS_LINES = 100;
    /* Longer than any course: a record that comes again after a restart is never too late for its window. */
    private static final Duration GRACE = Duration.ofHours(1);

    public static void main(String[] args) throws Exception {
        Map<String, String> flags = Lines.flags(args);
        KafkaStreams streams = new KafkaStreams(topology(flags).build(), properties(flags));
        streams.setStateListener((to, from) -> Lines.print("state", "to", to.name()));
        streams.setGlobalStateRestoreListener(new Restoring());
        CountDownLatch failed = new CountDownLatch(1);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            failed.countDown();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        Thread ending = Thread.currentThread();
        Lines.whenStdinCloses(ending::interrupt);
        try {
            failed.await();
            System.exit(1);
        } catch (InterruptedException closed) {
            boolean ended = streams.close(Duration.ofSeconds(30));
            System.exit(ended && failed.getCount() > 0 ? 0 : 1);
        }
    }

    private static Properties properties(Map<String, String> flags) {
        Properties p = new Properties();
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, flags.get("bootstrap"));
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, flags.get("application"));
        p.put(StreamsConfig.STATE_DIR_CONFIG, flags.get("state-dir"));
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, flags.get("guarantee"));
        if (flags.get("guarantee").equals(StreamsConfig.EXACTLY_ONCE_V2)) {
            // so that results have each step of a count, and not only what a commit finds
            p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        }
        p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        p.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 500);
        p.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 1000);
        p.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        p.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6000);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 1000);
        // so that changelogs have more than the segment that is written to, which no compaction touches
        p.put(StreamsConfig.topicPrefix("segment.ms"), "2000");
        p.put(StreamsConfig.topicPrefix("min.cleanable.dirty.ratio"), "0.01");
        p.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
        return p;
    }

    private static StreamsBuilder topology(Map<String, String> flags) {
        StreamsBuilder builder = new StreamsBuilder();
        countWords(builder, Duration.ofMillis(Long.parseLong(flags.get("count-window-ms"))));
        joinStreams(builder, Duration.ofMillis(Long.parseLong(flags.get("join-window-ms"))));
        joinTables(builder);
        return builder;
    }

    /* A line is "partition number word word ...", numbered from 0 in each partition. */
    private static void countWords(StreamsBuilder builder, Duration window) {
        AtomicLong seen = new AtomicLong();
        KGroupedStream<String, String> words = builder.<String, String>stream("lines")
            .peek((key, line) -> {
                long count = seen.incrementAndGet();
                if (count % PROGRESS_LINES == 0) Lines.print("progress", "lines", String.valueOf(count));
            })
            .flatMap((key, line) -> {
                String[] parts = line.split(" ");
                String place = parts[0] + " " + parts[1];
                return new LinkedHashSet<>(Arrays.asList(parts).subList(2, parts.length)).stream()
                    .map(word -> KeyValue.pair(word, place)).toList();
            })
            .groupByKey(Grouped.as("words"));
        words.aggregate(() -> "0", StreamsApp::countOnce, Materialized.as("counts-once"))
            .toStream().mapValues(counted -> counted.split(" ")[0]).to("counts-once");
        words.windowedBy(TimeWindows.ofSizeAndGrace(window, GRACE))
            .aggregate(() -> "0", StreamsApp::countOnce, Materialized.as("counts-windowed"))
            .toStream((windowed, counted) -> windowed.key() + "@" + windowed.window().start())
            .mapValues(counted -> counted.split(" ")[0]).to("counts-windowed");
        words.count(Materialized.as("counts-plain")).toStream().mapValues(String::valueOf).to("counts-plain");
    }

    /* "count partition:number partition:number ...": a line that is not behind the last one of its partition counts. */
    private static String countOnce(String word, String place, String counted) {
        String[] at = place.split(" ");
        long number = Long.parseLong(at[1]);
        String[] parts = counted.split(" ");
        Map<String, Long> last = new TreeMap<>();
        for (String part : Arrays.asList(parts).subList(1, parts.length)) {
            last.put(part.split(":")[0], Long.parseLong(part.split(":")[1]));
        }
        if (number <= last.getOrDefault(at[0], -1L)) return counted;
        last.put(at[0], number);
        StringBuilder next = new StringBuilder(String.valueOf(Long.parseLong(parts[0]) + 1));
        last.forEach((partition, line) -> next.append(' ').append(partition).append(':').append(line));
        return next.toString();
    }

    private static void joinStreams(StreamsBuilder builder, Duration window) {
        builder.<String, String>stream("left")
            .join(
                builder.<String, String>stream("right"),
                (left, right) -> left + "|" + right,
                JoinWindows.ofTimeDifferenceAndGrace(window, GRACE),
                StreamJoined.<String, String, String>as("join").withStoreName("join"))
            .to("joined-streams");
    }

    /* Values of `orders` are "number customer"; `prices` have the same keys, `customers` those customers. */
    private static void joinTables(StreamsBuilder builder) {
        KTable<String, String> orders = builder.table("orders", Materialized.as("orders"));
        KTable<String, String> prices = builder.table("prices", Materialized.as("prices"));
        KTable<String, String> customers = builder.table("customers", Materialized.as("customers"));
        orders.join(prices, (order, price) -> order + "|" + price, Materialized.as("joined"))
            .toStream().to("joined-tables");
        orders.join(customers, order -> order.split(" ")[1], (order, customer) -> order + "|" + customer,
                Materialized.as("joined-foreign"))
            .toStream().to("joined-foreign");
    }

    /* Tells how many records of a changelog each store was made from again. */
    private static final class Restoring implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition partition, String store, long start, long end) {
        }

        @Override
        public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
        }

        @Override
        public void onRestoreEnd(TopicPartition partition, String store, long count) {
            Lines.print("restored", "store", store, "records", String.valueOf(count));
        }
    }
}
