/* Prints every record of the topics that it is told, from the first to the last that was there when it began (--isolation). */

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public final class Read {
    private static final long TIMEOUT_MS = 30_000;

    public static void main(String[] args) {
        Map<String, String> flags = Lines.flags(args);
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("isolation.level", flags.get("isolation"));
        try (var consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = Arrays.stream(flags.get("topics").split(","))
                .flatMap(topic -> consumer.partitionsFor(topic).stream())
                .map(found -> new TopicPartition(found.topic(), found.partition())).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            long deadline = System.currentTimeMillis() + TIMEOUT_MS;
            // The position moves past offsets that compaction has emptied, so it says when all was read.
            while (all.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.currentTimeMillis() > deadline) throw new IllegalStateException("not at the ends in time");
                consumer.poll(Duration.ofMillis(200)).forEach(Read::print);
            }
        }
    }

    private static void print(ConsumerRecord<byte[], byte[]> record) {
        Lines.print("record", "topic", record.topic(), "partition", String.valueOf(record.partition()),
            "offset", String.valueOf(record.offset()), "timestamp", String.valueOf(record.timestamp()),
            "key", text(record.key()), "value", text(record.value()));
    }

    /* Text as it is; what is not (stores write binary into their changelogs) with its bytes above "~" as dots. */
    private static String text(byte[] bytes) {
        if (bytes == null) return null;
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) text.append(b >= ' ' && b <= '~' && b != '"' && b != '\\' ? (char) b : '.');
        return text.toString();
    }
}
