/** SCRAM credentials of users, as long as there are none: kafka-configs asks for them with a user's quotas. */
import { describeUserScramCredentials } from "../../../src/codec/messages/describe_user_scram_credentials.ts";
import { scenario } from "../scenario.ts";

const users = (...names: string[]) => ({ users: names.map((name) => ({ name })) });

export const scenarios = [
  scenario("DescribeUserScramCredentials without users has nothing to tell", async (broker) => {
    await broker.askEach(describeUserScramCredentials, 0, { "of all": { users: null }, "of none": users() });
  }),
  scenario("DescribeUserScramCredentials does not find users", async (broker) => {
    await broker.askEach(describeUserScramCredentials, 0, {
      one: users("ada"),
      two: users("bob", "ada"),
      "no name": users(""),
      "a strange name": users("a,b=c\u00e9 "),
    });
  }),
  scenario("DescribeUserScramCredentials refuses a user that is named twice", async (broker) => {
    await broker.askEach(describeUserScramCredentials, 0, {
      twice: users("ada", "ada"),
      "twice beside another": users("ada", "bob", "ada", "eve", "ada"),
      "no name twice": users("", ""),
    });
  }),
];
