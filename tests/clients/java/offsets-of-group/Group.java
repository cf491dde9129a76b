/* How a transaction takes offsets along in the clients before KIP-447: by the group's name, whoever is a member of it. */

import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

final class Group {
    private final String id;

    Group(KafkaConsumer<?, ?> consumer, String id) {
        this.id = id;
    }

    void send(KafkaProducer<?, ?> producer, Map<TopicPartition, OffsetAndMetadata> offsets) {
        producer.sendOffsetsToTransaction(offsets, id);
    }
}
