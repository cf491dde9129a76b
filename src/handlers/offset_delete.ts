/** Deletes committed offsets of a group, where no member is subscribed to the topic. */
import type { offsetDelete } from "../codec/messages/offset_delete.ts";
import type { Handler } from "./context.ts";

export const offsetDeleteHandler: Handler<typeof offsetDelete> = (request, { services }) =>
  services.groups.deleteOffsets(request);
