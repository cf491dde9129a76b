/* How a transaction takes offsets along since KIP-447: with the member and its generation, so that a zombie is fenced. */

import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

final class Group {
    private final KafkaConsumer<?, ?> consumer;

    Group(KafkaConsumer<?, ?> consumer, String id) {
        this.consumer = consumer;
    }

    void send(KafkaProducer<?, ?> producer, Map<TopicPartition, OffsetAndMetadata> offsets) {
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
    }
}
