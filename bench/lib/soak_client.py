"""A steady load through librdkafka that checks itself: an idempotent producer and a group of two consumers.

Every record has a number of its partition and the time at which it was produced. Prints a line of JSON every few seconds
and a last one with what was wrong, which should be nothing: an acknowledged record that never came, a record that is in
the log twice or out of order, a committed offset that went back.
"""

import json
import sys
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

SAMPLE_SECONDS = 5
TICK_SECONDS = 0.002
VALUE_BYTES = 1024
PATIENCE_SECONDS = 60


class Partition:
    """What is known of one partition: what was acknowledged, and what has been read."""

    def __init__(self):
        self.sent = 0
        self.acked = set()
        self.read_early = set()
        self.read_below = 0
        self.last_offset = -1
        self.last_number = -1
        self.committed = -1

    def read(self, offset: int, number: int) -> tuple[bool, str | None]:
        """Takes a record; gives whether it is new, and what is wrong. A group may read again what it has not committed."""
        is_new, wrong = offset > self.last_offset, None
        if is_new and number <= self.last_number or not is_new and number > self.last_number:
            wrong = f"record {number} is at offset {offset}, record {self.last_number} at {self.last_offset}"
        if is_new:
            self.last_offset, self.last_number = offset, number
        self.read_early.add(number)
        while self.read_below in self.read_early:
            self.read_early.remove(self.read_below)
            self.read_below += 1
        return is_new, wrong

    def missing(self) -> list[int]:
        """Acknowledged and not read. What was read is forgotten."""
        self.acked = {one for one in self.acked if one >= self.read_below and one not in self.read_early}
        return sorted(self.acked)


class Soak:
    def __init__(self, servers: str, topic: str, partitions: int, rate: int, seconds: float):
        self.servers, self.topic, self.rate = servers, topic, rate
        self.ends = time.monotonic() + seconds
        self.partitions = [Partition() for _ in range(partitions)]
        self.lock = threading.Lock()
        self.latencies: list[float] = []
        self.wrong: list[str] = []
        self.refused = self.acked = self.consumed = 0
        self.over = threading.Event()

    def produce(self) -> None:
        producer = Producer({
            "bootstrap.servers": self.servers,
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": PATIENCE_SECONDS * 1000,
            "reconnect.backoff.max.ms": 500,
        })

        def delivered(error, message):
            with self.lock:
                if error is not None:
                    self.refused += 1
                else:
                    self.acked += 1
                    self.partitions[message.partition()].acked.add(int(message.value()[:12]))

        began, sent = time.monotonic(), 0
        while (now := time.monotonic()) < self.ends:
            while sent < (now - began) * self.rate:
                partition = sent % len(self.partitions)
                number = self.partitions[partition].sent
                value = f"{number:012d} {time.time_ns():020d} ".encode().ljust(VALUE_BYTES, b"x")
                try:
                    producer.produce(self.topic, value, partition=partition, on_delivery=delivered)
                except BufferError:
                    # It holds as much as it may while a broker restarts; the rate is made up for later.
                    break
                self.partitions[partition].sent += 1
                sent += 1
            producer.poll(TICK_SECONDS)
        left = producer.flush(PATIENCE_SECONDS)
        if left > 0:
            self.wrong.append(f"{left} records were neither acknowledged nor refused")

    def consume(self) -> None:
        consumer = Consumer({
            "bootstrap.servers": self.servers,
            "group.id": f"{self.topic}-readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 500,
            "reconnect.backoff.max.ms": 500,
            "session.timeout.ms": 10000,
        })
        consumer.subscribe([self.topic])
        commits = time.monotonic()
        while not self.over.is_set():
            message = consumer.poll(0.1)
            # An error is a broker that restarts; librdkafka goes on by itself.
            if message is not None and message.error() is None:
                self.take(message.partition(), message.offset(), message.value())
            if time.monotonic() - commits > 1:
                commits = time.monotonic()
                consumer.commit(asynchronous=True)
        consumer.close()

    def take(self, partition: int, offset: int, value: bytes) -> None:
        latency = (time.time_ns() - int(value[13:33])) / 1e6
        with self.lock:
            self.consumed += 1
            is_new, wrong = self.partitions[partition].read(offset, int(value[:12]))
            if is_new:
                self.latencies.append(latency)
            if wrong:
                self.wrong.append(f"partition {partition}: {wrong}")

    def watch_commits(self) -> None:
        """What the group has committed never goes back."""
        reader = Consumer({"bootstrap.servers": self.servers, "group.id": f"{self.topic}-readers"})
        wanted = [TopicPartition(self.topic, i) for i in range(len(self.partitions))]
        while not self.over.wait(2):
            try:
                committed = reader.committed(wanted, timeout=5)
            except Exception as error:  # noqa: BLE001 - a broker that restarts; asked again
                print(f"committed offsets: {error}", file=sys.stderr)
                continue
            for one in committed:
                partition = self.partitions[one.partition]
                if one.error is None and one.offset < partition.committed:
                    self.wrong.append(f"partition {one.partition}: commit {partition.committed} became {one.offset}")
                if one.error is None:
                    partition.committed = max(partition.committed, one.offset)
        reader.close()

    def waiting(self) -> int:
        with self.lock:
            return sum(len(partition.missing()) for partition in self.partitions)

    def sample(self) -> dict:
        waiting = self.waiting()
        with self.lock:
            latencies, self.latencies = sorted(self.latencies), []
            counts = {"acked": self.acked, "consumed": self.consumed, "refused": self.refused, "waiting": waiting}
        at = lambda share: latencies[min(len(latencies) - 1, int(share * len(latencies)))] if latencies else None
        return {**counts, "p50": at(0.5), "p99": at(0.99)}

    def run(self) -> None:
        producing = threading.Thread(target=self.produce)
        readers = [threading.Thread(target=self.consume) for _ in range(2)]
        readers.append(threading.Thread(target=self.watch_commits))
        for thread in [producing, *readers]:
            thread.start()
        while producing.is_alive():
            producing.join(SAMPLE_SECONDS)
            print(json.dumps(self.sample()), flush=True)
        # Everything acknowledged has to come now.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and self.waiting() > 0:
            time.sleep(0.1)
        self.over.set()
        for thread in readers:
            thread.join()
        for index, partition in enumerate(self.partitions):
            missing = partition.missing()
            if missing:
                self.wrong.append(f"partition {index}: {len(missing)} acknowledged records never came: {missing[:5]}")
        print(json.dumps({**self.sample(), "wrong": self.wrong}), flush=True)


if __name__ == "__main__":
    servers, topic, partitions, rate, seconds = sys.argv[1:]
    Soak(servers, topic, int(partitions), int(rate), float(seconds)).run()
