"""Adapter for aiokafka, the asyncio client. Its admin client has no DeleteGroups."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, for_code

from adapter import Unsupported, emit, from_timestamp_ms, main, messages, on_stdin_closed, text


def with_admin(work):
    """A verb that runs `work(args, admin)` with a started admin client."""

    async def run(args):
        admin = AIOKafkaAdminClient(bootstrap_servers=args.bootstrap)
        await admin.start()
        try:
            await work(args, admin)
        finally:
            await admin.close()

    return run


def refuse(error_code, doing):
    """Raises when a response, which this library hands out as it is, carries an error."""
    if error_code:
        raise for_code(error_code)(doing)


async def create(args, admin):
    response = await admin.create_topics([NewTopic(args.topic, args.partitions, 1)])
    for topic, error_code, *_ in response.topic_errors:
        refuse(error_code, f"creating {topic}")
    emit(ok=True)


async def list_topics(_args, admin):
    emit(topics=sorted(await admin.list_topics()))


async def describe(args, admin):
    (topic,) = await admin.describe_topics([args.topic])
    refuse(topic["error_code"], f"describing {args.topic}")
    emit(partitions=len(topic["partitions"]))


async def delete(args, admin):
    response = await admin.delete_topics([args.topic])
    for topic, error_code in response.topic_error_codes:
        refuse(error_code, f"deleting {topic}")
    emit(ok=True)


async def produce(args):
    producer = AIOKafkaProducer(
        bootstrap_servers=args.bootstrap,
        compression_type=None if args.codec == "none" else args.codec,
        enable_idempotence=args.idempotent,
        acks="all",
        linger_ms=20,
    )
    await producer.start()
    try:
        sent = [
            await producer.send(args.topic, value, key, partition=args.partition, timestamp_ms=at)
            for key, value, at in messages(args)
        ]
        await asyncio.wait_for(asyncio.gather(*sent), args.timeout_ms / 1000)
    finally:
        await producer.stop()
    emit(acked=len(sent))


async def consume(args):
    # without a group a subscription is given every partition
    consumer = AIOKafkaConsumer(args.topic, bootstrap_servers=args.bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        await seek(consumer, consumer.assignment(), from_timestamp_ms(args))
        done = 0
        async with asyncio.timeout(args.timeout_ms / 1000):
            while done < args.count:
                fetched = await consumer.getmany(timeout_ms=500, max_records=args.count - done)
                for records in fetched.values():
                    for record in records:
                        emit(partition=record.partition, offset=record.offset, key=text(record.key),
                             value=text(record.value))
                        done += 1
        emit(done=done)
    finally:
        await consumer.stop()


async def seek(consumer, partitions, at):
    """Moves to the first record at or after the time `at`, or to the beginning when it is None."""
    if at is None:
        await consumer.seek_to_beginning()
        return
    for partition, found in (await consumer.offsets_for_times(dict.fromkeys(partitions, at))).items():
        if found is None:
            await consumer.seek_to_end(partition)
        else:
            consumer.seek(partition, found.offset)


class Assignments(ConsumerRebalanceListener):
    """Prints what the member owns; this client's protocol is eager, so each change names the whole assignment."""

    def on_partitions_assigned(self, assigned):
        emit(event="assigned", partitions=sorted(p.partition for p in assigned))

    def on_partitions_revoked(self, revoked):
        if revoked:
            emit(event="assigned", partitions=[])


async def member(args):
    if args.group_protocol != "classic":
        raise Unsupported("this library has only the classic group protocol")
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stdin_closed(lambda: loop.call_soon_threadsafe(stopped.set))
    consumer = AIOKafkaConsumer(
        bootstrap_servers=args.bootstrap,
        group_id=args.group,
        group_instance_id=args.instance_id,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
    )
    consumer.subscribe([args.topic], listener=Assignments())
    await consumer.start()
    try:
        while not stopped.is_set():
            nexts = {}
            for partition, records in (await consumer.getmany(timeout_ms=100)).items():
                for record in records:
                    emit(event="record", partition=record.partition, offset=record.offset,
                         value=text(record.value))
                    nexts[partition] = record.offset + 1
            if nexts:
                try:
                    await consumer.commit(nexts)
                except KafkaError as error:
                    # overtaken by a rebalance or a restart: whoever owns the partition gets these again
                    print(f"commit failed: {error!r}", file=sys.stderr)
                else:
                    emit(event="committed")
    finally:
        await consumer.stop()


async def committed(args, admin):
    for partition, found in (await admin.list_consumer_group_offsets(args.group)).items():
        if partition.topic == args.topic and found.offset >= 0:
            emit(partition=partition.partition, offset=found.offset)


async def groups(_args, admin):
    emit(groups=sorted(name for name, *_ in await admin.list_consumer_groups()))


async def describe_group(args, admin):
    (response,) = await admin.describe_consumer_groups([args.group])
    (found,) = response.groups
    error_code, _group, state, _type, _protocol, members, *_ = found
    refuse(error_code, f"describing {args.group}")
    emit(state=state, members=len(members))


def sync(verb):
    return lambda args: asyncio.run(verb(args))


main({name: sync(verb) for name, verb in {
    "create": with_admin(create),
    "list": with_admin(list_topics),
    "describe": with_admin(describe),
    "delete": with_admin(delete),
    "produce": produce,
    "consume": consume,
    "member": member,
    "committed": with_admin(committed),
    "groups": with_admin(groups),
    "describe-group": with_admin(describe_group),
}.items()})
