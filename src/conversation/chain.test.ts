import { expect, test } from "vitest";
import { sha256 } from "../util/index.ts";
import { parseConversationId } from "./conversation-id.ts";
import { ChainBuilder } from "./chain.ts";
import { StreamEntry } from "./entry.ts";
import { inquiry, permission, permissionRequest } from "./events.fixture.ts";

test("a link of a request says whom it is for", () => {
  const chain = new ChainBuilder(parseConversationId("jp-c1"));
  const forAny = [{ role: "finance" }, { user: "ada" }];
  const links = [
    { ...permissionRequest("a"), forAny },
    { ...inquiry("a.q.1"), forAny },
    { ...inquiry("a.q.2"), for: "ada" },
  ].map((event) => chain.event(StreamEntry.fromEvent(event), "salt").link.json);
  expect(links).toMatchObject([{ for_any: forAny }, { for_any: forAny }, { for: "ada" }]);
});

test("a link of a decision by rules has the digests of the rules and of their files", () => {
  const chain = new ChainBuilder(parseConversationId("jp-c1"));
  const rules = [
    { from: "user", key: "a", file: "f".repeat(64), rule: { mode: "skip" } },
    { from: "turn", key: "b", rule: { mode: "skip" } },
  ];
  const decidedBy = { kind: "policy", key: "a", rules } as const;
  const entry = StreamEntry.fromEvent({ ...permission("a"), decidedBy });
  const rule = sha256('{"mode":"skip"}');
  expect(chain.event(StreamEntry.fromJson(entry.raw), "salt").link.json["by"]).toEqual({
    kind: "policy",
    key: "a",
    rules: [
      { from: "user", key: "a", file: "f".repeat(64), rule },
      { from: "turn", key: "b", rule },
    ],
  });
});
