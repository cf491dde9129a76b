/**
 * The shell text at the front of a packed Trackway: it finds or makes the unpacked files, then becomes the broker by
 * `exec`, so that signals and exit codes need no passing on. It is read by any /bin/sh and may use nothing but shell
 * builtins when the files are there already; that keeps a start within a few milliseconds of Deno's own.
 */
import { v8Flags } from "./v8_flags.ts";

/** A file of the payload. `path` is relative, and plain enough to stand in a shell word list. */
export interface PayloadFile {
  readonly path: string;
  readonly size: number;
}

export interface StubInputs {
  /** Such as 0.1.0. */
  readonly version: string;
  /** Such as "x86_64". */
  readonly machine: string;
  /** The dynamic loader that the executable names; without it the kernel's error would be a bare "not found". */
  readonly loader: string;
  /** Names the unpacked directory; other contents must have another name. */
  readonly contentHash: string;
  /** In the order of the payload. The first is the runtime, the second the program. */
  readonly files: readonly PayloadFile[];
  /** What `cksum` prints for the files in this order. */
  readonly checksums: string;
}

/** The payload begins at a multiple of this, so that copying it is done in whole pages. */
const alignment = 4096;

/** Where the runtime and the program lie in the unpacked directory. */
export const runtimePath = "deno";
export const programPath = "trackway.js";
/** What the thread of compaction runs: src/storage/cleaner/thread.ts looks for it beside the program. */
export const cleanerThreadPath = "cleaner_thread.js";

/**
 * How the runtime is to run a program with addons: --node-modules-dir=manual finds them in the node_modules beside it;
 * --no-config keeps a stray deno.json out; everything is allowed because addons need --allow-ffi, which is as good.
 */
export const runArguments = [
  "run",
  "--allow-all",
  "--quiet",
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--cached-only",
  "--node-modules-dir=manual",
  `--v8-flags=${v8Flags}`,
];

/** The end of both scripts. */
const launch = `# A code cache and nothing else is kept there; where it cannot be written, Deno goes without.
DENO_DIR=$home/deno-dir
DENO_NO_UPDATE_CHECK=1
export DENO_DIR DENO_NO_UPDATE_CHECK
exec "$home/${runtimePath}" ${runArguments.join(" ")} \\
  "$home/${programPath}" "$@"
`;

/** The launcher of a directory that is unpacked already, as in a container image. It must lie in that directory. */
export function launcher(): string {
  return `#!/bin/sh
# Starts Trackway from the files beside this script; a link to the script will do.
self=$0
if [ -h "$self" ]; then self=$(readlink -f "$self"); fi
home=\${self%/*}
case $home in
  /*) ;;
  *) home=$PWD/$home ;;
esac
${launch}`;
}

/** The whole stub, padded; the payload is to follow at once. Throws for a path that a shell would take apart. */
export function stub(inputs: StubInputs): string {
  for (const { path } of inputs.files) {
    if (!/^[\w@./-]+$/.test(path)) {
      throw new Error(`Cannot pack ${path}: the name is not plain enough for a shell`);
    }
  }
  // Where the payload begins is part of the text whose length decides it: measured with room for the largest number.
  const length = Math.ceil(text(inputs, 999_999).length / alignment) * alignment;
  return text(inputs, length).padEnd(length, "\n");
}

function text(inputs: StubInputs, payloadAt: number): string {
  const { version, machine, loader, contentHash, files, checksums } = inputs;
  const folders = [...new Set(files.map(({ path }) => path.split("/").slice(0, -1).join("/")))].filter(
    Boolean,
  );
  const copies = files.map(({ path, size }) => `      head -c ${size} >"$new/${path}"`);
  return `#!/bin/sh
# Trackway ${version} for Linux on ${machine} with glibc, in one file: this script, then what it unpacks at its first
# start: the Deno runtime, the program and its addons. They go to $TRACKWAY_CACHE, or $XDG_CACHE_HOME/trackway, or
# /var/tmp/trackway-UID, or /tmp/trackway-UID; that directory may be removed whenever Trackway does not run.

name=trackway-${contentHash}
files='
${files.map(({ path }) => path).join("\n")}
'
folders='${[".", ...folders].join(" ")}'
checksums='${checksums.trimEnd()}'

fail() {
  printf 'trackway: %s\\n' "$*" >&2
  exit 1
}

# The standard tools, also where PATH says nothing; the broker gets PATH as it was.
with_tools() (
  PATH=\${PATH:+$PATH:}/usr/bin:/bin
  "$@"
)

# A directory of this user's or of root's, and no link: nobody else can have put files there.
trusted() {
  [ -d "$1" ] && [ ! -h "$1" ] || return 1
  [ -O "$1" ] && return 0
  set -- $(with_tools ls -ldn "$1/.")
  case "$1 $3" in
    d????-??-?*' 0') return 0 ;;
  esac
  return 1
}

# Every file counts: cleaners of temporary directories take them one by one.
whole() {
  trusted "$1" && [ -x "$1/${runtimePath}" ] || return 1
  for file in $files; do
    [ -s "$1/$file" ] || return 1
  done
}

# Unpacks below $1, or prints why it cannot. Works on a private copy that gets its name by one rename, so any number
# of first starts may run at once, and one that is killed leaves nothing half done under that name.
unpack() (
  umask 077
  mkdir -p "$1" 2>/dev/null || { echo "cannot make $1"; exit 1; }
  trusted "$1" || { echo "$1 belongs to another user, is open to others, or is a link"; exit 1; }
  if [ -e "$1/$name" ] || [ -h "$1/$name" ]; then
    trusted "$1/$name" || { echo "$1/$name belongs to another user, is open to others, or is a link"; exit 1; }
  fi
  new=$(mktemp -d "$1/new-XXXXXX" 2>/dev/null) || { echo "cannot write in $1"; exit 1; }
  trap 'rm -rf "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  (cd "$new" && mkdir -p $folders)
  tail -c +${payloadAt + 1} "$self" 2>/dev/null | {
    {
${copies.join(" &&\n")}
    } 2>/dev/null
  } || { echo "cannot write all of it in $1: is the disk full?"; exit 1; }
  [ "$(cd "$new" && cksum $files)" = "$checksums" ] || { echo "$self is damaged: its checksums differ"; exit 1; }
  chmod 700 "$new/${runtimePath}"
  [ -x "$new/${runtimePath}" ] || { echo "$1 allows no programs to run (noexec)"; exit 1; }
  mv -T "$new" "$1/$name" 2>/dev/null && exit 0
  # It exists: another start was first, or files went missing. The contents are the same, so each file may be replaced
  # under a running broker.
  whole "$1/$name" && exit 0
  (cd "$1/$name" && mkdir -p $folders)
  for file in $files; do
    mv -f "$new/$file" "$1/$name/$file" 2>/dev/null || { echo "cannot repair $1/$name"; exit 1; }
  done
)

# Sets home to the unpacked files below one of the directories named.
find_home() {
  for base in "$@"; do
    home=$base/$name
    whole "$home" && return
  done
  [ -e ${loader} ] || fail "this file is for Linux on ${machine} with glibc, and ${loader} is not here"
  reasons=
  for base in "$@"; do
    home=$base/$name
    if reason=$(with_tools unpack "$base"); then return; fi
    reasons="$reasons; $reason"
  done
  fail "cannot unpack\${reasons}. TRACKWAY_CACHE can name a directory for it"
}

self=$0
if [ -n "\${TRACKWAY_CACHE-}" ]; then
  find_home "$TRACKWAY_CACHE"
else
  user=$(with_tools id -u)
  find_home \${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/trackway"} "/var/tmp/trackway-$user" "/tmp/trackway-$user"
fi
case $home in
  /*) ;;
  *) home=$PWD/$home ;;
esac
# The broker takes every other TRACKWAY_ variable for a setting.
unset TRACKWAY_CACHE
${launch}`;
}
