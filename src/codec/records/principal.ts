/**
 * A principal as it travels between brokers.
 */
import { bool, message, string } from "../schema.ts";

export const defaultPrincipalData = message({
  name: "DefaultPrincipalData",
  versions: [0, 0],
  flexible: 0,
  fields: {
    type: string,
    name: string,
    tokenAuthenticated: bool,
  },
});
