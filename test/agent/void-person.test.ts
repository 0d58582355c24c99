/** Who is asked again about something that a person has decided. */
import { expect, test } from "vitest";
import { settingsOf } from "../../src/core/agent/tool-turn.fixture.ts";
import type { CallableTool } from "../../src/core/agent/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { Scene, sceneWorkspace } from "./void-scene.ts";

test("a question for the model that a person has answered is asked of a person again if it changes", async () => {
  let version = "1";
  const runs: string[] = [];
  const tool: CallableTool = {
    settings: settingsOf("deploy", {
      source: "builtin",
      questions: { sure: { target: "assistant" } },
    }),
    description: { name: "deploy", summary: "", parameters: { type: "object" } },
    describeSource: async () => ({ origin: { type: "builtin" }, identity: version }),
    executor: {
      attempt: async ({ answers }) => {
        if (answers["sure"] === true) {
          runs.push(version);
          return { type: "success", content: "done" };
        }
        const question = booleanQuestion("sure", "Sure?");
        return { type: "needs_input", question, source: { source: "tool", name: "deploy" } };
      },
    },
  };
  const scene = new Scene(sceneWorkspace(), {
    call: { name: "deploy", arguments: {} },
    open: () => ({
      parts: { toolbox: { schemas: async () => [], find: async () => tool } },
      [Symbol.asyncDispose]: async () => undefined,
    }),
    diesWhenAsked: true, // Before the model has answered.
  });
  await scene.proceed();
  const question = await scene.pending();
  if (question !== undefined) await scene.approve(question);
  version = "2";
  expect([await scene.proceed(), await scene.voids(), runs]).toEqual(["waiting", [["source"]], []]);
  const again = await scene.pending();
  if (again !== undefined) await scene.approve(again);
  expect([await scene.proceed(), runs]).toEqual(["done", ["2"]]);
});
