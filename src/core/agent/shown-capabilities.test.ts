import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventToJson,
  parseEvent,
} from "../../record/conversation/index.ts";
import { createPolicy } from "../policy/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import type { Outcome, Tool, ToolSource } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { TurnState } from "./memory.ts";
import type { AnsweredPrompt, PermissionRequest, PromptRequest } from "./ports.ts";
import { toolboxOf, ToolTurn } from "./tool-turn.fixture.ts";

const RUNNER: Tool = {
  name: "runner",
  description: "",
  parameters: { type: "object", properties: { command: { type: "string" } } },
  inquirySource: (name) => ({ source: "tool", name }),
  execute: async (): Promise<Outcome> => ({ type: "success", content: "done" }),
};

/** The arguments say how the call would run. */
async function describeSource({
  network,
  folder,
  unconfined,
  outside,
}: JsonObject): Promise<ToolSource> {
  return {
    origin: {
      type: "builtin",
      confinement: unconfined === true ? "none" : "sandbox",
      ...(network === true && { network }),
    },
    ...(typeof folder === "string" && { folder }),
    ...(typeof outside === "string" && { outside: [outside] }),
  };
}

/** A turn whose person answers with these, one after the other. */
async function start(...answers: readonly Omit<AnsweredPrompt, "type">[]) {
  const toolbox = toolboxOf({ tools: [RUNNER], config: { runner: { run: "ask" } } });
  const shown: PermissionRequest[] = [];
  const left = [...answers];
  const ask = async (request: PromptRequest) => {
    if (request.kind !== "permission") throw new Error("it asks something else");
    shown.push(request);
    const answer = left.shift() ?? { answer: false };
    return { inquiryId: request.inquiryId, type: "answered" as const, ...answer };
  };
  const turn = await ToolTurn.start({
    tools: [RUNNER],
    parts: {
      tools: {
        ...toolbox,
        find: async (name, signal) => {
          const tool = await toolbox.find(name, signal);
          return tool && { ...tool, argumentKinds: { "/command": "command" }, describeSource };
        },
      },
      prompter: { channel: "test", canAsk: () => true, ask },
    },
  });
  const store = { save: async () => undefined, noteUsed: () => undefined };
  turn.parts = { ...turn.parts, policy: createPolicy({ root: temporaryFolder(), store }) };
  return { turn, shown };
}

let count = 0;
const call = (args: JsonObject) => toolCall(`call_${(count += 1)}`, "runner", args);
const deciders = (turn: ToolTurn) =>
  turn.recorded("permission_decision").map(({ decidedBy: by }) => by.kind);

/** As another process reads it. */
function recordOf(turn: ToolTurn): readonly ConversationEvent[] {
  return turn.events.map((event) => parseEvent(JSON.parse(JSON.stringify(eventToJson(event)))));
}

const SHOWN = { command: "make", folder: "src" };

describe("a yes for the turn to a command in the sandbox", () => {
  test.each<[string, JsonObject, "remembered" | "user"]>([
    ["another command", { command: "make all" }, "remembered"],
    ["a folder below", { folder: "src/agent" }, "remembered"],
    ["a folder beside it", { folder: "test" }, "user"],
    ["the folder above", { folder: "." }, "user"],
    ["a network", { network: true }, "user"],
    ["no sandbox", { unconfined: true }, "user"],
    ["a file outside the workspace", { outside: "/etc/hosts" }, "user"],
  ])("covers a later call that can do no more than was shown: %s", async (_, more, expected) => {
    counters("T-SAVED-6");
    const { turn } = await start({ answer: true, isRemembered: true });
    await turn.run(call(SHOWN));
    await turn.run(call({ ...SHOWN, ...more }));
    expect(deciders(turn)).toEqual(["user", expected]);
  });

  test("covers the same when another process continues the turn", async () => {
    counters("T-SAVED-6");
    const first = await start({ answer: true, isRemembered: true });
    await first.turn.run(call({ ...SHOWN, outside: "/etc/hosts" }));
    const { turn } = await start();
    turn.parts = { ...turn.parts, state: TurnState.fromEvents(recordOf(first.turn)) };
    await turn.run(call({ ...SHOWN, outside: "/etc/hosts" }));
    await turn.run(call({ ...SHOWN, folder: "test" }));
    await turn.run(call({ ...SHOWN, outside: "/etc/passwd" }));
    expect(deciders(turn)).toEqual(["remembered", "user", "user"]);
  });
});

test("a call with a network cannot be allowed for the turn, and is asked about each time", async () => {
  counters("T-SAVED-6");
  const yes = { answer: true, isRemembered: true };
  const { turn, shown } = await start(yes, yes);
  await turn.run(call({ ...SHOWN, network: true }));
  await turn.run(call({ ...SHOWN, network: true }));
  expect(shown.map(({ canRemember }) => canRemember)).toEqual([false, false]);
  expect(deciders(turn)).toEqual(["user", "user"]);
});

describe("a rule that is granted for the turn", () => {
  const rule = { mode: "unattended", arg: "/command", prefix: "git diff" };
  const grant = { rule, until: "turn" } as const;
  const shown = { command: "git diff --stat", folder: "src" };

  test.each<[string, JsonObject, "policy" | "user"]>([
    ["further words", { command: "git diff --stat a.ts" }, "policy"],
    ["another option", { command: "git diff --output=a.ts" }, "user"],
    ["a folder below", { folder: "src/agent" }, "policy"],
    ["a folder beside it", { folder: "test" }, "user"],
    ["a network", { network: true }, "user"],
  ])("covers what was shown, and further words: %s", async (_, more, expected) => {
    counters("T-SAVED-6");
    const { turn } = await start({ answer: true, grant });
    await turn.run(call(shown));
    await turn.run(call({ ...shown, ...more }));
    expect(deciders(turn)).toEqual(["user", expected]);
  });

  test("covers the same when another process continues the turn", async () => {
    const first = await start({ answer: true, grant });
    await first.turn.run(call(shown));
    const { turn } = await start();
    turn.parts = { ...turn.parts, state: TurnState.fromEvents(recordOf(first.turn)) };
    await turn.run(call({ ...shown, command: "git diff --stat a.ts" }));
    await turn.run(call({ ...shown, command: "git diff --output=a.ts" }));
    await turn.run(call({ ...shown, folder: "test" }));
    expect(deciders(turn)).toEqual(["policy", "user", "user"]);
  });
});
