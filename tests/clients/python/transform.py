"""What the Python programs of tests/clients/transactions/course.ts share: the course says there what such a program does.

A library is a class with the methods of Library. All of them block; what is raised says by `fenced` and `passes` what it
is, and anything else has the transaction aborted.
"""

import argparse
import random
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod

from adapter import emit

MOST_RECORDS = 20
COPIES = 2
POLL_S = 0.2
SESSION_TIMEOUT_MS = 6000
HEARTBEAT_INTERVAL_MS = 1000
FENCED = 3
FAILED = 4


class Library(ABC):
    """A consumer in a group, and a transactional producer."""

    @abstractmethod
    def start(self):
        """InitProducerId; does not join the group."""

    @abstractmethod
    def poll(self):
        """Up to MOST_RECORDS records as (partition, offset, text), after a short while also none. Joins the group."""

    @abstractmethod
    def begin(self): ...

    @abstractmethod
    def write(self, copies):
        """Writes (partition, text) pairs and waits until they are there."""

    @abstractmethod
    def send_offsets(self, nexts):
        """Adds {partition: offset} of the input to the transaction."""

    @abstractmethod
    def commit(self): ...

    @abstractmethod
    def abort(self): ...

    @abstractmethod
    def rewind(self, firsts):
        """Goes back to {partition: offset}, where they are still its own."""

    @abstractmethod
    def close(self):
        """Leaves the group."""

    @abstractmethod
    def fenced(self, error):
        """Whether another producer has taken the id."""

    @abstractmethod
    def passes(self, error):
        """Whether the same call is to be made again."""

    @abstractmethod
    def follow(self, running):
        """Prints what is in args.topic under args.isolation for as long as running()."""


class Stdin:
    """What the course says while the program runs."""

    def __init__(self):
        self.running = True
        self.hold = False
        self.go = threading.Semaphore(0)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            if line.strip() == "hold":
                self.hold = True
            elif line.strip() == "go":
                self.go.release()
        self.running = False
        self.go.release()


class Transform:
    def __init__(self, args, library, stdin):
        self.args = args
        self.library = library
        self.stdin = stdin
        self.random = random.Random(args.seed)
        self.name = f"{args.transactional_id}-{time.time_ns() // 1_000_000}"
        self.number = 0
        self.tx = None

    def run(self):
        """Gives the exit code."""
        library = self.library
        try:
            self.answered(library.start)
            emit(event="ready")
            while self.stdin.running:
                records = library.poll()
                if records:
                    self.transact(records)
            library.close()
            return 0
        except Exception as error:
            traceback.print_exc()
            how = "fenced" if library.fenced(error) else "failed"
            self.ended(how, error)
            return FENCED if how == "fenced" else FAILED

    def transact(self, records):
        """Raises only what the library cannot go on from."""
        library = self.library
        aborts = self.random.random() < self.args.abort_rate
        reason = None
        self.tx = f"{self.name}-{self.number}"
        self.number += 1
        try:
            library.begin()
            library.write(self.copies(records))
            self.answered(lambda: library.send_offsets({p: offset + 1 for p, offset, _ in records}))
            if self.stdin.hold:
                self.stdin.hold = aborts = False
                emit(event="holding", tx=self.tx)
                self.stdin.go.acquire()
            if not aborts:
                self.answered(library.commit)
                self.ended("committed")
                return
        except Exception as error:
            if library.fenced(error):
                raise
            traceback.print_exc()
            reason = error
        self.answered(library.abort)
        self.ended("aborted", reason)
        firsts = {}
        for partition, offset, _ in records:
            firsts.setdefault(partition, offset)
        library.rewind(firsts)

    def copies(self, records):
        count = COPIES * len(records)
        for partition, offset, value in records:
            for copy in range(COPIES):
                to = (partition + copy) % self.args.partitions
                yield to, f"{partition} {offset} {copy} {self.tx} {count} {value}"

    def answered(self, call):
        """Calls until it is answered: what has timed out has an outcome that is not known."""
        while True:
            try:
                return call()
            except Exception as error:
                if not self.library.passes(error):
                    raise
                print(f"again: {error!r}", file=sys.stderr)
                time.sleep(0.1)

    def ended(self, how, error=None):
        emit(event=how, tx=self.tx, **({} if error is None else {"error": repr(error)}))
        self.tx = None


def write(args, library):
    """One transaction of its own in partition 0."""
    library.start()
    library.begin()
    library.write([(0, f"{args.value} {i}") for i in range(args.count)])
    if args.end == "commit":
        library.commit()
    else:
        library.abort()
    emit(ended=args.end)


def main(make):
    """Runs the verb of the command line with the library that `make(args)` gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["transform", "follow", "write"])
    parser.add_argument("--bootstrap", required=True)
    for name in ["topic", "transactional-id", "group", "input", "output", "value", "end"]:
        parser.add_argument(f"--{name}")
    for name in ["partitions", "seed", "count"]:
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--abort-rate", type=float)
    parser.add_argument("--transaction-timeout-ms", type=int, default=60_000)
    parser.add_argument("--isolation", default="read_committed")
    args = parser.parse_args()
    library = make(args)
    stdin = Stdin()
    if args.verb == "follow":
        library.follow(lambda: stdin.running)
    elif args.verb == "write":
        write(args, library)
    else:
        sys.exit(Transform(args, library, stdin).run())
