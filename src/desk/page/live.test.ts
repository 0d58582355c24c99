import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../util/index.ts";
import { Api } from "./api.ts";
import {
  EMPTY_INBOX,
  formOf,
  type InboxState,
  toForms,
  withEvent,
  withList,
} from "./inbox-state.ts";
import { describeBy } from "./item.ts";
import { EventParser, type StreamEvent } from "../event-parser.ts";
import { type Connection, listen } from "./live.ts";
import { newsOf } from "./session.ts";

const ME = { name: "Ada", rights: [], runs: false };

function pending(id: string, fields: JsonObject = {}): JsonObject {
  const asked = {
    text: `${id}?`,
    answer_type: { type: "boolean" },
    asked_at: "2026-01-02 03:04:05",
  };
  return {
    workspace: "/w",
    conversation: "c",
    id,
    kind: "question",
    tool: "t",
    ...asked,
    ...fields,
  };
}

function answered(id: string, name: string): StreamEvent {
  const by = { kind: "user", channel: "desk", name };
  return { type: "answered", data: { workspace: "/w", conversation: "c", id, answered_by: by } };
}

const idsOf = ({ items }: InboxState) => items.map(({ id }) => id);
const asked = (state: InboxState, id: string) =>
  withEvent(state, { type: "pending", data: pending(id) });

describe("the stream of events", () => {
  const text =
    ': hello\n\nid: 7\nevent: pending\ndata: {"a":\ndata: 1}\n\nretry: 2000\n\nevent: reset\r\ndata: {}\r\n\r\nevent: bad\ndata: no\n\n';
  const expected = [
    { id: "7", type: "pending", data: { a: 1 } },
    { id: "7", type: "reset", data: {} },
  ];

  test.each([1, 2, 3, 7, 1000])("is parsed in pieces of %i characters", (size) => {
    const parser = new EventParser();
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(expected);
  });

  test("is opened again where it broke, until no one is logged in", async () => {
    const lastIds: (string | null)[] = [];
    const replies = [
      () => new Response('id: 1\nevent: pending\ndata: {"n":1}\n\nid: 2\nevent'),
      () => Promise.reject(new TypeError("no network")),
      () => new Response('id: 3\nevent: pending\ndata: {"n":3}\n\n'),
      () => new Response('{"error":{"code":"unauthorized","message":"Log in."}}', { status: 401 }),
    ];
    const api = new Api(async (_path, init) => {
      lastIds.push(new Headers(init?.headers).get("last-event-id"));
      return (replies.shift() ?? (() => Response.error()))();
    });
    const events: StreamEvent[] = [];
    const connections: Connection[] = [];
    const waits: number[] = [];
    let isLoggedOut = false;
    await listen(api, {
      onEvent: (event) => events.push(event),
      onConnection: (connection) => connections.push(connection),
      onLoggedOut: () => {
        isLoggedOut = true;
      },
      signal: new AbortController().signal,
      wait: async (milliseconds) => void waits.push(milliseconds),
    });
    expect(events.map(({ data }) => data)).toEqual([{ n: 1 }, { n: 3 }]);
    expect(lastIds).toEqual([null, "1", "1", "3"]);
    expect(connections).toEqual(["connecting", "live", "lost", "lost", "live", "lost"]);
    expect(waits).toEqual([500, 1000, 500]);
    expect(isLoggedOut).toBe(true);
  });
});

describe("the inbox", () => {
  test("takes what comes and leaves out what is answered, with by whom", () => {
    const one = asked(asked(EMPTY_INBOX, "one"), "two");
    const after = withEvent(one, answered("one", "Ben"));
    expect(idsOf(after)).toEqual(["two"]);
    expect([...after.answered.values()].map(({ item, by }) => [item?.id, describeBy(by)])).toEqual([
      ["one", "Ben (desk)"],
    ]);
    expect(newsOf(EMPTY_INBOX, asked(EMPTY_INBOX, "one"), ME)).toBe("New: t: one?");
    expect(newsOf(one, after, ME)).toBe("Answered by Ben (desk): t: one?");
    expect(newsOf(one, withEvent(one, answered("one", "Ada")), ME)).toBeUndefined();
  });

  test("does not bring back what was answered while the list was on its way", () => {
    const before = asked(EMPTY_INBOX, "one");
    const state = withEvent(asked(before, "three"), answered("one", "Ben"));
    const listed = withList(state, before, [pending("one"), pending("two")]);
    expect(idsOf(listed).toSorted()).toEqual(["three", "two"]);
    expect(listed.isLoaded).toBe(true);
  });

  test("forgets what the server no longer lists", () => {
    const before = asked(EMPTY_INBOX, "old");
    expect(idsOf(withList(before, before, [pending("new")]))).toEqual(["new"]);
  });

  test("is sorted by age", () => {
    const list = [pending("b", { asked_at: "2026-01-02 03:04:06" }), pending("a")];
    expect(idsOf(withList(EMPTY_INBOX, EMPTY_INBOX, list))).toEqual(["a", "b"]);
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
    const { items } = withList(EMPTY_INBOX, EMPTY_INBOX, list);
    const forms = items.map((item) => formOf(items, item).map(({ id }) => id));
    expect(forms).toEqual([["a", "b"], ["a", "b"], ["c"], ["d"], ["e"], ["f"]]);
    const grouped = toForms(items).map((form) => form.map(({ id }) => id));
    expect(grouped).toEqual([["a", "b"], ["c"], ["d"], ["e"], ["f"]]);
  });
});

test("the API is called with the CSRF token, and with ids as they are", async () => {
  const calls: unknown[] = [];
  const api = new Api(async (path, init) => {
    calls.push([init?.method, path, new Headers(init?.headers).get("x-csrf-token"), init?.body]);
    return Response.json({ csrf: "secret" });
  });
  await api.login("code");
  await api.answer({ conversation: "c", id: "a/b.c?", workspace: "/w x" }, { answer: true });
  expect(calls).toEqual([
    ["POST", "api/v1/login", "", '{"login":"code"}'],
    [
      "POST",
      "api/v1/conversations/c/inquiries/a%2Fb.c%3F/answer?workspace=%2Fw+x",
      "secret",
      '{"answer":true}',
    ],
  ]);
});

test("a request finds out that the session has ended", async () => {
  const api = new Api(async () =>
    Response.json({ error: { message: "Log in." } }, { status: 401 }),
  );
  let ends = 0;
  api.onLoggedOut = () => {
    ends += 1;
  };
  const sent = api.answer({ conversation: "c", id: "a" }, { answer: true });
  await expect(sent).rejects.toThrow("Log in.");
  expect(ends).toBe(1);
});
