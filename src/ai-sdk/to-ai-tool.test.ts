import { generateText, isStepCount, type ModelMessage, streamText, type ToolSet } from "ai";
import { generateText as generateText6, stepCountIs, type ToolSet as ToolSet6 } from "ai6";
import { describe, expect, test } from "vitest";
import {
  booleanQuestion,
  defineTool,
  type Question,
  secretQuestion,
  selectQuestion,
} from "../tool/index.ts";
import { continueToolCall, toAiTool, toClientTool } from "./index.ts";
import { mockModel, mockModelV3 } from "./mock-models.fixture.ts";

const call = { input: { version: "1.4" } };
const prompt = "Deploy version 1.4.";

/** Asks whether to deploy to production, and nothing elsewhere. Keeps what each attempt has come to. */
function createDeploy() {
  const attempts: string[] = [];
  const tool = defineTool<{ readonly version: string; readonly to: string }>({
    name: "deploy",
    description: "Deploys a version.",
    parameters: {
      type: "object",
      properties: { version: { type: "string" }, to: { type: "string", default: "live" } },
      required: ["version"],
    },
    async run({ version, to }, { ask }) {
      attempts.push("start");
      const isSure = to === "test" || (await ask(booleanQuestion("sure", "Really?", { context: `Version ${version}` })));
      attempts.push("deploy");
      return isSure ? `${version} is on ${to}` : "left alone";
    },
  });
  return { tool, attempts };
}

describe("toAiTool", () => {
  test("runs a tool that asks nothing", async () => {
    const { tool, attempts } = createDeploy();
    const tools: ToolSet = { deploy: toAiTool(tool) };
    const model = mockModel({ input: { version: "1.4", to: "test" } }, "Done.");
    const { text, steps } = await generateText({ model, tools, prompt, stopWhen: isStepCount(3) });
    expect([text, steps[0]?.toolResults[0]?.output]).toEqual(["Done.", "1.4 is on test"]);
    expect(attempts).toEqual(["start", "deploy"]);
  });

  test("asks through the program", async () => {
    const { tool } = createDeploy();
    const asked: Question[] = [];
    const deploy = toAiTool(tool, {
      ask: async (question, { toolCallId }) => {
        asked.push(question);
        return toolCallId === "call_1";
      },
    });
    const { steps } = await generateText({ model: mockModel(call, "Done."), tools: { deploy }, prompt, stopWhen: isStepCount(3) });
    expect(steps[0]?.toolResults).toMatchObject([{ input: {version: "1.4", to: "live"}, output: "1.4 is on live" }]);
    expect(asked).toMatchObject([{ id: "sure", text: "Really?" }]);
  });
  test("approval", async () => {
    const { tool, attempts } = createDeploy();
    const deploy = toAiTool(tool, { ask: "approval" });
    const messages: ModelMessage[] = [{ role: "user", content: prompt }];
    const model = mockModel(call, "Done.");
    const first = await generateText({ model, tools: { deploy }, messages, toolApproval: {deploy: deploy.approval}});
    console.log(JSON.stringify(first.response.messages, null, 1), attempts);
    const request = first.content.find(({type}) => type === "tool-approval-request");
    if (request?.type !== "tool-approval-request") throw new Error();
    const history = JSON.parse(JSON.stringify([...messages, ...first.response.messages])) as ModelMessage[];
    history.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved: true }] });
    const other = createDeploy();
    const second = await generateText({ model, tools: { deploy: toAiTool(other.tool, {ask: "approval"}) }, messages: history});
    console.log(JSON.stringify(second.response.messages, null, 1), other.attempts, JSON.stringify(model.doGenerateCalls[1]?.prompt));
  });
});
