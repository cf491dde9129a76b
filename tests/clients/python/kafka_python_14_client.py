"""Adapter for kafka-python 1.4, of 2019. The first argument, before the verb, is the release of Kafka that it is to
take the broker for: `auto`, or `0.9` or `0.10`, whose producers send message formats 0 and 1.
"""

import sys
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from adapter import Unsupported, emit, from_timestamp_ms, main, messages, on_stdin_closed, text

RELEASE = sys.argv.pop(1)
API_VERSION = None if RELEASE == "auto" else tuple(map(int, RELEASE.split(".")))


def connection(args):
    return {"bootstrap_servers": args.bootstrap, "api_version": API_VERSION}


def admin(args):
    if API_VERSION is not None:
        raise Unsupported("its admin client asks the broker for its versions")
    return KafkaAdminClient(bootstrap_servers=args.bootstrap)


def create(args):
    response = admin(args).create_topics([NewTopic(args.topic, args.partitions, 1)])
    refuse(response.topic_errors[0][1], f"creating {args.topic}")
    emit(ok=True)


def delete(args):
    response = admin(args).delete_topics([args.topic])
    refuse(response.topic_error_codes[0][1], f"deleting {args.topic}")
    emit(ok=True)


def refuse(error_code, doing):
    """Raises when a response, which this library hands out as it is, carries an error."""
    if error_code:
        raise RuntimeError(f"{doing} gave error {error_code}")


def without_group(args):
    return KafkaConsumer(group_id=None, auto_offset_reset="earliest", **connection(args))


def list_topics(args):
    emit(topics=sorted(without_group(args).topics()))


def describe(args):
    emit(partitions=len(without_group(args).partitions_for_topic(args.topic)))


def produce(args):
    if args.idempotent:
        raise Unsupported("kafka-python 1.4 has no idempotent producer")
    if args.codec == "zstd":
        raise Unsupported("kafka-python 1.4 has no zstd")
    if args.timestamp_base is not None and API_VERSION is not None and API_VERSION < (0, 10):
        raise Unsupported("message format 0 has no timestamps")
    producer = KafkaProducer(
        compression_type=None if args.codec == "none" else args.codec,
        acks="all",
        linger_ms=20,
        **connection(args),
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
    consumer = without_group(args)
    partitions = [TopicPartition(args.topic, p) for p in sorted(consumer.partitions_for_topic(args.topic))]
    consumer.assign(partitions)
    at = from_timestamp_ms(args)
    if at is None:
        consumer.seek_to_beginning()
    elif API_VERSION is not None:
        raise Unsupported("Kafka finds offsets by time since 0.10.1")
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
    if args.instance_id is not None:
        raise Unsupported("kafka-python 1.4 has no static members")
    consumer = KafkaConsumer(
        group_id=args.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
        **connection(args),
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
                nexts[partition] = OffsetAndMetadata(record.offset + 1, "")
        if nexts:
            try:
                consumer.commit(nexts)
            except KafkaError as error:
                # overtaken by a rebalance or a restart: whoever owns the partition gets these again
                print(f"commit failed: {error!r}", file=sys.stderr)
            else:
                emit(event="committed")
    consumer.close()


def committed(args):
    consumer = KafkaConsumer(group_id=args.group, enable_auto_commit=False, **connection(args))
    for partition in sorted(consumer.partitions_for_topic(args.topic)):
        offset = consumer.committed(TopicPartition(args.topic, partition))
        if offset is not None:
            emit(partition=partition, offset=offset)
    consumer.close()


def groups(args):
    emit(groups=sorted(name for name, _protocol_type in admin(args).list_consumer_groups()))


def describe_group(args):
    (found,) = admin(args).describe_consumer_groups([args.group])
    error_code, _group, state, _protocol_type, _protocol, members = found
    refuse(error_code, f"describing {args.group}")
    emit(state=state, members=len(members))


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
})
