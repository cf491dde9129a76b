/**
 * What the groups' machine logs: Kafka's own records of classic groups and committed offsets, as typed facts, and
 * their bytes. The log is `__consumer_offsets`, so tools that read that topic understand every record.
 */
import { Reader } from "../../codec/reader.ts";
import type { DecodedOf, EncodableOf, Message, Shape } from "../../codec/schema.ts";
import {
  groupMetadataKey,
  groupMetadataValue,
  offsetCommitKey,
  offsetCommitValue,
} from "../../codec/records/offsets.ts";
import { ZERO_UUID } from "../../codec/uuid.ts";
import { decodeValue, prefixed } from "../log_record.ts";
import type { LogRecord } from "../machine.ts";
import type { CommittedOffset } from "./types.ts";

export interface OffsetCommitFact {
  readonly type: "offsetCommit";
  readonly key: { readonly group: string; readonly topic: string; readonly partition: number };
  /** Null deletes the offset. */
  readonly value: CommittedOffset | null;
}

export interface GroupMetadataFact {
  readonly type: "groupMetadata";
  readonly key: { readonly group: string };
  /** Null deletes the group. */
  readonly value: GroupMetadata | null;
}

export interface GroupMetadata {
  /** Empty: none yet. */
  readonly protocolType: string;
  readonly generation: number;
  readonly protocol: string | null;
  readonly leader: string | null;
  readonly currentStateTimestamp: number;
  readonly members: readonly MemberMetadata[];
}

export interface MemberMetadata {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly rebalanceTimeout: number;
  readonly sessionTimeout: number;
  /** What the member gave for the chosen protocol. */
  readonly subscription: Uint8Array;
  readonly assignment: Uint8Array;
}

export type GroupsFact = OffsetCommitFact | GroupMetadataFact;

/** Record types, which go before a key. Type 0 is an older form of an offset's key with the same fields. */
const LEGACY_OFFSET_COMMIT = 0;
const OFFSET_COMMIT = 1;
const GROUP_METADATA = 2;

const KEY_VERSION = 0;
/** What Kafka 4 writes; all its readers since 2.x know it. */
const GROUP_METADATA_VERSION = 3;
const OFFSET_COMMIT_VERSION = 3;
/** The only version with an expiry of its own (OffsetCommit v2–4 with a retention). It has no leader epoch. */
const OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1;
/** Has the topic's id, as a tagged field. */
const OFFSET_COMMIT_VERSION_WITH_TOPIC_ID = 4;

/** The bytes of a fact's record. */
export function encodeFact(fact: GroupsFact): LogRecord {
  if (fact.type === "offsetCommit") {
    const { value } = fact;
    return {
      key: prefixed(OFFSET_COMMIT, offsetCommitKey, KEY_VERSION, fact.key),
      value: value === null ? null : encodeValue(offsetCommitValueVersion(value), offsetCommitValue, value),
    };
  }
  return {
    key: prefixed(GROUP_METADATA, groupMetadataKey, KEY_VERSION, fact.key),
    value: fact.value === null ? null : encodeValue(GROUP_METADATA_VERSION, groupMetadataValue, fact.value),
  };
}

function offsetCommitValueVersion(value: CommittedOffset): number {
  if (value.expireTimestamp !== -1) return OFFSET_COMMIT_VERSION_WITH_EXPIRY;
  return value.topicId === ZERO_UUID ? OFFSET_COMMIT_VERSION : OFFSET_COMMIT_VERSION_WITH_TOPIC_ID;
}

function encodeValue<S extends Shape>(version: number, message: Message<S>, value: EncodableOf<Message<S>>) {
  return prefixed(version, message, version, value);
}

/**
 * The fact that a record states; null for record types of other kinds of groups. Throws MalformedFrame when the
 * record is not what its type and version say. Keeps no view on `record`.
 */
export function decodeFact(record: { key: Uint8Array | null; value: Uint8Array | null }): GroupsFact | null {
  if (record.key === null) return null;
  const reader = new Reader(record.key);
  const type = reader.int16();
  switch (type) {
    case LEGACY_OFFSET_COMMIT:
    case OFFSET_COMMIT:
      return {
        type: "offsetCommit",
        key: offsetCommitKey.read(reader, KEY_VERSION),
        value: record.value === null ? null : offsetOf(decodeValue(offsetCommitValue, record.value)),
      };
    case GROUP_METADATA:
      return {
        type: "groupMetadata",
        key: groupMetadataKey.read(reader, KEY_VERSION),
        value: record.value === null ? null : metadataOf(decodeValue(groupMetadataValue, record.value)),
      };
    default:
      return null;
  }
}

function offsetOf(value: DecodedOf<typeof offsetCommitValue>): CommittedOffset {
  return {
    offset: safeNumber(value.offset),
    leaderEpoch: value.leaderEpoch,
    metadata: value.metadata,
    commitTimestamp: safeNumber(value.commitTimestamp),
    expireTimestamp: safeNumber(value.expireTimestamp),
    topicId: value.topicId,
  };
}

function metadataOf(value: DecodedOf<typeof groupMetadataValue>): GroupMetadata {
  return {
    protocolType: value.protocolType,
    generation: value.generation,
    protocol: value.protocol,
    leader: value.leader,
    currentStateTimestamp: safeNumber(value.currentStateTimestamp),
    members: value.members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      // Version 0 has no rebalance timeout: the session's stands in for it.
      rebalanceTimeout: member.rebalanceTimeout === -1 ? member.sessionTimeout : member.rebalanceTimeout,
      sessionTimeout: member.sessionTimeout,
      subscription: member.subscription.slice(),
      assignment: member.assignment.slice(),
    })),
  };
}

// No log reaches such offsets or times. A group that committed nonsense must not keep its partition from loading.
function safeNumber(value: bigint): number {
  const bound = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(value > bound ? bound : value < -bound ? -bound : value);
}
