/** Writes OTLP metrics as clients do, and what they should not. */

export type Bytes = readonly number[];

/** A varint. */
export function varint(value: number | bigint): Bytes {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

const VARINT = 0, FIXED64 = 1, BYTES = 2;

function tag(field: number, wire: number): Bytes {
  return varint(field * 8 + wire);
}

/** A field that holds a message, or bytes. */
export function message(field: number, ...parts: Bytes[]): Bytes {
  const body = parts.flat();
  return [...tag(field, BYTES), ...varint(body.length), ...body];
}

export function text(field: number, value: string): Bytes {
  return message(field, [...new TextEncoder().encode(value)]);
}

export function number(field: number, value: number | bigint): Bytes {
  return [...tag(field, VARINT), ...varint(value)];
}

export function double(field: number, value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return [...tag(field, FIXED64), ...bytes];
}

export function int64(field: number, value: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, value, true);
  return [...tag(field, FIXED64), ...bytes];
}

/** `MetricsData` with one resource and one scope. */
export function metricsData(...metrics: Bytes[]): Uint8Array {
  const scope = message(2, message(1, text(1, "scope")), ...metrics.map((metric) => message(2, metric)));
  const resource = message(1, attribute(1, "service", text(1, "app")));
  return new Uint8Array(message(1, resource, scope));
}

/** An attribute of a point, in the field where that kind of point has its attributes. */
export function attribute(field: number, key: string, value: Bytes): Bytes {
  return message(field, text(1, key), message(2, value));
}

export function gauge(name: string, value: number, ...attributes: Bytes[]): Bytes {
  return [...text(1, name), ...message(5, message(1, int64(3, 1n), double(4, value), ...attributes))];
}

/** 1 is delta, 2 cumulative. */
export function sum(name: string, value: bigint, temporality: number): Bytes {
  return [...text(1, name), ...message(7, message(1, int64(6, value)), number(2, temporality), number(3, 1))];
}

export function histogram(name: string, count: bigint, total: number, temporality: number): Bytes {
  return [
    ...text(1, name),
    ...message(9, message(1, int64(4, count), double(5, total)), number(2, temporality)),
  ];
}
