/** The help texts. A flag or a subcommand that is added is added here. */
import type { Terminal } from "./terminal.ts";
import { VERSION } from "./version.ts";

const general = `Trackway ${VERSION}: a broker that speaks the Apache Kafka protocol

  trackway start [flags]    start a broker (trackway start --help lists the flags)
  trackway check [flags]    look through a data directory for damage (trackway check --help tells how)
  trackway version          print the version
  trackway help [command]   print this, or a command's help

Without any flags a broker listens on localhost:9092 and keeps its data in ./data.`;

const start = `trackway start: start a broker and run it until SIGINT, SIGTERM or SIGHUP

  --port N             port to listen on (9092; 0 takes a free one)
  --host ADDRESS       address to listen on (localhost; 0.0.0.0 for every address)
  --data DIR           where the data is kept (./data); several directories with commas between
  --config FILE        a Kafka server.properties; what is not known is reported
  --set NAME=VALUE     one setting, as in the file; may be given many times
  --log-level LEVEL    trace, debug, info (default), warning, error or fatal
  --help               print this

A setting may also come from the environment: TRACKWAY_NUM_PARTITIONS is num.partitions. Flags win over --set,
--set over the environment, the environment over the file.

  trackway start --port 19092 --data /var/lib/trackway
  trackway start --config server.properties --set auto.create.topics.enable=false
  trackway start --host 0.0.0.0 --set advertised.listeners=PLAINTEXT://kafka.example.com:9092`;

const check = `trackway check: look through a data directory, without a broker and without changing anything

  --data DIR, or DIR   the directory (./data), or all of a broker that has several (DIR,DIR or DIR DIR); no broker may
                       be running on them
  --deep               decompress and read every record as well
  --json               one JSON object a line: findings, and a summary last, or why it could not be checked
  --help               print this

Every batch is read and its checksum computed, and indexes, producer snapshots, checkpoints and metadata are held
against what is in the logs. A line for each finding says where, what, and what the broker will do about it: "damage"
is what was whole once, or may have been, "note" what an interrupted process leaves and the broker clears up without a loss.

Exit code 0: no damage. 1: damage was found. 2: the directory could not be checked.

  trackway check --data /var/lib/trackway --deep`;

const version = `trackway version: print the version and what it runs on`;

const texts: Readonly<Record<string, string>> = { start, check, version, help: general };

/** The help text of a command, or the general one; null for a command that does not exist. */
export function helpText(command?: string): string | null {
  if (command === undefined) return general;
  return Object.hasOwn(texts, command) ? texts[command] : null;
}

/** Prints a help text. Gives the exit code. */
export function help(command: string | undefined, terminal: Terminal): number {
  const text = helpText(command);
  if (text === null) {
    terminal.err(`trackway: there is no command ${command}: trackway help lists them`);
    return 1;
  }
  terminal.out(text);
  return 0;
}
