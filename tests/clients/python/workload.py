"""Transactions by confluent-kafka (librdkafka), for the checker in tests/transactions.

Verbs: `writer` appends to partitions in transactions, `reader` reads what was committed, `transformer` reads, writes and
commits the offsets in one transaction, `offsets` watches a group's committed offsets. All go on until stdin closes and say
what they do and see as the JSON lines of tests/transactions/history.ts. A line that says what is about to be done is out
before it is done: the process may be killed at any time.
"""

import argparse
import os
import random
import sys
import time

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from adapter import emit, now, on_stdin_closed, text

# When it has found the only broker gone and begun anew, librdkafka 2.16 may wait for ever, as with a group's offsets.
# When it has seen Kafka stop in order, its readers may not ask again for the leaders until the next refresh.
RECONNECT = {
    "reconnect.backoff.max.ms": 1000,
    "metadata.recovery.strategy": "none",
    "topic.metadata.refresh.interval.ms": 5000,
}
POLL_S = 0.2
CALL_S = 10
# A producer that has timed out so often has lost its way, and is made anew.
TIMES = 4
RECORDS = [1, 1, 2, 3, 5, 8]
POLL_RECORDS = [5, 40, 200]


class Fenced(Exception):
    """Another producer has this one's transactional id, or the coordinator gave up on it."""


class Broken(Exception):
    """This producer is of no use any more; a new one with its transactional id is."""


def place(message):
    return f"{message.topic()}-{message.partition()}"


def places(topic_counts):
    """"a:3,b:2" as the places of all these partitions."""
    pairs = [each.split(":") for each in topic_counts.split(",")]
    return [TopicPartition(topic, p) for topic, count in pairs for p in range(int(count))]


class Program:
    """What all verbs share: the flags, chance, and whether to go on."""

    def __init__(self, args):
        self.args = args
        self.random = random.Random(args.seed)
        self.running = True
        on_stdin_closed(self.stop)

    def stop(self):
        self.running = False

    def consumer(self, group=None):
        config = {
            "bootstrap.servers": self.args.bootstrap,
            "client.id": self.args.name,
            "isolation.level": self.args.isolation,
            "group.id": group or f"none-{self.args.name}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "fetch.wait.max.ms": 200,
            **RECONNECT,
        }
        if group:
            config |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
        return Consumer(config)

    def assigned_consumer(self):
        """Reads all partitions from their beginning, without a group."""
        consumer = self.consumer()
        consumer.assign([TopicPartition(p.topic, p.partition, OFFSET_BEGINNING) for p in places(self.args.topics)])
        return consumer

    def member(self):
        """A member of the group that reads the input topics."""
        consumer = self.consumer(self.args.group)

        def assigned(_consumer, partitions):
            emit(f="assigned", at=now(), places=[f"{p.topic}-{p.partition}" for p in partitions])

        def revoked(_consumer, partitions):
            emit(f="revoked", at=now(), places=[f"{p.topic}-{p.partition}" for p in partitions])

        topics = sorted({p.topic for p in places(self.args.topics)})
        consumer.subscribe(topics, on_assign=assigned, on_revoke=revoked, on_lost=revoked)
        return consumer

    def poll(self, consumer, timeout=POLL_S, **more):
        """The messages of one poll, which are told."""
        polled = consumer.consume(self.random.choice(POLL_RECORDS), timeout=timeout)
        # errors here are events (broker down, reconnecting); librdkafka goes on by itself
        messages = [message for message in polled if not message.error()]
        if messages:
            records = [[place(m), m.offset(), text(m.value())] for m in messages]
            emit(f="poll", at=now(), records=records, **more)
        return messages


class Transactor(Program):
    """A transactional producer that is made anew when it breaks."""

    def __init__(self, args):
        super().__init__(args)
        self.producer = None
        self.txn = 0

    def run(self):
        try:
            while self.running:
                self.work()
        except Fenced as reason:
            emit(f="fenced", at=now(), error=str(reason))
        finally:
            self.close()

    def work(self):
        try:
            if self.producer is None:
                self.connect()
            else:
                self.transact()
        except Broken as reason:
            print(f"new producer: {reason}", file=sys.stderr)
            self.producer = None

    def connect(self):
        timeout = self.args.transaction_timeout_ms
        producer = Producer({
            "bootstrap.servers": self.args.bootstrap,
            "client.id": self.args.name,
            "transactional.id": self.args.transactional_id,
            "transaction.timeout.ms": timeout,
            "message.timeout.ms": timeout,
            "socket.timeout.ms": min(self.args.request_timeout_ms, timeout),
            "linger.ms": 5,
            **RECONNECT,
        })
        emit(f="init", type="invoke", at=now())
        self.until_done(lambda: producer.init_transactions(CALL_S), "init")
        emit(f="init", type="ok", at=now())
        self.producer = producer

    def until_done(self, call, what):
        """Calls until it is done; throws Fenced, Broken, or what asks for an abort."""
        for left in range(TIMES, 0, -1):
            try:
                return call()
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
                    raise Fenced(f"{what}: {error}") from failure
                print(f"{what}: {error}", file=sys.stderr)
                if error.retriable() and self.running and left > 1:
                    continue
                if error.txn_requires_abort():
                    raise
                raise Broken(f"{what}: {error}") from failure

    def one(self, partitions, commit, work, values, **more):
        """One transaction that says what it will do, does it, and says what became of it."""
        self.txn += 1
        txn = self.txn
        offsets = [-1] * len(partitions)

        def delivered(error, message):
            if not error:
                offsets[int(text(message.value()).split()[2])] = message.offset()

        names = [f"{p.topic}-{p.partition}" for p in partitions]
        emit(f="txn", type="invoke", at=now(), txn=txn, sends=names, commit=commit, **more)
        try:
            self.producer.begin_transaction()
            for n, (p, rest) in enumerate(zip(partitions, values)):
                value = f"{self.args.name} {txn} {n}{rest}"
                self.producer.produce(p.topic, value, partition=p.partition, on_delivery=delivered)
            work(txn)
            if commit:
                self.until_done(lambda: self.producer.flush(CALL_S), "flush")
                emit(f="commit", type="invoke", at=now(), txn=txn)
                # so that whoever is told of it may stop this process before the request is out
                time.sleep(self.random.choice([0, 0.02]))
                self.until_done(lambda: self.producer.commit_transaction(CALL_S), "commit")
                emit(f="txn", type="ok", at=now(), txn=txn, offsets=offsets)
                return True
            self.until_done(lambda: self.producer.abort_transaction(CALL_S), "abort")
            emit(f="txn", type="fail", at=now(), txn=txn)
        except KafkaException as failure:
            self.abort_after(failure, txn)
        except (Broken, Fenced) as reason:
            emit(f="txn", type="info", at=now(), txn=txn, error=str(reason))
            raise
        return False

    def abort_after(self, failure, txn):
        print(f"abort after {failure}", file=sys.stderr)
        try:
            self.until_done(lambda: self.producer.abort_transaction(CALL_S), "abort")
            emit(f="txn", type="fail", at=now(), txn=txn, error=str(failure))
        except KafkaException as again:
            emit(f="txn", type="info", at=now(), txn=txn, error=f"{failure}, and its abort: {again}")
            raise Broken(str(again)) from again
        except (Broken, Fenced) as reason:
            emit(f="txn", type="info", at=now(), txn=txn, error=f"{failure}, and its abort: {reason}")
            raise

    def close(self):
        self.producer = None


class Writer(Transactor):
    """Appends a few records to a few partitions, and in some transactions reads what others have appended before."""

    def __init__(self, args):
        super().__init__(args)
        self.all = places(args.topics)
        self.reader = None

    def transact(self):
        r = self.random
        chosen = r.sample(self.all, r.randint(1, len(self.all)))
        count = r.choice(RECORDS)
        partitions = [r.choice(chosen) for _ in range(count)]
        reads = r.random() < 0.25
        hold_s = r.choice([0, 0, 0.02, 0.3])
        self.one(partitions, r.random() < 0.75, lambda txn: self.meanwhile(txn, reads, hold_s), [""] * count)
        time.sleep(r.random() * 2 / self.args.rate)

    def meanwhile(self, txn, reads, hold_s):
        if reads:
            self.reader = self.reader or self.assigned_consumer()
            self.poll(self.reader, 0.05, txn=txn)
        self.producer.poll(hold_s)


class Transformer(Transactor):
    """Answers each record of its input by one in its output, with the offsets of the input in the same transaction."""

    def __init__(self, args):
        super().__init__(args)
        self.out = places(args.output)
        self.input = self.member()

    def transact(self):
        messages = self.poll(self.input)
        if not messages:
            return
        r = self.random
        partitions = [r.choice(self.out) for _ in messages]
        nexts = {(m.topic(), m.partition()): m.offset() + 1 for m in messages}
        offsets = [TopicPartition(topic, p, offset) for (topic, p), offset in nexts.items()]
        metadata = self.input.consumer_group_metadata()

        def work(_txn):
            self.until_done(lambda: self.producer.send_offsets_to_transaction(offsets, metadata, CALL_S), "offsets")

        more = {
            "inputs": [[place(m), m.offset()] for m in messages],
            "offsets": [[f"{t}-{p}", offset] for (t, p), offset in nexts.items()],
        }
        values = [f" {place(m)}@{m.offset()}" for m in messages]
        try:
            if not self.one(partitions, r.random() < 0.8, work, values, **more):
                self.rewind()
        except Broken:
            self.rewind()
            raise

    def rewind(self):
        """Goes back to what is committed, or it would never read again what the transaction had read."""
        emit(f="rewound", at=now())
        try:
            found = self.input.committed(self.input.assignment(), timeout=CALL_S)
            for p in found:
                if p.error:
                    raise KafkaException(p.error)
            for p in found:
                self.input.seek(TopicPartition(p.topic, p.partition, max(0, p.offset)))
        except KafkaException as failure:
            print(f"rewind: {failure}", file=sys.stderr)
            # a new member begins with what is committed, too
            self.input.close()
            self.input = self.member()

    def close(self):
        super().close()
        self.input.close()


class Reader(Program):
    """Reads what was committed: all partitions from the beginning, or as a member of a group."""

    def run(self):
        consumer = self.member() if self.args.group else self.assigned_consumer()
        while self.running:
            messages = self.poll(consumer)
            if messages and self.args.group:
                self.commit(consumer, messages)
        consumer.close()

    def commit(self, consumer, messages):
        nexts = {(m.topic(), m.partition()): m.offset() + 1 for m in messages}
        try:
            consumer.commit(offsets=[TopicPartition(t, p, o) for (t, p), o in nexts.items()], asynchronous=False)
        except KafkaException as error:
            # a rebalance overtook it: others get the records
            print(f"commit failed: {error}", file=sys.stderr)


class Offsets(Program):
    """Asks again and again for the offsets of groups, of which what is in open transactions is not settled."""

    def run(self):
        # without subscribing: the admin client of confluent-kafka 2.16 crashes where the coordinator is not there
        consumers = {group: self.consumer(group) for group in self.args.group.split(",")}
        while self.running:
            for group, consumer in consumers.items():
                self.ask(consumer, group)
            time.sleep(0.3)
        for consumer in consumers.values():
            consumer.close()

    def ask(self, consumer, group):
        began = now()
        try:
            found = consumer.committed(places(self.args.topics), timeout=CALL_S)
        except KafkaException as failure:
            print(f"offsets of {group}: {failure}", file=sys.stderr)
            return
        offsets = [[f"{p.topic}-{p.partition}", p.offset] for p in found if not p.error and p.offset >= 0]
        emit(f="offsets", at=now(), began=began, group=group, offsets=offsets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["writer", "reader", "transformer", "offsets"])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--topics", required=True, help="topic:partitions,…")
    parser.add_argument("--output", help="topic:partitions, of a transformer")
    parser.add_argument("--transactional-id")
    parser.add_argument("--transaction-timeout-ms", type=int)
    parser.add_argument("--request-timeout-ms", type=int)
    parser.add_argument("--group")
    parser.add_argument("--isolation", default="read_committed")
    parser.add_argument("--rate", type=float, default=20, help="transactions per second of a writer")
    args = parser.parse_args()
    verbs = {"writer": Writer, "reader": Reader, "transformer": Transformer, "offsets": Offsets}
    verbs[args.verb](args).run()
    sys.stdout.flush()
    # without waiting for what a broken producer still has on the way
    os._exit(0)


main()
