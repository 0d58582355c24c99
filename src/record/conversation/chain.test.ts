import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { sha256 } from "../../util/index.ts";
import { parseConversationId } from "./conversation-id.ts";
import { ChainBuilder } from "./chain.ts";
import { StreamEntry } from "./entry.ts";
import { answered, at, inquiry, permission, permissionRequest } from "./events.fixture.ts";

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

test("a link says what an answer may bring, and who answered, as recorded", () => {
  const chain = new ChainBuilder(parseConversationId("jp-c1"));
  const takes = { turn: { code: "label", label: "all edits" }, note: "any" } as const;
  const asked = { ...permissionRequest("a"), takes, personIds: { ada: "p1" }, deadline: at(9) };
  const by = { kind: "user", channel: "desk", name: "ada", personId: "p1", scope: "turn" } as const;
  const decided = { ...permission("a"), id: asked.id, decidedBy: by, reason: "fine", digest: "d1" };
  const links = [asked, decided].map(
    (event) => chain.event(StreamEntry.fromEvent(event), "salt").link.json,
  );
  expect(links).toMatchObject([
    {
      version: 2,
      takes: { turn: { code: "label" }, note: "any" },
      person_ids: { ada: "p1" },
      deadline: at(9),
    },
    {
      version: 2,
      by: { kind: "user", surface: "desk", name: "ada", person_id: "p1", scope: "turn" },
      note: true,
    },
  ]);
  expect(JSON.stringify(links)).not.toMatch(/all edits|fine|"auth"/);
});

test("links show who said the same to one request, and nothing of what that was", () => {
  counters("T-PROOF-4");
  const chain = new ChainBuilder(parseConversationId("jp-c1"));
  const choices = [
    ["a.q.1", "salt-1", true, true, false],
    ["a.q.2", "salt-2", true, true, false],
  ].map(([id, salt, ...answers]) => {
    const request = inquiry(String(id));
    chain.event(StreamEntry.fromEvent(request), String(salt));
    return answers.map(
      (answer) =>
        chain.event(StreamEntry.fromEvent(answered(String(id), answer ?? null)), "salt").link.json[
          "choice"
        ],
    );
  });
  const [[yes, again, no] = [], [other] = []] = choices;
  expect([again === yes, no === yes, other === yes]).toEqual([true, false, false]);
  expect(yes).not.toBe(sha256("salt.choice.true"));
});

test("a chain that goes on knows the salts of what was asked before", () => {
  const id = parseConversationId("jp-c1");
  const chain = new ChainBuilder(id);
  const asked = chain.event(StreamEntry.fromEvent(inquiry("a.q.1")), "salt-1");
  const entry = StreamEntry.fromEvent(answered("a.q.1"));
  const links = [chain, new ChainBuilder(id, [asked])].map(
    (builder) => builder.event(entry, "salt").link.json,
  );
  expect(links[1]).toEqual(links[0]);
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
