"""aiokafka in the course of tests/clients/transactions. Its transactions know a group by its name only."""

import asyncio
import threading

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidProducerEpoch, KafkaTimeoutError, ProducerFenced

from adapter import emit, text
from transform import HEARTBEAT_INTERVAL_MS, MOST_RECORDS, POLL_S, SESSION_TIMEOUT_MS, Library, main


class Aiokafka(Library):
    """Its loop has a thread of its own, so that heartbeats go on while the course holds a transaction."""

    def __init__(self, args):
        self.args = args
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.producer = None
        self.consumer = None

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def start(self):
        self.wait(self._start())

    async def _start(self):
        if self.producer is None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.args.bootstrap,
                transactional_id=self.args.transactional_id,
                transaction_timeout_ms=self.args.transaction_timeout_ms,
            )
            await producer.start()
            self.producer = producer
        # Only a transaction has it wait for its id. Of one without anything in it the broker is told nothing.
        await self.producer.begin_transaction()
        await self.producer.abort_transaction()

    def poll(self):
        return self.wait(self._poll())

    async def _poll(self):
        if self.consumer is None:
            self.consumer = await self._consumer(
                self.args.input,
                group_id=self.args.group,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            )
        found = await self.consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=MOST_RECORDS)
        return [(r.partition, r.offset, text(r.value)) for records in found.values() for r in records]

    async def _consumer(self, *topics, **config):
        consumer = AIOKafkaConsumer(
            *topics,
            **config,
            bootstrap_servers=self.args.bootstrap,
            isolation_level=self.args.isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        return consumer

    def begin(self):
        self.wait(self.producer.begin_transaction())

    def write(self, copies):
        self.wait(self._write(copies))

    async def _write(self, copies):
        sent = [await self.producer.send(self.args.output, value.encode(), partition=p) for p, value in copies]
        await asyncio.gather(*sent)

    def send_offsets(self, nexts):
        offsets = {TopicPartition(self.args.input, p): offset for p, offset in nexts.items()}
        self.wait(self.producer.send_offsets_to_transaction(offsets, self.args.group))

    def commit(self):
        self.wait(self.producer.commit_transaction())

    def abort(self):
        self.wait(self.producer.abort_transaction())

    def rewind(self, firsts):
        self.loop.call_soon_threadsafe(self._rewind, firsts)

    def _rewind(self, firsts):
        assigned = self.consumer.assignment()
        for partition, offset in firsts.items():
            # what is no longer its own, another reads from where the group has committed
            if TopicPartition(self.args.input, partition) in assigned:
                self.consumer.seek(TopicPartition(self.args.input, partition), offset)

    def close(self):
        self.wait(self.consumer.stop())
        self.wait(self.producer.stop())

    def fenced(self, error):
        return isinstance(error, (ProducerFenced, InvalidProducerEpoch))

    def passes(self, error):
        return isinstance(error, KafkaTimeoutError)

    def follow(self, running):
        self.wait(self._follow(running))

    async def _follow(self, running):
        consumer = await self._consumer()
        partitions = [TopicPartition(self.args.topic, p) for p in range(self.args.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning()
        while running():
            for records in (await consumer.getmany(timeout_ms=int(POLL_S * 1000))).values():
                for r in records:
                    emit(partition=r.partition, offset=r.offset, value=text(r.value))
        await consumer.stop()


main(Aiokafka)
