import { describe, expect, test } from "vitest";
import { at, toolCall } from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventToJson,
  type Grant,
  parseEvent,
  questionAbout,
  readTurnProgress,
  replyToEvent,
} from "../../record/conversation/index.ts";
import { createPolicy, openSavedRules, type Policy } from "../policy/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { booleanQuestion, type Outcome, type Tool } from "../../record/tool/index.ts";
import { FakeClock } from "../../testing/index.ts";
import { ToolCycle } from "./calls.ts";
import { TurnState } from "./memory.ts";
import type {
  AnsweredPrompt,
  CallableTool,
  PermissionRequest,
  PromptRequest,
  PromptResult,
} from "./ports.ts";
import { toolboxOf, ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";

const FOLDER = { mode: "unattended", arg: "/path", prefix: "src" };

/** Changes a file, after it has asked itself, if it `asks`. */
function writer(asks?: string): Tool {
  return {
    name: "fs_modify_file",
    description: "",
    parameters: { type: "object", properties: { path: { type: "string" } } },
    inquirySource: (name) => ({ source: "tool", name }),
    execute: async ({ answers }): Promise<Outcome> =>
      asks === undefined || asks in answers
        ? { type: "success", content: "done" }
        : {
            type: "needs_input",
            question: booleanQuestion(asks, "Apply these changes?", { exclusive: true }),
          },
  };
}

interface GrantTurnOptions extends Partial<ToolTurnOptions> {
  readonly run?: "ask" | "unattended";
  readonly asks?: string;
  readonly effect?: CallableTool["effect"];
  readonly policy?: Policy;
}

function failOn(message: string): never {
  throw new Error(message);
}

class Place {
  readonly data = temporaryFolder();
  readonly root = temporaryFolder();
  readonly clock = new FakeClock();

  get policy(): Policy {
    const { data: dataFolder, root, clock } = this;
    const { options } = openSavedRules({ dataFolder, root, clock, onWarning: failOn });
    return createPolicy({ root, ...options });
  }

  /** A turn whose person answers with these, one after the other. */
  async turn(answers: readonly AnswerToGive[], options: GrantTurnOptions = {}) {
    const { run = "ask", asks, effect = "edits", policy = this.policy, ...others } = options;
    const tools = [writer(asks)];
    const toolbox = toolboxOf({ tools, config: { fs_modify_file: { run } } });
    const shown: PromptRequest[] = [];
    const left = [...answers];
    const turn = await ToolTurn.start({
      tools,
      ...others,
      parts: {
        tools: {
          ...toolbox,
          find: async (name, signal) => {
            const tool = await toolbox.find(name, signal);
            return tool && { ...tool, effect, argumentKinds: { "/path": "path" } };
          },
        },
        prompter: {
          channel: "test",
          canAsk: () => true,
          ask: async (request): Promise<PromptResult> => {
            shown.push(request);
            const answer = left.shift() ?? failOn("nothing more should be asked");
            const { inquiryId } = request;
            return answer === "later"
              ? { inquiryId, type: "later" }
              : { inquiryId, type: "answered", ...answer };
          },
        },
      },
    });
    turn.parts = { ...turn.parts, policy };
    return { turn, shown };
  }
}

type AnswerToGive = Omit<AnsweredPrompt, "type"> | "later";

const yes = (grant?: Grant) => ({ answer: true, ...(grant && { grant }) });
const call = (id: string, file: string) => toolCall(id, "fs_modify_file", { path: file });

const deciders = (turn: ToolTurn) =>
  turn
    .recorded("permission_decision")
    .map(({ decidedBy: by }) =>
      by.kind === "policy"
        ? [by.key, ...(by.rules ?? []).map(({ from }) => from)].join(" ")
        : by.kind,
    );

describe("what a person may add to a yes", () => {
  test("is offered as data, with what each rule covers", async () => {
    const { turn, shown } = await new Place().turn([yes()]);
    await turn.run(call("a", "src/agent/a.ts"));
    const [request] = shown as readonly PermissionRequest[];
    expect(request?.grants?.map(({ code, parts }) => [code, ...parts])).toEqual([
      ["files", "src/agent/a.ts"],
      ["folder", "src/agent"],
    ]);
    expect(await request?.checkGrant?.({ mode: "skip" })).toHaveProperty("problem");
  });

  test.each<[string, GrantTurnOptions]>([
    ["nothing can be saved", { policy: createPolicy({ root: "." }) }],
    ["the call destroys something", { effect: "destroys" }],
    ["the tool overwrites a file", { run: "unattended", asks: "overwrite_file" }],
    ["the tool deletes a file", { run: "unattended", asks: "delete_file" }],
  ])("is nothing if %s", async (_, options) => {
    const { turn, shown } = await new Place().turn([yes()], options);
    await turn.run(call("a", "src/a.ts"));
    expect(shown).toHaveLength(1);
    expect(shown[0]).not.toHaveProperty("grants");
  });

  test("is refused, and the call with it, if it is not about this call or there is nothing to add", async () => {
    const rule = { ...FOLDER, prefix: "test" };
    const { turn } = await new Place().turn([yes({ rule, until: "turn" })]);
    await turn.run(call("a", "src/a.ts"));
    const none = await new Place().turn([yes({ rule: FOLDER, until: "turn" })], {
      effect: "destroys",
    });
    await none.turn.run(call("a", "src/a.ts"));
    for (const { recorded } of [turn, none.turn].map((each) => ({
      recorded: each.recorded("permission_decision"),
    }))) {
      expect(recorded).toMatchObject([{ decision: "denied", cause: "prompt_failed" }]);
    }
  });
});

describe("a rule that is granted for the turn", () => {
  const grant: Grant = { rule: FOLDER, until: "turn" };

  test("is on record with the yes, and decides about the calls that it covers", async () => {
    const { turn, shown } = await new Place().turn([yes(grant), yes()]);
    await turn.run(call("a", "src/a.ts"));
    await turn.run(call("b", "src/b.ts"), call("c", "test/c.ts"));
    expect(turn.recorded("permission_decision")[0]).toMatchObject({ decision: "approved", grant });
    expect(deciders(turn)).toEqual(["user", "a:run:1 turn", "user"]);
    expect(shown).toHaveLength(2);
    await turn.nextTurn();
  });

  test("ends with the turn, and nothing of it is saved", async () => {
    const place = new Place();
    const { turn, shown } = await place.turn([yes(grant), yes()]);
    await turn.run(call("a", "src/a.ts"));
    await turn.nextTurn();
    await turn.run(call("b", "src/b.ts"));
    expect([deciders(turn), shown.length]).toEqual([["user", "user"], 2]);
  });

  test("decides about a call that waited for its prompt meanwhile", async () => {
    const { turn, shown } = await new Place().turn([yes(grant)]);
    const results = await turn.run(call("a", "src/a.ts"), call("b", "src/b.ts"));
    expect([deciders(turn), shown.length]).toEqual([["user", "a:run:1 turn"], 1]);
    expect(results.map(({ content }) => content)).toEqual(["done", "done"]);
  });

  test("answers what the tool itself asks before it changes a file", async () => {
    const { turn, shown } = await new Place().turn([yes(grant)], {
      run: "unattended",
      asks: "apply_changes",
    });
    await turn.run(call("a", "src/a.ts"));
    await turn.run(call("b", "src/b.ts"));
    expect(shown).toHaveLength(1);
    expect(turn.recorded("inquiry_response")).toMatchObject([
      { answeredBy: { kind: "user" }, grant },
      { answeredBy: { kind: "policy", rules: [{ from: "turn", rule: FOLDER }] } },
    ]);
  });

  test("is known to another process that continues the turn, from the record alone", async () => {
    const place = new Place();
    const first = await place.turn([yes(grant)]);
    await first.turn.run(call("a", "src/a.ts"));
    const events = first.turn.events.map((event): ConversationEvent =>
      parseEvent(JSON.parse(JSON.stringify(eventToJson(event)))),
    );
    const { turn, shown } = await place.turn([]);
    turn.parts = { ...turn.parts, state: TurnState.fromEvents(events) };
    await turn.run(call("b", "src/b.ts"));
    expect([deciders(turn), shown]).toEqual([["a:run:1 turn"], []]);
  });

  test("does not count for the same tool from another source", async () => {
    const { turn, shown } = await new Place().turn([yes(grant), yes()]);
    await turn.run(call("a", "src/a.ts"));
    const { tools } = turn.parts;
    turn.parts = {
      ...turn.parts,
      tools: {
        ...tools,
        find: async (name, signal) => {
          const tool = await tools.find(name, signal);
          return (
            tool && {
              ...tool,
              describeSource: async () => ({ origin: { type: "builtin" }, identity: "shell_run" }),
            }
          );
        },
      },
    };
    await turn.run(call("b", "src/b.ts"));
    expect([deciders(turn), shown.length]).toEqual([["user", "user"], 2]);
  });
});

describe("a rule that is granted for longer", () => {
  const grant: Grant = { rule: FOLDER, until: "always" };

  test("is saved once the yes is on record, and decides in later turns", async () => {
    const place = new Place();
    const { turn } = await place.turn([yes(grant)]);
    await turn.run(call("a", "src/a.ts"));
    const later = await place.turn([]);
    await later.turn.run(call("b", "src/b.ts"));
    const [decision] = later.turn.recorded("permission_decision");
    expect(decision?.decidedBy).toMatchObject({
      kind: "policy",
      rules: [{ from: "saved", rule: FOLDER }],
    });
  });

  test("is granted by a person only: with no one there, it still decides", async () => {
    const place = new Place();
    const { turn } = await place.turn([yes(grant)]);
    await turn.run(call("a", "src/a.ts"));
    const later = await place.turn([], { isInteractive: false });
    const results = await later.turn.run(call("b", "src/b.ts"));
    expect(results.map(({ content }) => content)).toEqual(["done"]);
  });

  test("is saved by whoever continues the turn, if it was answered while no process ran", async () => {
    const place = new Place();
    const { turn, shown } = await place.turn(["later"]);
    await turn.run(call("a", "src/a.ts"));
    const [request] = turn.recorded("permission_request");
    const { id, tool, toolCallId, subject } = request ?? failOn("it was not asked");
    const question = questionAbout("permission", tool);
    const about = { kind: "permission", id, tool, toolCallId, question } as const;
    const by = { kind: "user", channel: "program", auth: "program" } as const;
    const answer = { by, at: at(0) };
    const digest = subject?.digest;
    await turn.conversation.append(replyToEvent({ ...about, digest }, yes(grant), answer));
    const cycle = new ToolCycle(turn.parts, readTurnProgress(turn.events).calls);
    const results = await cycle.run();
    const later = await place.turn([]);
    await later.turn.run(call("b", "src/b.ts"));
    expect([results.map(({ content }) => content), shown.length]).toEqual([["done"], 1]);
    expect(deciders(later.turn)).toEqual([expect.stringMatching(/^[0-9a-f]{8} saved$/)]);
  });
});
