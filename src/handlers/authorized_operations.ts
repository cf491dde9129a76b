/**
 * What a client may do with a resource, as a set of bits by operation code (KIP-430). Without access rules, which
 * come later, everybody may do everything that the kind of resource knows.
 */

const READ = 1 << 3, WRITE = 1 << 4, CREATE = 1 << 5, DELETE = 1 << 6, ALTER = 1 << 7, DESCRIBE = 1 << 8;
const CLUSTER_ACTION = 1 << 9,
  DESCRIBE_CONFIGS = 1 << 10,
  ALTER_CONFIGS = 1 << 11,
  IDEMPOTENT_WRITE = 1 << 12;

/** "Not asked for". */
export const operationsOmitted = -(2 ** 31);

export const topicOperations = READ | WRITE | CREATE | DELETE | ALTER | DESCRIBE | DESCRIBE_CONFIGS |
  ALTER_CONFIGS;
export const groupOperations = READ | DELETE | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS;
export const clusterOperations = CREATE | ALTER | DESCRIBE | CLUSTER_ACTION | DESCRIBE_CONFIGS |
  ALTER_CONFIGS |
  IDEMPOTENT_WRITE;
