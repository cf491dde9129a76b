/** Kafka's numbers must not move: the corners of the table and what clients do with it. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ErrorCode, errorName, errorText, isRetriable } from "../../src/codec/errors.ts";

Deno.test("ErrorCode has every code from -1 to 136 once, without a gap", () => {
  const codes = Object.values(ErrorCode) as number[];
  assertEquals([...codes].sort((a, b) => a - b), Array.from({ length: 138 }, (_, i) => i - 1));
});

Deno.test("ErrorCode has Kafka's numbers", () => {
  const expected: [number, number][] = [
    [ErrorCode.UNKNOWN_SERVER_ERROR, -1],
    [ErrorCode.NONE, 0],
    [ErrorCode.CORRUPT_MESSAGE, 2],
    [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 3],
    [ErrorCode.MESSAGE_TOO_LARGE, 10],
    [ErrorCode.UNSUPPORTED_VERSION, 35],
    [ErrorCode.INVALID_REQUEST, 42],
    [ErrorCode.KAFKA_STORAGE_ERROR, 56],
    [ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, 76],
    [ErrorCode.INVALID_RECORD, 87],
    [ErrorCode.UNKNOWN_TOPIC_ID, 100],
    [ErrorCode.FENCED_MEMBER_EPOCH, 110],
    [ErrorCode.TRANSACTION_ABORTABLE, 120],
    [ErrorCode.SHARE_SESSION_LIMIT_REACHED, 133],
    [ErrorCode.CONTROLLER_ID_NOT_REGISTERED, 136],
  ];
  for (const [is, should] of expected) assertEquals(is, should);
});

Deno.test("errorName() and errorText() know each code of the table", () => {
  for (const [name, code] of Object.entries(ErrorCode)) {
    assertEquals(errorName(code), name);
    assert(errorText(code).length > 4 && !errorText(code).endsWith("."), `text of ${name}`);
  }
});

Deno.test("errorName() names a code from the future instead of failing", () => {
  assertEquals(errorName(999), "ERROR_999");
  assertEquals(errorText(999), "unknown error code 999");
  assertEquals(isRetriable(999), false);
});

Deno.test("isRetriable() says what Java's client believes", () => {
  // Asked of kafka-clients 4.4.0: the errors whose exception is a RetriableException.
  const retriable = Object.values(ErrorCode).filter(isRetriable);
  assertEquals(
    retriable,
    // deno-fmt-ignore
    [2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106,
      122, 123, 133],
  );
});
