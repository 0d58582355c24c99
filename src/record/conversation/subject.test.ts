import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InquiryQuestion, ToolSource } from "../tool/index.ts";
import { type JsonObject, sha256 } from "../../util/index.ts";
import type { ConversationId } from "./conversation-id.ts";
import type { InquiryRequest } from "./event.ts";
import { anyEvent, inquiry, toolResult } from "./events.fixture.ts";
import { eventToJson, parseEvent } from "./event-codec.ts";
import {
  type CallSubject,
  changedParts,
  digestCall,
  digestDelivery,
  digestQuestion,
  isDigestOf,
  isMadeIn,
  isPortable,
} from "./subject.ts";

const CALL: CallSubject = {
  conversation: "jp-c1" as ConversationId,
  toolCallId: "call_1",
  tool: "write",
  source: {
    origin: { type: "local", command: "./write" },
    identity: ["./write"],
    program: { path: "/bin/write", sha256: "00" },
    file: [{ path: "/a", sha256: "11" }],
    definition: { description: "Writes." },
    folder: ".",
  },
  arguments: { path: "a", mode: { append: true, create: false } },
};

/** A digest on record, from before files counted by their content whatever their size. */
const EARLIER = { digest: "", version: 1, parts: {} };

const SANDBOXED = { type: "builtin", confinement: "sandbox", undo: "git" } as const;

const QUESTION = inquiry("call_1.ok.1", { context: "diff", binding: "b1" });

function withSource(fields: Partial<ToolSource>): CallSubject {
  return { ...CALL, source: { ...CALL.source, ...fields } };
}

describe("the digest of what is decided", () => {
  test("is that of the canonical JSON of the subject", () => {
    const call: CallSubject = {
      ...CALL,
      source: { origin: { type: "builtin" } },
      arguments: { b: 1, a: "x" },
    };
    const parts = {
      arguments: '{"a":"x","b":1}',
      call: '{"conversation":"jp-c1","id":"call_1","tool":"write"}',
      source: '{"origin":{"type":"builtin"}}',
    };
    expect(digestCall(call)).toEqual({
      digest: sha256(
        `{"arguments":${parts.arguments},"call":${parts.call},"kind":"call",` +
          `"source":${parts.source},"version":3}`,
      ),
      version: 3,
      parts: Object.fromEntries(
        Object.entries(parts).map(([name, json]) => [name, sha256(json).slice(0, 16)]),
      ),
    });
  });

  test("stays what it was in earlier versions of jp, which have recorded it", () => {
    const [recorded, portable] = [1, 2].map((version) => ({ digest: "", version, parts: {} }));
    expect([
      digestCall(CALL, {}, recorded).digest,
      digestQuestion(CALL, QUESTION, recorded).digest,
      digestCall(withSource({ isPortable: true }), {}, portable).digest,
    ]).toEqual([
      "ed02c16d4729a51569b156aafb662358031d0b708eff2b10f9cabb68f7edf49e",
      "60323013663d596ade2f4c6050878ef1cdcba434079ac1824ca0860eaf7999ac",
      "de5f99b12a0bf66b14bd643f14e3591c1341288ea5d1e8ac402c8da4a312b187",
    ]);
  });

  test("has the files that its version knew, to be compared with one on record", () => {
    const { program, file } = CALL.source;
    const more = withSource({
      program: [program ?? null, { path: "/bin/sh", sha256: "22" }],
      file: [{ path: "/b", sha256: "33" }],
      earlier: { program: program ?? null, file: file ?? null },
    });
    const bare = withSource({ file: [], earlier: { program: program ?? null } });
    const { file: _file, ...without } = CALL.source;
    for (const version of [0, 1]) {
      const before = { ...digestCall(CALL, {}, EARLIER), version };
      expect(digestCall(more, {}, before).digest).toBe(before.digest);
      expect(digestCall(more)).toMatchObject({ version: 3 });
    }
    expect(digestCall(bare, {}, EARLIER)).toEqual(
      digestCall({ ...CALL, source: without }, {}, EARLIER),
    );
  });

  test("is not compared with one that had a file by its time", () => {
    const now = withSource({ earlier: "incomparable" });
    const before = digestCall(CALL, {}, EARLIER);
    expect(changedParts(before, digestCall(now, {}, before))).toEqual(["version"]);
  });

  test("is found to be that of the call as it is now, whatever version has recorded it", () => {
    const other = withSource({ folder: "docs" });
    const digests = [digestCall(CALL), digestCall(CALL, {}, EARLIER)].map(({ digest }) => digest);
    expect(digests.map((digest) => isDigestOf(digest, CALL))).toEqual([true, true]);
    expect([...digests, undefined].map((digest) => isDigestOf(digest, other))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("of a delivery can be compared with that of an earlier version", () => {
    const result = toolResult("call_1");
    const before = digestDelivery(CALL, result, { recorded: EARLIER });
    expect([before.version, digestDelivery(CALL, result).version]).toEqual([1, 3]);
    expect(digestDelivery(CALL, result, { recorded: before })).toEqual(before);
  });

  test("is of another version if files are named as on any other machine, and is never taken for the usual one", () => {
    const portable = withSource({ isPortable: true });
    const pairs = [
      [digestCall(CALL), digestCall(portable)],
      [digestQuestion(CALL, QUESTION), digestQuestion(portable, QUESTION)],
    ] as const;
    for (const [usual, shared] of pairs) {
      expect([usual.version, shared.version]).toEqual([3, 4]);
      expect([isPortable(usual), isPortable(shared)]).toEqual([false, true]);
      expect(shared.digest).not.toBe(usual.digest);
      expect([changedParts(usual, shared), changedParts(shared, usual)]).toEqual([
        ["version"],
        ["version"],
      ]);
    }
  });

  test("names no folder that is the workspace itself, to save bytes", () => {
    const folders = [".", "docs"].map((folder) => digestCall(withSource({ folder })));
    expect(folders.map(({ parts }) => "folder" in parts)).toEqual([false, true]);
    expect(new Set(folders.map(({ digest }) => digest)).size).toBe(2);
  });

  test("does not depend on the order of keys, nor on members that are absent", () => {
    const { arguments: args, source, ...call } = CALL;
    const { mode, path } = args as { readonly mode: JsonObject; readonly path: string };
    const { append, create } = mode as { readonly append: boolean; readonly create: boolean };
    const { origin, folder, ...rest } = source;
    const other: CallSubject = {
      arguments: { mode: { create, append }, path },
      source: { folder, ...rest, origin } as ToolSource,
      ...call,
    };
    const bare = withSource({ identity: undefined, file: undefined } as unknown as ToolSource);
    const { identity: _identity, file: _file, ...without } = CALL.source;
    expect(digestCall(other)).toEqual(digestCall(CALL));
    expect(digestCall(bare)).toEqual(digestCall({ ...CALL, source: without }));
  });

  test("is another for each kind of decision about the same call", () => {
    const digests = [
      digestCall(CALL),
      digestQuestion(CALL, QUESTION),
      digestDelivery(CALL, { content: "done", isError: false }),
    ].map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(3);
    expect(digests.every((digest) => /^[0-9a-f]{64}$/.test(digest))).toBe(true);
  });

  test("is the same for a question that was recorded and read again", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        if (event.type !== "inquiry_request") return;
        const read = parseEvent(JSON.parse(JSON.stringify(eventToJson(event)))) as InquiryRequest;
        expect(digestQuestion(CALL, read)).toEqual(digestQuestion(CALL, event));
      }),
    );
  });
});

describe("what has changed about a call", () => {
  test.each<[string, CallSubject, readonly string[]]>([
    ["nothing", { ...CALL }, []],
    [
      "the conversation, as in a fork",
      { ...CALL, conversation: "jp-c2" as ConversationId },
      ["call"],
    ],
    ["the id of the call", { ...CALL, toolCallId: "call_2" }, ["call"]],
    ["the tool", { ...CALL, tool: "read" }, ["call"]],
    ["the arguments", { ...CALL, arguments: { ...CALL.arguments, path: "b" } }, ["arguments"]],
    ["the folder", withSource({ folder: "docs" }), ["folder"]],
    ["the command", withSource({ origin: { type: "local", command: "./other" } }), ["source"]],
    ["the kind of source", withSource({ origin: { type: "builtin" } }), ["source"]],
    ["the words of the command", withSource({ identity: ["./write", "-f"] }), ["source"]],
    ["the program", withSource({ program: { path: "/bin/write", sha256: "01" } }), ["program"]],
    ["a file of its command", withSource({ file: [{ path: "/a", sha256: "12" }] }), ["file"]],
    ["its definition", withSource({ definition: { description: "Deletes." } }), ["definition"]],
    [
      "several, in alphabetical order",
      { ...withSource({ folder: "docs", definition: {} }), arguments: {} },
      ["arguments", "definition", "folder"],
    ],
  ])("is named by the parts that differ: %s", (_, now, changed) => {
    expect(changedParts(digestCall(CALL), digestCall(now))).toEqual(changed);
  });

  test.each<[string, Partial<ToolSource>]>([
    ["the sandbox", { origin: { ...SANDBOXED, confinement: "none" } }],
    ["its network", { origin: { ...SANDBOXED, network: true } }],
    ["its access to .git", { origin: { ...SANDBOXED, git: true } }],
    ["whether its changes can be undone", { origin: { ...SANDBOXED, undo: "off" } }],
    ["the folders that it may read", { confined: { readable: ["/opt", "/srv"] } }],
    ["why it is not in a sandbox", { confined: { unconfined: "failed" } }],
  ])("includes how a command is confined: %s", (_, fields) => {
    const shown = { origin: SANDBOXED, confined: { readable: ["/opt"] } };
    const [before, now] = [withSource(shown), withSource({ ...shown, ...fields })];
    expect(changedParts(digestCall(before), digestCall(now))).toEqual(["confinement"]);
    expect(changedParts(digestQuestion(before, QUESTION), digestQuestion(now, QUESTION))).toEqual([
      "confinement",
    ]);
  });

  test("includes parts that only one of the two has", () => {
    const { program: _program, file: _file, ...source } = CALL.source;
    const bare = digestCall({ ...CALL, source });
    expect([changedParts(digestCall(CALL), bare), changedParts(bare, digestCall(CALL))]).toEqual([
      ["file", "program"],
      ["file", "program"],
    ]);
  });
});

describe("what has changed about a question", () => {
  const asked = (fields: Partial<InquiryQuestion>, more: Partial<InquiryRequest> = {}) => ({
    ...QUESTION,
    question: { ...QUESTION.question, ...fields },
    ...more,
  });
  const options = [{ value: "a" }, { value: "b" }];

  test.each<[string, InquiryRequest, readonly string[]]>([
    ["nothing", { ...QUESTION }, []],
    ["its text", asked({ text: "Really?" }), ["question"]],
    ["its context", asked({ context: "another diff" }), ["question"]],
    ["its answer type", asked({ answerType: { type: "text" } }), ["question"]],
    ["its options", asked({ answerType: { type: "select", options } }), ["question"]],
    ["its default", asked({ default: true }), ["question"]],
    ["whom it is for", asked({}, { for: "Ada" }), ["question"]],
    ["its binding", asked({ binding: "b2" }), ["binding"]],
    ["who may answer it, and for how long", asked({ exclusive: true, persistence: "none" }), []],
    ["its id and its deadline", { ...inquiry("call_1.ok.2"), question: QUESTION.question }, []],
  ])("is named by the parts that differ: %s", (_, now, changed) => {
    expect(changedParts(digestQuestion(CALL, QUESTION), digestQuestion(CALL, now))).toEqual(
      changed,
    );
  });

  test("is its binding, if a server wants another state back", () => {
    const before = digestQuestion(CALL, { ...inquiry("a"), state: "s1" });
    const now = digestQuestion(CALL, { ...inquiry("a"), state: "s2" });
    expect(changedParts(before, now)).toEqual(["binding"]);
  });

  test("includes what has changed about the call that asks", () => {
    const now = digestQuestion(withSource({ folder: "docs" }), asked({ text: "Really?" }));
    expect(changedParts(digestQuestion(CALL, QUESTION), now)).toEqual(["folder", "question"]);
  });
});

test("a digest says whether it was made for a call of this conversation, or for its fork", () => {
  const fork = { ...CALL, conversation: "jp-c2" as ConversationId };
  const digests = [digestCall(CALL), digestQuestion(CALL, QUESTION)];
  expect(digests.map((digest) => isMadeIn(digest, CALL))).toEqual([true, true]);
  expect([
    isMadeIn(digestCall(fork), CALL),
    isMadeIn(digestCall({ ...CALL, toolCallId: "call_2" }), CALL),
    isMadeIn(digestCall({ ...CALL, tool: "read" }), CALL),
    isMadeIn({ ...digestCall(CALL), parts: {} }, CALL),
  ]).toEqual([false, false, false, false]);
});

test.each<[string, ReturnType<typeof digestDelivery>, readonly string[]]>([
  ["its text", digestDelivery(CALL, { content: "else", isError: false }), ["result"]],
  ["that it failed", digestDelivery(CALL, { content: "done", isError: true }), ["result"]],
  [
    "its images",
    digestDelivery(CALL, {
      content: "done",
      isError: false,
      blocks: [{ type: "text", text: "done" }],
    }),
    ["result"],
  ],
  ["its call", digestDelivery({ ...CALL, toolCallId: "b" }, toolResult("b")), ["call"]],
  [
    "nothing, whatever has become of its tool and its arguments",
    digestDelivery({ ...CALL, arguments: {} } as CallSubject, toolResult("call_1")),
    [],
  ],
])("a result that waits for its delivery is about what the tool returned: %s", (_, now, parts) => {
  expect(changedParts(digestDelivery(CALL, toolResult("call_1")), now)).toEqual(parts);
});

describe("digests that cannot be compared part by part", () => {
  const now = digestCall(CALL);
  const other = digestCall({ ...CALL, arguments: {} });

  test("differ in everything if another version has made them", () => {
    expect(changedParts({ ...other, version: 2 }, now)).toEqual(["version"]);
  });

  test("differ in everything if the parts are not on record any more", () => {
    const lost = [other, { ...other, version: 0 }].map((before) => ({ ...before, parts: {} }));
    expect(lost.map((before) => changedParts(before, now))).toEqual([["digest"], ["digest"]]);
  });

  test("are equal if the whole digest is, whatever is known of its version and parts", () => {
    expect([
      changedParts({ ...now, version: 0, parts: {} }, now),
      changedParts({ ...now, version: 2, parts: { arguments: "0" } }, now),
    ]).toEqual([[], []]);
  });
});
