/** Versions of the transaction protocol, which records and requests carry: levels of the feature `transaction.version`. */

/** Clients add partitions by themselves, and an end keeps the epoch. */
export const FIRST_PROTOCOL = 0;
/** From this version on Produce adds partitions, and each end raises the epoch (KIP-890). */
export const RAISING_PROTOCOL = 2;
