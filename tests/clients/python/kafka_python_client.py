"""Adapter for kafka-python, the pure Python client."""

import sys
import time

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from adapter import Unsupported, emit, from_timestamp_ms, main, messages, on_stdin_closed, text


def admin(args):
    return KafkaAdminClient(bootstrap_servers=args.bootstrap)


def create(args):
    admin(args).create_topics({args.topic: {"num_partitions": args.partitions, "replication_factor": 1}})
    emit(ok=True)


def list_topics(args):
    emit(topics=sorted(admin(args).list_topics()))


def describe(args):
    (topic,) = admin(args).describe_topics([args.topic])
    if topic["error_code"]:
        raise RuntimeError(f"describing {args.topic} gave error {topic['error_code']}")
    emit(partitions=len(topic["partitions"]))


def delete(args):
    admin(args).delete_topics([args.topic])
    emit(ok=True)


def produce(args):
    producer = KafkaProducer(
        bootstrap_servers=args.bootstrap,
        compression_type=None if args.codec == "none" else args.codec,
        enable_idempotence=args.idempotent,
        acks="all",
        linger_ms=20,
    )
    sent = [
        producer.send(args.topic, value=value, key=key, partition=args.partition, timestamp_ms=at)
        for key, value, at in messages(args)
    ]
    for future in sent:
        future.get(timeout=args.timeout_ms / 1000)
    producer.close()
    emit(acked=len(sent))


def consume(args):
    consumer = KafkaConsumer(bootstrap_servers=args.bootstrap, group_id=None, auto_offset_reset="earliest")
    partitions = [TopicPartition(args.topic, p) for p in sorted(consumer.partitions_for_topic(args.topic))]
    consumer.assign(partitions)
    at = from_timestamp_ms(args)
    if at is None:
        consumer.seek_to_beginning()
    else:
        for partition, found in consumer.offsets_for_times(dict.fromkeys(partitions, at)).items():
            if found is None:
                consumer.seek_to_end(partition)
            else:
                consumer.seek(partition, found.offset)
    deadline = time.monotonic() + args.timeout_ms / 1000
    done = 0
    while done < args.count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {args.count} records after {args.timeout_ms} ms")
        for records in consumer.poll(timeout_ms=500, max_records=args.count - done).values():
            for record in records:
                emit(partition=record.partition, offset=record.offset, key=text(record.key),
                     value=text(record.value))
                done += 1
    emit(done=done)
    consumer.close()


class Assignments(ConsumerRebalanceListener):
    """Prints what the member owns; this client's protocol is eager, so each change names the whole assignment."""

    def on_partitions_assigned(self, assigned):
        emit(event="assigned", partitions=sorted(p.partition for p in assigned))

    def on_partitions_revoked(self, revoked):
        if revoked:
            emit(event="assigned", partitions=[])


def member(args):
    if args.group_protocol != "classic":
        raise Unsupported("this library has only the classic group protocol")
    consumer = KafkaConsumer(
        bootstrap_servers=args.bootstrap,
        group_id=args.group,
        group_instance_id=args.instance_id,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
        # the default backs off up to 30 s while the broker restarts
        reconnect_backoff_max_ms=1000,
    )
    running = True

    def stop():
        nonlocal running
        running = False

    on_stdin_closed(stop)
    # The library's own race: a leader that assigns in the moment in which its metadata comes gives everybody nothing, and
    # takes that for what there is. So the metadata comes first.
    consumer.partitions_for_topic(args.topic)
    consumer.subscribe([args.topic], listener=Assignments())
    while running:
        nexts = {}
        for partition, records in consumer.poll(timeout_ms=100).items():
            for record in records:
                emit(event="record", partition=record.partition, offset=record.offset, value=text(record.value))
                nexts[partition] = OffsetAndMetadata(record.offset + 1, "", -1)
        if nexts:
            try:
                consumer.commit(nexts, timeout_ms=10_000)
            except KafkaError as error:
                # overtaken by a rebalance or a restart: whoever owns the partition gets these again
                print(f"commit failed: {error!r}", file=sys.stderr)
            else:
                emit(event="committed")
    consumer.close()


def committed(args):
    for partition, found in admin(args).list_group_offsets(args.group)[args.group].items():
        if partition.topic == args.topic and found.offset >= 0:
            emit(partition=partition.partition, offset=found.offset)


def groups(args):
    emit(groups=sorted(group["group_id"] for group in admin(args).list_groups()))


def describe_group(args):
    found = admin(args).describe_groups([args.group])[args.group]
    if found["error"]:
        raise RuntimeError(found["error"])
    emit(state=found["group_state"], members=len(found["members"]))


def delete_group(args):
    result = admin(args).delete_groups([args.group])
    outcome = result[args.group] if isinstance(result, dict) else dict(result)[args.group]
    if outcome not in ("OK", None) and not getattr(outcome, "errno", 1) == 0:
        raise RuntimeError(f"deleting {args.group} gave {outcome!r}")
    emit(ok=True)


main({
    "create": create,
    "list": list_topics,
    "describe": describe,
    "delete": delete,
    "produce": produce,
    "consume": consume,
    "member": member,
    "committed": committed,
    "groups": groups,
    "describe-group": describe_group,
    "delete-group": delete_group,
})
