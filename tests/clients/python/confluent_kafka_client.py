"""Adapter for confluent-kafka (librdkafka). Also the reference client that helps out clients without admin."""

import random
import sys
import time

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from adapter import emit, from_timestamp_ms, main, messages, now, on_stdin_closed, text

ADMIN_TIMEOUT_S = 20


def with_admin(work):
    """A verb that runs `work(args, admin)`; the client must outlive the futures that it hands out."""

    def run(args):
        admin = AdminClient({"bootstrap.servers": args.bootstrap})
        work(args, admin)

    return run


def create(args, admin):
    topic = NewTopic(args.topic, num_partitions=args.partitions, replication_factor=1)
    admin.create_topics([topic])[args.topic].result(ADMIN_TIMEOUT_S)
    emit(ok=True)


def list_topics(_args, admin):
    emit(topics=sorted(admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics))


def describe(args, admin):
    emit(partitions=partition_count(admin, args.topic))


def partition_count(client, topic):
    """Partitions of a topic. Asks for all topics: asking for one by name would create it."""
    found = client.list_topics(timeout=ADMIN_TIMEOUT_S).topics.get(topic)
    if found is None:
        raise LookupError(f"no topic {topic}")
    return len(found.partitions)


def delete(args, admin):
    admin.delete_topics([args.topic])[args.topic].result(ADMIN_TIMEOUT_S)
    emit(ok=True)


def produce(args):
    failures = []
    acked = 0

    def on_delivery(error, _message):
        nonlocal acked
        if error:
            failures.append(error)
        else:
            acked += 1

    producer = Producer({
        "bootstrap.servers": args.bootstrap,
        "compression.type": args.codec,
        "enable.idempotence": args.idempotent,
        "acks": "all",
        # so that a batch holds several records and is really compressed
        "linger.ms": 20,
    })
    for key, value, at in messages(args):
        options = {} if at is None else {"timestamp": at}
        if args.partition is not None:
            options["partition"] = args.partition
        producer.produce(args.topic, value, key, on_delivery=on_delivery, **options)
    left = producer.flush(args.timeout_ms / 1000)
    if failures or left:
        raise RuntimeError(f"{len(failures)} messages failed ({failures[:1]}), {left} were not acknowledged")
    emit(acked=acked)


class Pump:
    """Sends numbered records at a steady rate for as long as it may, and tells of each what became of it."""

    # Records under way at once; with more, a broker that is away would only be told more lines later.
    WINDOW = 2000
    BATCHES = (1, 1, 2, 5, 20, 60)

    def __init__(self, args):
        self.args = args
        self.random = random.Random(args.seed)
        self.next = [0] * args.partitions
        self.under_way = 0
        # by partition: the acknowledged records that follow each other and are not told yet, [first, count, offset]
        self.acked = {}
        self.running = True
        config = {
            "bootstrap.servers": args.bootstrap,
            "compression.type": args.codec,
            "enable.idempotence": args.idempotent,
            "acks": args.acks,
            "linger.ms": 5,
            "queue.buffering.max.messages": 2 * self.WINDOW,
        }
        if args.in_flight is not None:
            config["max.in.flight.requests.per.connection"] = args.in_flight
        self.producer = Producer(config)

    def run(self):
        on_stdin_closed(self.stop)
        began, sent = time.monotonic(), 0
        while self.running:
            # What an absence of the broker held up is not made up for afterwards.
            began = max(began, time.monotonic() - 1 - sent / self.args.rate)
            while self.under_way < self.WINDOW and sent < (time.monotonic() - began) * self.args.rate:
                sent += self.send()
            self.producer.poll(0.005)
            self.tell_acked()
        left = self.producer.flush(self.args.timeout_ms / 1000)
        self.tell_acked()
        emit(event="flushed", left=left)

    def stop(self):
        self.running = False

    def send(self):
        partition = self.random.randrange(self.args.partitions)
        count = self.random.choice(self.BATCHES)
        first = self.next[partition]
        self.next[partition] += count
        self.under_way += count
        emit(event="sending", partition=partition, first=first, count=count)
        for number in range(first, first + count):
            value = f"{self.args.producer} {number} {'.' * self.random.randrange(100)}"
            self.producer.produce(self.args.topic, value, partition=partition, on_delivery=self.delivered)
        return count

    def delivered(self, error, message):
        self.under_way -= 1
        number, partition = int(message.value().split()[1]), message.partition()
        if error:
            emit(event="failed", partition=partition, first=number, count=1, error=str(error))
            return
        run = self.acked.get(partition)
        if run and number == run[0] + run[1] and message.offset() == run[2] + run[1]:
            run[1] += 1
            return
        self.tell(partition)
        self.acked[partition] = [number, 1, message.offset()]

    def tell(self, partition):
        run = self.acked.pop(partition, None)
        if run:
            emit(event="acked", partition=partition, first=run[0], count=run[1], offset=run[2])

    def tell_acked(self):
        for partition in list(self.acked):
            self.tell(partition)


def pump(args):
    Pump(args).run()


def consume(args):
    consumer = Consumer({"bootstrap.servers": args.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    partitions = range(partition_count(consumer, args.topic))
    at = from_timestamp_ms(args)
    if at is None:
        consumer.assign([TopicPartition(args.topic, p, OFFSET_BEGINNING) for p in partitions])
    else:
        wanted = [TopicPartition(args.topic, p, at) for p in partitions]
        found = consumer.offsets_for_times(wanted, timeout=ADMIN_TIMEOUT_S)
        for partition in found:
            if partition.error:
                raise KafkaException(partition.error)
            if partition.offset < 0:
                partition.offset = OFFSET_END
        consumer.assign(found)
    deadline = time.monotonic() + args.timeout_ms / 1000
    done = 0
    while done < args.count:
        message = consumer.poll(max(0, deadline - time.monotonic()))
        if message is None:
            raise TimeoutError(f"{done} of {args.count} records after {args.timeout_ms} ms")
        if message.error():
            raise KafkaException(message.error())
        emit(partition=message.partition(), offset=message.offset(), key=text(message.key()),
             value=text(message.value()))
        done += 1
    emit(done=done)
    consumer.close()


def member(args):
    config = {
        "bootstrap.servers": args.bootstrap,
        "group.id": args.group,
        "group.protocol": args.group_protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if args.group_protocol == "classic":
        # the next generation protocol (KIP-848) leaves these to the broker
        config |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    if args.instance_id:
        config["group.instance.id"] = args.instance_id
    consumer = Consumer(config)
    running = True

    def stop():
        nonlocal running
        running = False

    owned = set()

    def assigned(_consumer, partitions):
        owned.update(p.partition for p in partitions)
        emit(event="assigned", partitions=sorted(owned))

    def revoked(_consumer, partitions):
        owned.difference_update(p.partition for p in partitions)
        emit(event="assigned", partitions=sorted(owned))

    on_stdin_closed(stop)
    consumer.subscribe([args.topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    while running:
        batch = consumer.consume(100, timeout=0.1)
        records = []
        for message in batch:
            # errors here are events (broker down, reconnecting); librdkafka goes on by itself
            if not message.error():
                records.append(message)
                emit(event="record", at=now(), partition=message.partition(), offset=message.offset(),
                     value=text(message.value()))
        if records:
            commit(consumer, records)
    consumer.close()


def commit(consumer, records):
    """Commits what was delivered; a commit that a rebalance overtook is not an event: others get the records."""
    nexts = {(m.topic(), m.partition()): m.offset() + 1 for m in records}
    try:
        consumer.commit(offsets=[TopicPartition(t, p, o) for (t, p), o in nexts.items()], asynchronous=False)
    except KafkaException as error:
        print(f"commit failed: {error}", file=sys.stderr)
    else:
        emit(event="committed", at=now())


def committed(args, admin):
    wanted = ConsumerGroupTopicPartitions(args.group)
    found = admin.list_consumer_group_offsets([wanted])[args.group].result(ADMIN_TIMEOUT_S)
    for partition in found.topic_partitions:
        if partition.topic == args.topic and partition.offset >= 0:
            emit(partition=partition.partition, offset=partition.offset)


def groups(args, admin):
    types = {ConsumerGroupType[args.group_type.upper()]} if args.group_type else set()
    found = admin.list_consumer_groups(types=types).result(ADMIN_TIMEOUT_S)
    if found.errors:
        raise KafkaException(found.errors[0])
    emit(groups=sorted(group.group_id for group in found.valid))


def describe_group(args, admin):
    found = admin.describe_consumer_groups([args.group])[args.group].result(ADMIN_TIMEOUT_S)
    state = "".join(word.capitalize() for word in found.state.name.split("_"))
    emit(state=state, members=len(found.members))


def delete_group(args, admin):
    admin.delete_consumer_groups([args.group])[args.group].result(ADMIN_TIMEOUT_S)
    emit(ok=True)


main({
    "create": with_admin(create),
    "list": with_admin(list_topics),
    "describe": with_admin(describe),
    "delete": with_admin(delete),
    "produce": produce,
    "pump": pump,
    "consume": consume,
    "member": member,
    "committed": with_admin(committed),
    "groups": with_admin(groups),
    "describe-group": with_admin(describe_group),
    "delete-group": with_admin(delete_group),
})
