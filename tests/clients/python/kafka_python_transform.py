"""kafka-python in the course of tests/clients/transactions."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import InvalidProducerEpochError, KafkaTimeoutError, ProducerFencedError
from kafka.structs import OffsetAndMetadata

from adapter import emit, text
from transform import HEARTBEAT_INTERVAL_MS, MOST_RECORDS, POLL_S, SESSION_TIMEOUT_MS, Library, main


class KafkaPython(Library):
    def __init__(self, args):
        self.args = args
        # the default backs off up to 30 s while the broker restarts
        self.common = {"bootstrap_servers": args.bootstrap, "reconnect_backoff_max_ms": 1000}
        self.producer = None
        self.consumer = None

    def consumer_of(self, **config):
        return KafkaConsumer(
            **self.common,
            **config,
            isolation_level=self.args.isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )

    def start(self):
        if self.producer is None:
            self.producer = KafkaProducer(
                **self.common,
                transactional_id=self.args.transactional_id,
                transaction_timeout_ms=self.args.transaction_timeout_ms,
                linger_ms=2,
            )
        self.producer.init_transactions()

    def poll(self):
        if self.consumer is None:
            self.consumer = self.consumer_of(
                group_id=self.args.group,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            )
            # the library's own race, as told in kafka_python_client.py
            self.consumer.partitions_for_topic(self.args.input)
            self.consumer.subscribe([self.args.input])
        found = self.consumer.poll(timeout_ms=int(POLL_S * 1000), max_records=MOST_RECORDS)
        return [(r.partition, r.offset, text(r.value)) for records in found.values() for r in records]

    def begin(self):
        self.producer.begin_transaction()

    def write(self, copies):
        sent = [self.producer.send(self.args.output, value.encode(), partition=p) for p, value in copies]
        self.producer.flush()
        for future in sent:
            future.get()

    def send_offsets(self, nexts):
        offsets = {
            TopicPartition(self.args.input, p): OffsetAndMetadata(offset, "", -1) for p, offset in nexts.items()
        }
        self.producer.send_offsets_to_transaction(offsets, self.consumer.group_metadata())

    def commit(self):
        self.producer.commit_transaction()

    def abort(self):
        self.producer.abort_transaction()

    def rewind(self, firsts):
        for partition, offset in firsts.items():
            self.consumer.seek(TopicPartition(self.args.input, partition), offset)

    def close(self):
        self.consumer.close()
        self.producer.close()

    def fenced(self, error):
        return isinstance(error, (ProducerFencedError, InvalidProducerEpochError))

    def passes(self, error):
        return isinstance(error, KafkaTimeoutError)

    def follow(self, running):
        consumer = self.consumer_of()
        consumer.assign([TopicPartition(self.args.topic, p) for p in range(self.args.partitions)])
        consumer.seek_to_beginning()
        while running():
            for records in consumer.poll(timeout_ms=int(POLL_S * 1000)).values():
                for r in records:
                    emit(partition=r.partition, offset=r.offset, value=text(r.value))
        consumer.close()


main(KafkaPython)
