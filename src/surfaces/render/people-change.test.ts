import { expect, test } from "vitest";
import { describePeopleChange } from "./people-change.ts";

const CLI = { channel: "cli", os_user: "root" };
const DESK = { channel: "desk", person_id: "p_1", name: "ada" };

test.each([
  [
    { what: "person_added", by: CLI, rights: ["see"], roles: ["finance"], os_user: "al" },
    "added on the command line by root (see; roles: finance; OS user: al)",
  ],
  [
    { what: "person_changed", by: CLI, roles: [], os_user: "" },
    "changed on the command line by root (roles: none; OS user: none)",
  ],
  [{ what: "person_confirmed", by: DESK }, "confirmed at the desk by ada"],
  [
    { what: "person_away", by: CLI, to: "bob", until: "2026-01-31" },
    "bob stands in until 2026-01-31, set on the command line by root",
  ],
  [
    { what: "key_added", by: DESK, key: "aBcDeFgHiJ", key_type: "passkey", allowed_by: "link" },
    "passkey aBcDeFgH added at the desk by ada, allowed by a link",
  ],
  [
    {
      what: "key_replaced",
      by: DESK,
      key: "b",
      replaced: "a",
      key_type: "passkey",
      allowed_by: "a",
    },
    "passkey a replaced by b at the desk by ada, signed by passkey a",
  ],
  [
    { what: "key_removed", by: CLI, key: "SHA256:47DEQpj8HBSa", key_type: "ed25519" },
    "key 47DEQpj8 removed on the command line by root",
  ],
  [{ what: "badge_lost", by: {} }, "badge_lost"],
])("a change to people is put in words: %j", (change, words) => {
  expect(describePeopleChange(change)).toBe(words);
});
