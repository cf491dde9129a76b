#!/usr/bin/env bash
# Adapter for kcat (librdkafka's command-line tool); the contract is in README.md beside this file.
# kcat has no admin requests and commits on a timer; both are declared in clients.ts.
set -euo pipefail

verb=${1:?usage: kcat.sh VERB [--name value]...}
shift
start=0 codec=none idempotent=false from=beginning timeout_ms=30000 partition='' instance_id='' timestamp_base=''
group_protocol=classic
while [ $# -gt 0 ]; do
  name=${1#--}
  printf -v "${name//-/_}" %s "$2"
  shift 2
done

unsupported() {
  echo "{\"unsupported\":\"$1\"}"
  exit 64
}

# kcat's output format for a record as a JSON line that begins with $1.
record() { echo "{$1\"partition\":%p,\"offset\":%o,\"key\":\"%k\",\"value\":\"%s\"}\\n"; }

produce() {
  [ -z "$timestamp_base" ] || unsupported "kcat cannot set a timestamp"
  report=$(mktemp)
  trap 'rm -f "$report"' EXIT
  seq "$start" $((start + count - 1)) | sed 's/.*/k&:v&/' |
    kcat -b "$bootstrap" -P -t "$topic" -K : -z "$codec" -X "enable.idempotence=$idempotent" -X linger.ms=20 \
      ${partition:+-p "$partition"} -vv 2>"$report" || { tail -3 "$report" >&2; exit 1; }
  local acked
  acked=$(grep -c '^% Message delivered to partition' "$report" || true)
  [ "$acked" = "$count" ] || { tail -3 "$report" >&2; echo "$acked of $count were acknowledged" >&2; exit 1; }
  echo "{\"acked\":$acked}"
}

consume() {
  local offset=$from
  case $from in timestamp:*) offset=s@${from#timestamp:} ;; esac
  timeout $((timeout_ms / 1000)) kcat -b "$bootstrap" -C -t "$topic" -o "$offset" -c "$count" -f "$(record '')" ||
    { echo "kcat did not read $count records in $timeout_ms ms" >&2; exit 1; }
  echo "{\"done\":$count}"
}

# kcat tells assignments on stderr as "assigned: topic [0], topic [1]"; they become events between the records.
assignments() {
  while IFS= read -r line; do
    echo "$line" >&2
    case $line in
      *rebalanced*"assigned: "*)
        echo "{\"event\":\"assigned\",\"partitions\":[$(grep -o '\[[0-9]*\]' <<<"${line##*assigned: }" |
          tr -d '[]' | paste -sd,)]}" ;;
      *rebalanced*"revoked: "*) echo '{"event":"assigned","partitions":[]}' ;;
    esac
  done
}

member() {
  [ "$group_protocol" = classic ] || unsupported "kcat's librdkafka has only the classic group protocol"
  [ -z "$instance_id" ] || [ -z "${NO_STATIC_MEMBERS:-}" ] || unsupported "librdkafka 1.0 has no static members"
  exec 3<&0
  (cat <&3 >/dev/null; kill -TERM $$) >/dev/null 2>&1 &
  # exec keeps the process id, so that a signal of the harness reaches kcat itself. kcat writes a line in several
  # pieces: stdbuf keeps them together, as the assignments go to the same pipe. -E stays through a broker restart.
  exec stdbuf -oL kcat -E -b "$bootstrap" -G "$group" -f "$(record '"event":"record",')" -X auto.offset.reset=earliest \
    -X session.timeout.ms=6000 -X heartbeat.interval.ms=500 -X auto.commit.interval.ms=500 \
    ${instance_id:+-X "group.instance.id=$instance_id"} "$topic" </dev/null 2> >(assignments)
}

# One transaction of its own; kcat only knows how to commit it.
write() {
  [ "$end" = commit ] || unsupported "kcat cannot abort"
  seq 0 $((count - 1)) | sed "s/^/$value /" |
    kcat -b "$bootstrap" -P -t "$output" -p 0 -X "transactional.id=$transactional_id" >&2
  echo '{"ended":"commit"}'
}

follow() {
  exec 3<&0
  (cat <&3 >/dev/null; kill -TERM $$) >/dev/null 2>&1 &
  exec stdbuf -oL kcat -b "$bootstrap" -C -u -t "$topic" -p 0 -o beginning -X "isolation.level=$isolation" \
    -f '{"partition":%p,"offset":%o,"value":"%s"}\n' </dev/null
}

# "  topic "name" with 4 partitions:" lines of the metadata listing, as "name 4"
topics() { kcat -b "$bootstrap" -L | sed -n 's/^  topic "\(.*\)" with \([0-9]*\) partitions:.*/\1 \2/p'; }

case $verb in
  list) echo "{\"topics\":[$(topics | sed 's/\(.*\) .*/"\1"/' | paste -sd,)]}" ;;
  describe)
    partitions=$(topics | awk -v name="$topic" '$1 == name { print $2 }')
    [ -n "$partitions" ] || { echo "no topic $topic" >&2; exit 1; }
    echo "{\"partitions\":$partitions}"
    ;;
  produce) produce ;;
  consume) consume ;;
  member) member ;;
  write) write ;;
  follow) follow ;;
  *) unsupported "kcat has no admin requests" ;;
esac
