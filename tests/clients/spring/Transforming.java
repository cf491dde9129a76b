/* The Spring configuration: a producer with transactions, their manager, the container that begins them, the listener. */

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.core.TransactionIdSuffixStrategy;
import org.springframework.kafka.event.ConsumerStoppedEvent;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

@Configuration
@EnableKafka
class Transforming {
    private static final int MOST_RECORDS = 20;
    private static final int COPIES = 2;
    private static final int FENCED = 3;

    /* The transaction that is under way, or null; the container has but one thread. */
    private final AtomicReference<String> tx = new AtomicReference<>();
    private final Environment flags;

    Transforming(Environment flags) {
        this.flags = flags;
    }

    @Bean
    ProducerFactory<String, String> producers() {
        var factory = new DefaultKafkaProducerFactory<String, String>(Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, flags.getProperty("bootstrap"),
            ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, flags.getProperty("transaction-timeout-ms"),
            ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
            ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class));
        factory.setTransactionIdPrefix(flags.getProperty("transactional-id"));
        factory.setTransactionIdSuffixStrategy(new OneProducer());
        return factory;
    }

    @Bean
    KafkaTemplate<String, String> template(ProducerFactory<String, String> producers) {
        return new KafkaTemplate<>(producers);
    }

    /* Tells of each end. One that fails without the producer being fenced is not told: it may have come to pass. */
    @Bean
    KafkaTransactionManager<String, String> transactions(ProducerFactory<String, String> producers) {
        return new KafkaTransactionManager<>(producers) {
            @Override
            protected void doCommit(DefaultTransactionStatus status) {
                super.doCommit(status);
                told("committed");
            }

            @Override
            protected void doRollback(DefaultTransactionStatus status) {
                super.doRollback(status);
                told("aborted");
            }

            private void told(String how) {
                String its = tx.getAndSet(null);
                if (its != null) SpringApp.printEnd(how, its);
            }
        };
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
            KafkaTransactionManager<String, String> transactions) {
        Map<String, Object> settings = SpringApp.consumerSettings(Map.of("bootstrap", flags.getProperty("bootstrap")));
        settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, 6000);
        settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, 1000);
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MOST_RECORDS);
        var factory = new ConcurrentKafkaListenerContainerFactory<String, String>();
        factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(settings));
        factory.setBatchListener(true);
        factory.getContainerProperties().setKafkaAwareTransactionManager(transactions);
        factory.getContainerProperties().setStopContainerWhenFenced(true);
        return factory;
    }

    @Bean
    Listener listener(KafkaTemplate<String, String> template) {
        // The container takes the same producer, which has its epoch from now on.
        template.executeInTransaction(producer -> true);
        SpringApp.print("{\"event\":\"ready\"}");
        return new Listener(template);
    }

    @EventListener
    void stopped(ConsumerStoppedEvent event) {
        if (event.getReason() != ConsumerStoppedEvent.Reason.FENCED) return;
        SpringApp.printEnd("fenced", tx.get());
        Runtime.getRuntime().halt(FENCED);
    }

    /* Spring numbers the producers of a prefix; here there is but one at a time, with the name as it is. */
    private static final class OneProducer implements TransactionIdSuffixStrategy {
        @Override
        public String acquireSuffix(String prefix) {
            return "";
        }

        @Override
        public void releaseSuffix(String prefix, String suffix) {
        }
    }

    final class Listener {
        private final KafkaTemplate<String, String> template;
        private final String id = flags.getProperty("transactional-id") + "-" + System.currentTimeMillis();
        private final int partitions = flags.getRequiredProperty("partitions", Integer.class);
        private final double abortRate = flags.getRequiredProperty("abort-rate", Double.class);
        private final Random random = new Random(flags.getRequiredProperty("seed", Long.class));
        private final Semaphore go = new Semaphore(0);
        private volatile boolean hold = false;
        private int number = 0;

        Listener(KafkaTemplate<String, String> template) {
            this.template = template;
        }

        void told(String line) {
            if (line.equals("hold")) hold = true;
            else if (line.equals("go")) go.release();
        }

        @KafkaListener(topics = "${input}", groupId = "${group}")
        void take(List<ConsumerRecord<String, String>> records) throws InterruptedException {
            String its = id + "-" + number++;
            tx.set(its);
            int count = COPIES * records.size();
            for (ConsumerRecord<String, String> r : records) {
                for (int copy = 0; copy < COPIES; copy++) {
                    int partition = (r.partition() + copy) % partitions;
                    String place = r.partition() + " " + r.offset() + " " + copy;
                    template.send(flags.getProperty("output"), partition, null, place + " " + its + " " + count + " " + r.value());
                }
            }
            template.flush();
            if (hold) {
                hold = false;
                SpringApp.print("{\"event\":\"holding\",\"tx\":\"" + its + "\"}");
                go.acquire();
            } else if (random.nextDouble() < abortRate) {
                throw new IllegalStateException("by chance");
            }
        }
    }
}
