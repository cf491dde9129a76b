"""Produces or consumes a number of records through librdkafka and prints the seconds that it took."""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition


def produce(bootstrap: str, topic: str, count: int, size: int) -> float:
    failures = []

    def delivered(error, _message):
        if error is not None:
            failures.append(error)

    producer = Producer({
        "bootstrap.servers": bootstrap,
        "linger.ms": 5,
        "batch.size": 262144,
        "queue.buffering.max.messages": 500000,
        "on_delivery": delivered,
        "delivery.report.only.error": True,
        "acks": 1,
    })
    value = bytes(97 + i % 26 for i in range(size))
    started = time.monotonic()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(60) > 0 or failures:
        raise SystemExit(f"not everything was delivered: {failures[:1]}")
    return time.monotonic() - started


def consume(bootstrap: str, topic: str, count: int) -> float:
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": f"bench-{topic}",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    })
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    started = time.monotonic()
    seen = 0
    while seen < count:
        messages = consumer.consume(10000, 30)
        if not messages:
            raise SystemExit(f"nothing more came after {seen} records")
        for message in messages:
            if message.error() is not None:
                raise KafkaException(message.error())
        seen += len(messages)
    took = time.monotonic() - started
    consumer.close()
    return took


if __name__ == "__main__":
    verb, servers, name, records, record_size = sys.argv[1:]
    if verb == "produce":
        print(produce(servers, name, int(records), int(record_size)))
    else:
        print(consume(servers, name, int(records)))
