/** A module that cannot be loaded is no one's decision: the turn fails, and can be continued. */
import { describe, expect, test } from "vitest";
import { loadModule } from "../../util/index.ts";
import { ModelTurn } from "./model-turn.fixture.ts";
import { prompterThat } from "./questioner.fixture.ts";
import { asker, echo } from "./turn-tools.fixture.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;

/** No file has this name. */
const GONE: string = "./gone.ts";

const FAILURES = [
  {
    name: "a file of jp that is gone",
    ask: () => loadModule(() => import(GONE)),
    problem: "jp cannot load a part of itself",
  },
  {
    name: "a file that is half written",
    ask: () => loadModule(() => Promise.reject(new SyntaxError("Unexpected end of input"))),
    problem: "jp cannot load a part of itself: Unexpected end of input.",
  },
  {
    name: "no file descriptors",
    ask: () => Promise.reject(Object.assign(new Error("too many open files"), { code: "EMFILE" })),
    problem: "too many open files",
  },
  {
    name: "a module of the program that is gone",
    ask: () => import(GONE),
    problem: "gone.ts",
  },
];

describe.each(FAILURES)("a prompt that fails for $name", ({ ask, problem }) => {
  test("leaves a question open", async () => {
    const turn = await ModelTurn.create({
      tools: [asker],
      prompter: prompterThat(async () => ask() as never),
      replies: [[call("a", "asker")], "Done."],
    });
    await expect(turn.run()).rejects.toThrow(problem);
    const types = turn.events.map(({ type }) => type);
    expect({ asked: types.at(-1), isEnded: types.includes("inquiry_response") }).toEqual({
      asked: "inquiry_request",
      isEnded: false,
    });
  });

  test("leaves a permission open", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      config: { echo: { run: "ask" } },
      prompter: prompterThat(async () => ask() as never),
      replies: [[call("a", "echo")], "Done."],
    });
    await expect(turn.run()).rejects.toThrow(problem);
    const types = turn.events.map(({ type }) => type);
    expect({ asked: types.at(-1), isDecided: types.includes("permission_decision") }).toEqual({
      asked: "permission_request",
      isDecided: false,
    });
  });
});
