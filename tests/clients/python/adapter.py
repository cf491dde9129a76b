"""What the Python adapters share: flags, JSON lines, exit codes. The contract is in tests/clients/README.md.

stdout carries only JSON lines, each flushed at once: the harness may kill a member with SIGKILL and then
counts on having seen every record that was committed.
"""

import argparse
import json
import logging
import sys
import threading
import time
import traceback

UNSUPPORTED_EXIT = 64


class Unsupported(Exception):
    """The library cannot do this at all; the harness knows which clients may say so."""


def emit(**line):
    """Writes one JSON line and flushes it."""
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def now():
    """Milliseconds by a clock that all processes of the machine share, to order what several of them saw."""
    return time.monotonic() * 1000


def text(raw):
    """A record's key or value as JSON text; None stays null."""
    return None if raw is None else bytes(raw).decode()


def messages(args):
    """(key, value, timestampMs or None) for each message that `produce` was asked for."""
    for i in range(args.start, args.start + args.count):
        at = None if args.timestamp_base is None else args.timestamp_base + i
        yield f"k{i}".encode(), f"v{i}".encode(), at


def from_timestamp_ms(args):
    """The time to consume from, or None for the beginning."""
    kind, _, value = args.start_at.partition(":")
    return int(value) if kind == "timestamp" else None


def on_stdin_closed(action):
    """Calls `action` from another thread when the harness closes our stdin."""

    def wait():
        while sys.stdin.buffer.read(4096):
            pass
        action()

    threading.Thread(target=wait, daemon=True).start()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--partition", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--idempotent", default="false")
    parser.add_argument("--timestamp-base", type=int)
    parser.add_argument("--from", dest="start_at", default="beginning")
    parser.add_argument("--timeout-ms", type=int, default=30_000)
    parser.add_argument("--group")
    parser.add_argument("--instance-id")
    parser.add_argument("--group-protocol", default="classic")
    parser.add_argument("--group-type")
    parser.add_argument("--producer")
    parser.add_argument("--acks", default="all")
    parser.add_argument("--in-flight", type=int)
    parser.add_argument("--rate", type=int)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    args.idempotent = args.idempotent == "true"
    return args


def main(verbs):
    """Runs the verb named on the command line out of `verbs` and exits as the contract says."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    args = parse()
    try:
        if args.verb not in verbs:
            raise Unsupported(f"no {args.verb} in this library")
        verbs[args.verb](args)
    except Unsupported as reason:
        emit(unsupported=str(reason))
        sys.exit(UNSUPPORTED_EXIT)
    except Exception as error:
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
