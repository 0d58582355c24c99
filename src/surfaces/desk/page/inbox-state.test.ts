import { describe, expect, test } from "vitest";
import { systemClock } from "../../../util/index.ts";
import { PENDING } from "../served.fixture.ts";
import type { DecisionJson, DeskChange } from "../wire.ts";
import {
  EMPTY_INBOX,
  formOf,
  type InboxState,
  toForms,
  withAnswered,
  withEvent,
  withList,
  withMore,
} from "./inbox-state.ts";
import { describeBy, type Item, readItem } from "./item.ts";
import { PageSession } from "./page-session.ts";
import { newsOf } from "./session.ts";

const ME = { name: "Ada", rights: [], runs: false };

function pending(id: string, fields: Partial<DecisionJson> = {}): DecisionJson {
  const question = { text: `${id}?`, answer_type: { type: "boolean" } };
  const where = { workspace: "/w", conversation: "c", id, tool: "t", label: "t" };
  const { tool_call_id: _call, ...rest } = PENDING;
  return { ...rest, ...where, question, asked_at: "2026-01-02 03:04:05", ...fields };
}

function answered(id: string, name: string): DeskChange {
  const by = { kind: "user", channel: "desk", name };
  return { type: "answered", data: { workspace: "/w", conversation: "c", id, answered_by: by } };
}

const idsOf = ({ items }: InboxState) => items.map(({ id }) => id);
const asked = (state: InboxState, id: string) =>
  withEvent(state, { type: "pending", data: pending(id) });

describe("the inbox", () => {
  test("takes what comes and leaves out what is answered, with by whom", () => {
    const one = asked(asked(EMPTY_INBOX, "one"), "two");
    const after = withEvent(one, answered("one", "Ben"));
    expect(idsOf(after)).toEqual(["two"]);
    expect(
      [...after.answered.values()].map(({ item, answered_by: by }) => [item?.id, describeBy(by)]),
    ).toEqual([["one", "Ben (desk)"]]);
    expect(newsOf(EMPTY_INBOX, asked(EMPTY_INBOX, "one"), ME)).toBe("New: t: one?");
    expect(newsOf(one, after, ME)).toBe("Answered by Ben (desk): t: one?");
    expect(newsOf(one, withEvent(one, answered("one", "Ada")), ME)).toBeUndefined();
  });

  test("does not bring back what was answered while the list was on its way", () => {
    const before = asked(EMPTY_INBOX, "one");
    const state = withEvent(asked(before, "three"), answered("one", "Ben"));
    const listed = withList(state, before, { items: [pending("one"), pending("two")] });
    expect(idsOf(listed).toSorted()).toEqual(["three", "two"]);
    expect(listed.isLoaded).toBe(true);
  });

  describe("after a response that something was answered", () => {
    const BY_ADA = { answered_by: { kind: "user", channel: "desk", name: "Ada" } };
    // As a view has read it by its address: there was no event of it yet.
    const item = readItem(pending("one")) as Item;
    const sent = withAnswered(EMPTY_INBOX, item, BY_ADA);

    test("takes no event of it from before", () => {
      const after = asked(sent, "one");
      expect([idsOf(after), newsOf(sent, after, ME)]).toEqual([[], undefined]);
    });

    test("takes what is asked later under the same id", () => {
      const later = pending("one", { asked_at: "2026-01-02 03:04:06" });
      const after = withEvent(sent, { type: "pending", data: later });
      expect([idsOf(after), after.answered.size]).toEqual([["one"], 0]);
    });

    test.each<[string, InboxState]>([
      ["which came later", withEvent(sent, answered("one", "Ada"))],
      [
        "which came first",
        withAnswered(withEvent(asked(EMPTY_INBOX, "one"), answered("one", "Ada")), item, BY_ADA),
      ],
    ])("takes it again if it waits after the event that it was answered, %s", (_which, told) => {
      expect(idsOf(asked(told, "one"))).toEqual(["one"]);
    });
  });

  test("forgets what the server no longer lists", () => {
    const before = asked(EMPTY_INBOX, "old");
    expect(idsOf(withList(before, before, { items: [pending("new")] }))).toEqual(["new"]);
  });

  test("takes more of a long list, page by page", () => {
    const first = withList(EMPTY_INBOX, EMPTY_INBOX, { items: [pending("one")], next: "1" });
    const meanwhile = withEvent(asked(first, "new"), answered("two", "Ben"));
    const items = [pending("two"), pending("three", { asked_at: "2026-01-02 03:04:06" })];
    const more = withMore(meanwhile, first, { items });
    expect([idsOf(more).toSorted(), first.next, more.next]).toEqual([
      ["new", "one", "three"],
      "1",
      undefined,
    ]);
    expect(withMore({ ...first, next: "2" }, first, { items }).items).toEqual(first.items);
  });

  test("is sorted by age", () => {
    const list = [pending("b", { asked_at: "2026-01-02 03:04:06" }), pending("a")];
    expect(idsOf(withList(EMPTY_INBOX, EMPTY_INBOX, { items: list }))).toEqual(["a", "b"]);
  });

  test("shows the questions of one call as one form", () => {
    const list = [
      pending("a", { tool_call_id: "1" }),
      pending("b", { tool_call_id: "1" }),
      pending("c", { tool_call_id: "2" }),
      pending("d", { tool_call_id: "1", conversation: "other" }),
      pending("e", { tool_call_id: "1", kind: "permission" }),
      pending("f"),
    ];
    const { items } = withList(EMPTY_INBOX, EMPTY_INBOX, { items: list });
    const forms = items.map((item) => formOf(items, item).map(({ id }) => id));
    expect(forms).toEqual([["a", "b"], ["a", "b"], ["c"], ["d"], ["e"], ["f"]]);
    const grouped = toForms(items).map((form) => form.map(({ id }) => id));
    expect(grouped).toEqual([["a", "b"], ["c"], ["d"], ["e"], ["f"]]);
  });
});

const grouped = (...list: readonly DecisionJson[]) => {
  const { items } = withList(EMPTY_INBOX, EMPTY_INBOX, { items: list });
  return toForms(items).map((form) => form.map(({ id }) => id));
};

describe("several calls", () => {
  const takes = { turn: { code: "calls" }, note: "any" } as const;
  const origin = { type: "builtin", confinement: "sandbox" } as const;
  const call = (id: string, fields: Partial<DecisionJson> = {}) =>
    pending(id, {
      kind: "permission",
      acts: true,
      tool_call_id: id,
      arguments: { command: id },
      origin,
      takes,
      ...fields,
    });
  test("of one turn are on one card, at the place of the first", () => {
    const other = pending("q");
    expect(grouped(call("a"), other, call("b"), call("c"))).toEqual([["a", "b", "c"], ["q"]]);
  });

  test("that edit files are too, apart from those that need permission", () => {
    const edit = { kind: "question", question_id: "apply_changes" } as const;
    const list = [call("a", edit), call("b"), call("c", edit), call("d")];
    expect(grouped(...list)).toEqual([
      ["a", "c"],
      ["b", "d"],
    ]);
  });

  test("of several turns are on one card only if they are the same call", () => {
    const list = [
      call("a", { conversation: "1", arguments: { command: "npm test" } }),
      call("b", { conversation: "2", arguments: { command: "npm i" } }),
      call("c", { conversation: "3", arguments: { command: "npm test" } }),
    ];
    expect(grouped(...list)).toEqual([["a", "c"], ["b"]]);
  });

  test.each<[string, Partial<DecisionJson>]>([
    ["takes a quorum", { terms: { quorum: 2 } }],
    ["takes a signature", { terms: { proof: "signed" } }],
    ["is for someone else", { for: "ben" }],
    ["is for a role", { for_any: [{ role: "ops" }] }],
    ["may not cover others", { takes: { note: "any" } }],
    ["is from an older version", { takes: undefined as never }],
    ["has changed", { changed: ["file"] }],
    ["is not in the sandbox", { origin: { type: "builtin", confinement: "none" } }],
    ["has a network", { origin: { ...origin, network: true } }],
    ["is in another workspace", { workspace: "/v" }],
    ["is a result", { kind: "delivery", acts: false }],
    ["does not act", { kind: "question", acts: false }],
  ])("are decided without one that %s", (_what, fields) => {
    expect(grouped(call("a"), call("b", fields), call("c"))).toEqual([["a", "c"], ["b"]]);
  });

  test("for the same people are on one card", () => {
    const whom = { for_any: [{ role: "ops" }] };
    expect(grouped(call("a", whom), call("b", whom))).toEqual([["a", "b"]]);
  });

  test("are on cards of at most 20", () => {
    const list = Array.from({ length: 25 }, (_, index) => call(String(index)));
    expect(grouped(...list).map(({ length }) => length)).toEqual([20, 5]);
  });
});

/** The page's session, and what it sends. */
function open(reply: (path: string) => Response) {
  const calls: unknown[] = [];
  let pair: CryptoKeyPair | undefined;
  const session = new PageSession({
    url: "http://desk.test/",
    clock: systemClock,
    keys: {
      find: async () => pair,
      save: async (saved) => void (pair = saved),
      remove: async () => void (pair = undefined),
    },
    fetch: async (path, init) => {
      const { method = "GET", body, headers } = init ?? {};
      const { pathname, search } = new URL(path as string);
      calls.push([method, pathname + search, new Headers(headers).get("authorization"), body]);
      return reply(pathname);
    },
  });
  return { session, calls, pair: () => pair };
}

const LOGGED_OUT = { error: { code: "unauthorized", message: "Log in." } };

test("the page signs with a key that it never sends, and sends what it gets for it", async () => {
  const { session, calls, pair } = open((path) =>
    Response.json(path.endsWith("/challenge") ? { nonce: "n" } : { token: "t" }),
  );
  await session.enter("code");
  const address = { conversation: "c", id: "a/b.c?", workspace: "/w x", digest: "d" };
  await session.client.answer(address, true);
  const proof = expect.stringMatching(
    /^\{"key":"[\w-]{87}","nonce":"n","signature":"[\w-]{86}","login":"code"\}$/,
  ) as unknown;
  expect(calls).toEqual([
    ["POST", "/api/v1/challenge", null, "{}"],
    ["POST", "/api/v1/session", null, proof],
    ["GET", "/api/v1/me", "Session t", undefined],
    [
      "POST",
      "/api/v1/conversations/c/inquiries/a%2Fb.c%3F/answer?workspace=%2Fw+x",
      "Session t",
      '{"answer":true,"digest":"d"}',
    ],
  ]);
  expect(pair()?.privateKey.extractable).toBe(false);
  await session.leave();
  expect(pair()).toBeUndefined();
});

test("the page proves its session again to a server that was started again", async () => {
  let started = 0;
  const { session } = open((path) => {
    if (path.endsWith("/challenge")) return Response.json({ nonce: "n" });
    if (path.endsWith("/session")) return Response.json({ token: `${(started += 1)}` });
    return started < 2
      ? Response.json(LOGGED_OUT, { status: 401 })
      : Response.json({ name: "ada" });
  });
  expect(await session.enter("code")).toEqual({ name: "ada" });
  expect(started).toBe(2);
});

test("any request of the page finds out that the session has ended", async () => {
  const { session } = open(() => Response.json(LOGGED_OUT, { status: 401 }));
  let ends = 0;
  session.onLoggedOut = () => {
    ends += 1;
  };
  const sent = session.client.answer({ conversation: "c", id: "a" }, true);
  await expect(sent).rejects.toThrow("Log in.");
  expect(ends).toBe(1);
});
