import { describe, expect, test } from "vitest";
import { booleanQuestion, defineTool, textQuestion, type Tool } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";

/** Asks these, one after the other. */
function asking(name: string, ...ids: readonly string[]): Tool {
  return defineTool({
    name,
    description: "",
    parameters: { type: "object" },
    run: async (_args, { ask }) => {
      for (const id of ids) await ask(textQuestion(id, `${id}?`, { persistence: "none" }));
      return "done";
    },
  });
}

/** A turn whose config names questions of the tool `deploy`. */
async function start(questions: JsonObject, ...tools: readonly Tool[]) {
  const notices: string[] = [];
  const turn = await ToolTurn.start({
    tools,
    config: { deploy: { questions } },
    script: { answers: () => ({ answer: "x" }) },
    parts: {
      observer: {
        observe: (update) => {
          if (update.type === "notice") notices.push(update.message);
        },
      },
    },
  });
  return { turn, notices };
}

const LEAD = { target: { user: "lead" } };

describe("a tool that asks what config does not name", () => {
  test("is reported before anyone answers, with the id that was probably meant", async () => {
    const { turn, notices } = await start({ approve: {} }, asking("deploy", "aprove"));
    await turn.call("deploy");
    expect(notices).toEqual([
      'deploy asks "aprove", which conversation.tools.deploy.questions does not name. It names "approve", ' +
        'which deploy has not asked. Did you mean "aprove"?',
    ]);
  });

  test("is reported with a way to accept it if no id is similar", async () => {
    const { turn, notices } = await start({ confirm: {} }, asking("deploy", "env"));
    await turn.call("deploy");
    expect(notices).toEqual([
      'deploy asks "env", which conversation.tools.deploy.questions does not name. It names "confirm", which ' +
        'deploy has not asked. If that is right, add the table conversation.tools.deploy.questions."env".',
    ]);
  });

  test("is reported once a turn", async () => {
    const { turn, notices } = await start({ approve: {} }, asking("deploy", "aprove", "why"));
    await turn.run(toolCall("call_1", "deploy"), toolCall("call_2", "deploy"));
    expect(notices).toHaveLength(1);
    await turn.nextTurn();
    await turn.call("deploy");
    expect(notices).toHaveLength(2);
  });

  test.each<readonly [string, JsonObject, readonly string[]]>([
    ["config names nothing", {}, ["aprove"]],
    ["config names all of it", { env: {}, approve: {} }, ["env"]],
    ["it asks all that config names", { approve: {} }, ["approve", "why"]],
  ])("is not reported if %s", async (_, questions, ids) => {
    const { turn, notices } = await start(questions, asking("deploy", ...ids));
    await turn.call("deploy");
    expect(notices).toEqual([]);
  });

  test("is not reported if it has asked the others earlier in the conversation", async () => {
    const { turn, notices } = await start({ approve: {} }, asking("deploy", "approve"));
    await turn.call("deploy");
    const next = await ToolTurn.start({
      tools: [asking("deploy", "why")],
      config: { deploy: { questions: { approve: {} } } },
      conversation: turn.conversation,
      script: { answers: () => ({ answer: "x" }) },
      parts: {
        observer: { observe: ({ type }) => void (type === "notice" && notices.push(type)) },
      },
    });
    await next.call("deploy");
    expect(notices).toEqual([]);
  });
});

test("a tool that declares its questions is not reported: its config was checked before", async () => {
  const sure = booleanQuestion("sure", "Sure?");
  const declaring = defineTool({
    name: "deploy",
    description: "",
    parameters: { type: "object" },
    questions: { sure },
    run: async (_args, { ask }) => String(await ask.sure()),
  });
  const { turn, notices } = await start({ sur: LEAD }, declaring);
  await turn.call("deploy");
  expect(notices).toEqual([]);
});
