import { expect, test } from "vitest";
import { parseConfigOrThrow } from "../settings/config/index.ts";
import { eventsOf } from "../record/conversation/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { createConfiguredTurn } from "./open-turn.ts";
import { openProviders } from "./providers.ts";
import { openTools } from "./tools.ts";

const clock = new FakeClock();

const machine = {
  root: import.meta.dirname,
  workspaceId: "",
  variables: {},
  version: "0",
  clock,
  onWarning: () => undefined,
};

const config = parseConfigOrThrow("the test", {
  assistant: {
    name: "jp",
    system_prompt: "Be brief.",
    model: { id: "llamacpp/any", parameters: { temperature: 0.25 } },
  },
  conversation: {
    max_cycles: 1,
    tools: { say: { source: "local", command: "echo said", run: "ask", summary: "Says it." } },
  },
  user: { name: "Ada" },
});

test("a turn has its instructions, parameters, tools, limits and user from the config", async () => {
  const conversation = await new MemoryConversationStore(clock).create({});
  const model = new ScriptedModel({
    replies: [[{ type: "tool_call", id: "call_1", name: "say" }], "Done."],
  });
  await using tools = openTools(machine, config);
  const parts = { conversation, model, providers: openProviders(machine, config), tools };
  const none = { attachments: [], surroundings: { take: () => ({ sections: [] }) } };
  const place = {
    environment: { variables: {}, home: import.meta.dirname, platform: process.platform },
    findTenant: async () => undefined,
    clock,
  };
  const turn = await createConfiguredTurn(
    place,
    { trusted: { config }, ...parts, ...none },
    { prompter: new ScriptedPrompter({ permissions: [{ type: "run" }] }) },
  );
  const end = await turn.run({ content: "Go." });
  const [request] = model.requests;
  const decisions = [...eventsOf(conversation.stream.entries)].filter(
    ({ type }) => type === "permission_decision",
  );
  expect([
    end,
    request?.parts.systemParts[0],
    request?.parameters.temperature,
    request?.tools.map(({ name }) => name),
  ]).toEqual([
    { type: "cycle_limit", cycles: 1 },
    { tag: "prompt", text: "Be brief." },
    0.25,
    ["say"],
  ]);
  expect(JSON.stringify(decisions)).toContain("Ada");
});
