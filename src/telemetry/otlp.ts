/**
 * Reads what clients push: OTLP metrics in protobuf, of which numbers, sums and the counts of histograms are taken and
 * all else is stepped over. Ours because the kept libraries bring a generated decoder for all of OpenTelemetry along,
 * and because everything here is bounded by the bytes that came.
 *
 *     MetricsData  1: ResourceMetrics  2: ScopeMetrics  2: Metric
 *     Metric       1: name  5: Gauge  7: Sum  9: Histogram  10: ExponentialHistogram  11: Summary, each 1: data points
 */
import { MalformedFrame } from "../codec/malformed.ts";

/** One number that a client measured. */
export interface Point {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly value: number;
  /** Whether it is what has come since the last push, to be added to what there was. */
  readonly isDelta: boolean;
}

/** Protobuf's ways to put a value down. */
const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** `AggregationTemporality.DELTA` */
const DELTA = 1;

const utf8 = new TextDecoder();

/** A message, field by field. */
class Fields {
  #at = 0;
  field = 0;
  private wire = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes on to the next field; false at the end. */
  next(): boolean {
    if (this.#at >= this.bytes.length) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.wire = tag % 8;
    if (this.field === 0) throw new MalformedFrame("OTLP: a field with the number 0");
    return true;
  }

  message(): Fields {
    return new Fields(this.slice());
  }

  text(): string {
    return utf8.decode(this.slice());
  }

  double(): number {
    return this.view.getFloat64(this.fixed(FIXED64, 8), true);
  }

  /** A fixed64 with a sign, as a number: beyond 2^53 not to the last digit. */
  int64(): number {
    return Number(this.view.getBigInt64(this.fixed(FIXED64, 8), true));
  }

  /** A number that is a varint on the wire: a flag, an enum, a small count. */
  number(): number {
    if (this.wire !== VARINT) throw this.odd();
    return this.varint();
  }

  skip(): void {
    if (this.wire === VARINT) this.varint();
    else if (this.wire === FIXED64) this.fixed(FIXED64, 8);
    else if (this.wire === FIXED32) this.fixed(FIXED32, 4);
    else this.slice();
  }

  private slice(): Uint8Array {
    if (this.wire !== BYTES) throw this.odd();
    const length = this.varint();
    const at = this.#at;
    this.step(length);
    return this.bytes.subarray(at, at + length);
  }

  private fixed(wire: number, length: number): number {
    if (this.wire !== wire) throw this.odd();
    const at = this.#at;
    this.step(length);
    return at;
  }

  private step(length: number): void {
    if (length > this.bytes.length - this.#at) {
      throw new MalformedFrame(
        `OTLP: field ${this.field} has ${length} bytes, ${this.bytes.length - this.#at} are left`,
      );
    }
    this.#at += length;
  }

  /** Seven bits a byte, low ones first; what has no room in a number loses its last digits. */
  private varint(): number {
    let value = 0;
    for (let shift = 1, i = 0; i < 10; i++, shift *= 128) {
      if (this.#at >= this.bytes.length) throw new MalformedFrame("OTLP: a number is cut off");
      const byte = this.bytes[this.#at++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
    throw new MalformedFrame("OTLP: a number of more than ten bytes");
  }

  private odd(): MalformedFrame {
    return new MalformedFrame(`OTLP: field ${this.field} is of the wire type ${this.wire}`);
  }
}

/** Every number in a push. Throws {@link MalformedFrame} for bytes that are no OTLP metrics. */
export function* readMetrics(bytes: Uint8Array): Generator<Point> {
  for (const resource of messages(new Fields(bytes), 1)) {
    for (const scope of messages(resource, 2)) {
      for (const metric of messages(scope, 2)) yield* readMetric(metric);
    }
  }
}

/** The messages in a field that may come more than once; other fields are stepped over. */
function* messages(of: Fields, field: number): Generator<Fields> {
  while (of.next()) {
    if (of.field === field) yield of.message();
    else of.skip();
  }
}

function* readMetric(metric: Fields): Generator<Point> {
  let name = "";
  const data: { kind: number; fields: Fields }[] = [];
  while (metric.next()) {
    if (metric.field === 1) name = metric.text();
    else if (metric.field in POINT_READERS) data.push({ kind: metric.field, fields: metric.message() });
    else metric.skip();
  }
  for (const { kind, fields } of data) {
    const points: Fields[] = [];
    let isDelta = false;
    while (fields.next()) {
      if (fields.field === 1) points.push(fields.message());
      else if (fields.field === 2 && kind !== SUMMARY) isDelta = fields.number() === DELTA;
      else fields.skip();
    }
    for (const point of points) {
      const { attributes, values } = POINT_READERS[kind](point);
      for (const [suffix, value] of values) yield { name: name + suffix, attributes, value, isDelta };
    }
  }
}

interface RawPoint {
  readonly attributes: Record<string, string>;
  /** What is added to the metric's name, and the number. */
  readonly values: readonly (readonly [string, number])[];
}

const GAUGE = 5, SUM = 7, HISTOGRAM = 9, EXPONENTIAL_HISTOGRAM = 10, SUMMARY = 11;

const POINT_READERS: Readonly<Record<number, (point: Fields) => RawPoint>> = {
  [GAUGE]: numberPoint,
  [SUM]: numberPoint,
  [HISTOGRAM]: (point) => countPoint(point, 9),
  [EXPONENTIAL_HISTOGRAM]: (point) => countPoint(point, 1),
  [SUMMARY]: (point) => countPoint(point, 7),
};

function numberPoint(point: Fields): RawPoint {
  const attributes: Record<string, string> = {};
  let value: number | null = null;
  while (point.next()) {
    if (point.field === 4) value = point.double();
    else if (point.field === 6) value = point.int64();
    else if (point.field === 7) addAttribute(attributes, point.message());
    else point.skip();
  }
  return { attributes, values: value === null ? [] : [["", value]] };
}

/** How many there were, and their sum: quantiles and buckets are left out. */
function countPoint(point: Fields, attributesField: number): RawPoint {
  const attributes: Record<string, string> = {};
  let count = 0, sum = 0;
  while (point.next()) {
    if (point.field === attributesField) addAttribute(attributes, point.message());
    else if (point.field === 4) count = point.int64();
    else if (point.field === 5) sum = point.double();
    else point.skip();
  }
  return { attributes, values: [[".count", count], [".sum", sum]] };
}

function addAttribute(attributes: Record<string, string>, pair: Fields): void {
  let key = "", value = "";
  while (pair.next()) {
    if (pair.field === 1) key = pair.text();
    else if (pair.field === 2) value = anyValue(pair.message());
    else pair.skip();
  }
  Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Text and numbers; lists and maps have no place in a label. */
function anyValue(value: Fields): string {
  let text = "";
  while (value.next()) {
    if (value.field === 1) text = value.text();
    else if (value.field === 2) text = String(value.number() !== 0);
    else if (value.field === 3) text = String(value.number());
    else if (value.field === 4) text = String(value.double());
    else value.skip();
  }
  return text;
}
