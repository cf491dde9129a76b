"""Writes and reads orders as Avro through a schema registry, with confluent-kafka; prints JSON lines.

    avro.py produce --bootstrap B --registry URL --topic T --schema N --start S --count C
    avro.py consume --bootstrap B --registry URL --topic T --group G --count C

Schema 1 has an id; 2 adds a note with a default, which readers of either can do with; 3 makes the id a text, which
none can.
"""

import argparse
import json
import sys
import time

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

TIMEOUT_S = 30
NOTE = {"name": "note", "type": "string", "default": "none"}
FIELDS = {
    1: [{"name": "id", "type": "long"}],
    2: [{"name": "id", "type": "long"}, NOTE],
    3: [{"name": "id", "type": "string"}, NOTE],
}


def schema(number):
    return json.dumps({"type": "record", "name": "Order", "fields": FIELDS[number]})


def order(number, i):
    return {1: {"id": i}, 2: {"id": i, "note": f"n{i}"}, 3: {"id": str(i), "note": f"n{i}"}}[number]


def produce(args, registry, context):
    serialize = AvroSerializer(registry, schema(args.schema))
    producer = Producer({"bootstrap.servers": args.bootstrap, "enable.idempotence": True})
    failures = []
    for i in range(args.start, args.start + args.count):
        value = serialize(order(args.schema, i), context)
        producer.produce(args.topic, value, on_delivery=lambda error, _: error and failures.append(error))
    left = producer.flush(TIMEOUT_S)
    if failures or left:
        raise RuntimeError(f"{len(failures)} failed ({failures[:1]}), {left} were not acknowledged")
    print(json.dumps({"acked": args.count}))


def consume(args, registry, context):
    # reads as schema 2, whatever it was written with
    deserialize = AvroDeserializer(registry, schema(2))
    consumer = Consumer({
        "bootstrap.servers": args.bootstrap,
        "group.id": args.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    })
    consumer.subscribe([args.topic])
    done, deadline = 0, time.monotonic() + TIMEOUT_S
    while done < args.count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {args.count} records")
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        print(json.dumps(deserialize(message.value(), context)))
        done += 1
    consumer.commit(asynchronous=False)
    consumer.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["produce", "consume"])
    for name in ("bootstrap", "registry", "topic", "group"):
        parser.add_argument(f"--{name}")
    for name in ("schema", "start", "count"):
        parser.add_argument(f"--{name}", type=int)
    args = parser.parse_args()
    context = SerializationContext(args.topic, MessageField.VALUE)
    try:
        {"produce": produce, "consume": consume}[args.verb](args, SchemaRegistryClient({"url": args.registry}), context)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)


main()
