"""confluent-kafka (librdkafka) in the course of tests/clients/transactions."""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from adapter import emit, text
from transform import HEARTBEAT_INTERVAL_MS, MOST_RECORDS, POLL_S, SESSION_TIMEOUT_MS, Library, main

CALL_S = 30
FENCES = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}


class ConfluentKafka(Library):
    def __init__(self, args):
        self.args = args
        self.common = {
            "bootstrap.servers": args.bootstrap,
            "reconnect.backoff.max.ms": 1000,
            # Otherwise it lets go of a broker that it cannot reach, and still waits for it to commit offsets (#5511 there).
            "metadata.recovery.strategy": "none",
        }
        self.producer = None
        self.consumer = None

    def consumer_of(self, config):
        return Consumer(self.common | config | {
            "isolation.level": self.args.isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        })

    def start(self):
        if self.producer is None:
            self.producer = Producer(self.common | {
                "transactional.id": self.args.transactional_id,
                "transaction.timeout.ms": self.args.transaction_timeout_ms,
                "linger.ms": 2,
            })
        self.producer.init_transactions(CALL_S)

    def poll(self):
        if self.consumer is None:
            self.consumer = self.consumer_of({
                "group.id": self.args.group,
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            })
            self.consumer.subscribe([self.args.input])
        return [(m.partition(), m.offset(), text(m.value())) for m in self.read(MOST_RECORDS)]

    def read(self, most):
        for message in self.consumer.consume(most, timeout=POLL_S):
            # errors here are events (broker down, reconnecting); librdkafka goes on by itself
            if message.error():
                print(message.error(), file=sys.stderr)
            else:
                yield message

    def begin(self):
        self.producer.begin_transaction()

    def write(self, copies):
        def delivered(error, _message):
            # the next call for this transaction says so, too
            if error:
                print(f"not delivered: {error}", file=sys.stderr)

        for partition, value in copies:
            self.producer.produce(self.args.output, value, partition=partition, on_delivery=delivered)
        self.producer.flush()

    def send_offsets(self, nexts):
        offsets = [TopicPartition(self.args.input, p, offset) for p, offset in nexts.items()]
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), CALL_S)

    def commit(self):
        self.producer.commit_transaction(CALL_S)

    def abort(self):
        self.producer.abort_transaction(CALL_S)

    def rewind(self, firsts):
        for partition, offset in firsts.items():
            self.consumer.seek(TopicPartition(self.args.input, partition, offset))

    def close(self):
        self.consumer.close()

    def fenced(self, error):
        return isinstance(error, KafkaException) and error.args[0].code() in FENCES

    def passes(self, error):
        return isinstance(error, KafkaException) and error.args[0].retriable()

    def follow(self, running):
        self.consumer = self.consumer_of({"group.id": "unused"})
        of = self.args
        self.consumer.assign([TopicPartition(of.topic, p, OFFSET_BEGINNING) for p in range(of.partitions)])
        while running():
            for message in self.read(1000):
                emit(partition=message.partition(), offset=message.offset(), value=text(message.value()))
        self.consumer.close()


main(ConfluentKafka)
