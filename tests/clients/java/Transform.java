/*
 * The verb `transform`: reads as a member of a group, and writes what it makes of that in transactions which also commit
 * how far it has read.
 */

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

final class Transform {
    private static final int MOST_RECORDS = 20;
    private static final int COPIES = 2;
    private static final int FENCED = 3;
    private static final int FAILED = 4;

    private final Map<String, String> flags;
    private final String id;
    private final String name;
    private final int partitions;
    private final double abortRate;
    private final Random random;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;
    private final Group group;
    private final Semaphore go = new Semaphore(0);
    private volatile boolean running = true;
    private volatile boolean hold = false;
    /* The transaction that is open, or null. */
    private String tx = null;
    private int number = 0;

    Transform(Map<String, String> flags) {
        this.flags = flags;
        id = flags.get("transactional-id");
        name = id + "-" + System.currentTimeMillis();
        partitions = Integer.parseInt(flags.get("partitions"));
        abortRate = Double.parseDouble(flags.get("abort-rate"));
        random = new Random(Long.parseLong(flags.get("seed")));
        Properties p = new Properties();
        p.put("bootstrap.servers", flags.get("bootstrap"));
        p.put("transactional.id", id);
        p.put("transaction.timeout.ms", flags.get("transaction-timeout-ms"));
        p.put("linger.ms", "2");
        producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
        Properties c = new Properties();
        c.put("group.id", flags.get("group"));
        c.put("session.timeout.ms", "6000");
        c.put("heartbeat.interval.ms", "1000");
        c.put("max.poll.records", String.valueOf(MOST_RECORDS));
        consumer = Transactions.consumer(flags, c);
        group = new Group(consumer, flags.get("group"));
    }

    /* Gives the exit code. */
    int run() throws InterruptedException {
        Transactions.readLines(this::told, () -> {
            running = false;
            go.release();
        });
        try (consumer) {
            untilAnswered(producer::initTransactions);
            Transactions.print("{\"event\":\"ready\"}");
            consumer.subscribe(Collections.singletonList(flags.get("input")));
            while (running) {
                ConsumerRecords<String, String> records = consumer.poll(Transactions.POLL);
                if (!records.isEmpty()) transact(records);
            }
            producer.close();
            return 0;
        } catch (ProducerFencedException error) {
            ended("fenced", error);
            return FENCED;
        } catch (KafkaException error) {
            error.printStackTrace();
            ended("failed", error);
            return FAILED;
        }
    }

    private void told(String line) {
        if (line.equals("hold")) hold = true;
        else if (line.equals("go")) go.release();
    }

    /* Throws only what the producer cannot go on from. */
    private void transact(ConsumerRecords<String, String> records) throws InterruptedException {
        boolean aborts = random.nextDouble() < abortRate;
        KafkaException reason = null;
        tx = name + "-" + number++;
        try {
            producer.beginTransaction();
            write(records);
            if (hold) {
                hold = false;
                aborts = false;
                Transactions.print("{\"event\":\"holding\",\"tx\":\"" + tx + "\"}");
                go.acquire();
            }
            if (!aborts) {
                untilAnswered(producer::commitTransaction);
                ended("committed", null);
                return;
            }
        } catch (ProducerFencedException error) {
            throw error;
        } catch (KafkaException error) {
            reason = error;
        }
        // of an error that cannot be got over, this throws as well
        untilAnswered(producer::abortTransaction);
        ended("aborted", reason);
        // No poll was between, so nothing else is assigned since.
        records.partitions().forEach(of -> consumer.seek(of, records.records(of).get(0).offset()));
    }

    private void write(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        int count = COPIES * records.count();
        for (ConsumerRecord<String, String> r : records) {
            for (int copy = 0; copy < COPIES; copy++) {
                int partition = (r.partition() + copy) % partitions;
                String text = r.partition() + " " + r.offset() + " " + copy + " " + tx + " " + count + " " + r.value();
                producer.send(new ProducerRecord<>(flags.get("output"), partition, null, text));
            }
            offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
        }
        group.send(producer, offsets);
        producer.flush();
    }

    /* What has timed out is to be asked again, as its outcome is not known. */
    private static void untilAnswered(Runnable work) {
        while (true) {
            try {
                work.run();
                return;
            } catch (TimeoutException again) {
                System.err.println(again);
            }
        }
    }

    private void ended(String how, KafkaException error) {
        String of = tx == null ? "null" : '"' + tx + '"';
        String why = error == null ? "" : ",\"error\":\"" + error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ") + '"';
        Transactions.print("{\"event\":\"" + how + "\",\"tx\":" + of + why + "}");
        tx = null;
    }
}
