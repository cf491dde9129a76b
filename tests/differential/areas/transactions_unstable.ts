/** InitProducerId 6 where unstable versions are enabled and two phases are not. */
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { initializing, tellState, told, transactional } from "../setup/transactions.ts";

export const oracle: Oracle = { settings: { "unstable.api.versions.enable": "true" } };

export const scenarios = [
  scenario("InitProducerId 6 with two phases that are not enabled", async (broker) => {
    const one = await transactional(broker);
    const client = { clientSoftwareName: "differential", clientSoftwareVersion: "1" };
    await broker.ask(
      apiVersions,
      4,
      client,
      (r) => r.apiKeys.filter(({ apiKey }) => apiKey === initProducerId.key),
    );
    await broker.askEach(initProducerId, 6, {
      "neither": initializing(one.transactionalId),
      "two phases": initializing(one.transactionalId, { enable2Pc: true }),
      "kept": initializing(one.transactionalId, { keepPreparedTxn: true }),
      "both": initializing(one.transactionalId, { enable2Pc: true, keepPreparedTxn: true }),
      "two phases, no transactional id": initializing(null, { enable2Pc: true }),
      "two phases, empty": initializing("", { enable2Pc: true }),
    }, told(broker));
    await tellState(broker, one);
  }),
];
