/**
 * Compressing on a thread of its own, for what would hold up everybody: a megabyte takes gzip and zstd tens of
 * milliseconds, and zstd's highest levels seconds. The thread is made for the first, and ends when nothing has come for a
 * while, so that a broker which compresses nothing pays nothing.
 */
import { compress } from "./index.ts";
import { trimZstd } from "./zstd.ts";
import { Compression } from "../batch_format.ts";

/** After so long without work the thread ends. */
const IDLE_MS = 10_000;

/** What the thread runs: a text, since the bundle of the program has no module beside it. The calls are `compress()`'s. */
const program = `
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
onmessage = ({ data: { id, isGzip, level, bytes } }) => {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  const out = isGzip ? gzipSync(bytes, { level }) : zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.length });
  postMessage({ id, out: new Uint8Array(out) });
};`;

interface Job {
  readonly type: number;
  readonly bytes: Uint8Array;
  readonly level: number;
  readonly resolve: (out: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export class CompressionThread {
  private worker: Worker | null = null;
  private readonly jobs = new Map<number, Job>();
  private nextId = 0;
  private idle: ReturnType<typeof setTimeout> | undefined;

  /** As `compress()` of gzip or zstd; where there is no thread to be had, at once. `bytes` must stay as they are. */
  compress(type: number, bytes: Uint8Array, level: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      clearTimeout(this.idle);
      const id = this.nextId++;
      this.jobs.set(id, { type, bytes, level, resolve, reject });
      this.worker ??= this.start();
      this.worker.postMessage({ id, isGzip: type === Compression.GZIP, level, bytes });
    });
  }

  /** Ends the thread; what it has not done is done here. */
  end(): void {
    clearTimeout(this.idle);
    this.worker?.terminate();
    this.worker = null;
    for (const [id, job] of [...this.jobs]) {
      this.settle(id, () => compress(job.type, job.bytes, job.level));
    }
  }

  private start(): Worker {
    const url = `data:text/javascript,${encodeURIComponent(program)}`;
    const worker = new Worker(url, { type: "module", name: "compression" });
    worker.onmessage = ({ data: { id, out } }: MessageEvent<{ id: number; out: Uint8Array }>) => {
      const isZstd = this.jobs.get(id)?.type === Compression.ZSTD;
      this.settle(id, () => isZstd ? trimZstd(out) : out);
      if (this.jobs.size === 0) this.idle = setTimeout(() => this.end(), IDLE_MS);
    };
    worker.onerror = (event) => {
      // Else the whole process ends with it.
      event.preventDefault();
      this.end();
    };
    return worker;
  }

  private settle(id: number, work: () => Uint8Array): void {
    const job = this.jobs.get(id);
    if (job === undefined) return;
    this.jobs.delete(id);
    try {
      job.resolve(work());
    } catch (error) {
      job.reject(error);
    }
  }
}
