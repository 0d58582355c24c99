import { expect, test } from "vitest";
import { losing, WRITE_FAILED } from "../../test/support/losing-journal.ts";
import { toolboxOf, ToolTurn } from "../../test/support/tool-turn.ts";
import { transcript } from "../../test/support/transcript.ts";
import type { RefusedQuestions } from "../executor/index.ts";
import { booleanQuestion, secretQuestion } from "../tool/index.ts";
import { StrayQuestions } from "./inquiry.ts";

const FORM: RefusedQuestions = {
  source: { source: "tool", name: "mcp.moon" },
  questions: [booleanQuestion("sure", "Sure?"), secretQuestion("pin", "PIN?")],
  reason: "no_prompt_backend",
};

/** A turn, and somebody who tells it of questions. */
async function start() {
  const listeners = new Set<(refused: RefusedQuestions) => void>();
  const tools = {
    ...toolboxOf({ tools: [] }),
    listen: (onStray: (refused: RefusedQuestions) => void) => {
      listeners.add(onStray);
      return () => listeners.delete(onStray);
    },
  };
  const turn = await ToolTurn.start({ tools: [], parts: { tools } });
  const tell = (refused: RefusedQuestions) => {
    for (const listener of listeners) listener(refused);
  };
  return { turn, tell };
}

test("each question of a form is an inquiry without an answer, with an id of its own", async () => {
  const { turn, tell } = await start();
  const strays = new StrayQuestions(turn.parts);
  tell(FORM);
  tell({ ...FORM, reason: "interrupted" });
  await strays.end();
  expect(transcript(turn.events).slice(1)).toEqual([
    "mcp.moon.sure.1 asks: Sure?",
    "mcp.moon.pin.1 asks: PIN?",
    'mcp.moon.sure.1 cancelled: "no_prompt_backend"',
    'mcp.moon.pin.1 cancelled: "no_prompt_backend"',
    "mcp.moon.sure.2 asks: Sure?",
    "mcp.moon.pin.2 asks: PIN?",
    'mcp.moon.sure.2 cancelled: "interrupted"',
    'mcp.moon.pin.2 cancelled: "interrupted"',
  ]);
});

test("what comes after the end is not recorded", async () => {
  const { turn, tell } = await start();
  const strays = new StrayQuestions(turn.parts);
  await strays.end();
  tell(FORM);
  expect(transcript(turn.events)).toEqual(["turn"]);
});

test("that one could not be recorded is told at the end", async () => {
  const { turn, tell } = await start();
  const journal = losing(turn.parts.journal, () => true);
  const strays = new StrayQuestions({ ...turn.parts, journal });
  tell(FORM);
  await expect(strays.end()).rejects.toMatchObject(WRITE_FAILED);
});

test("a toolbox that has none to tell of is fine", async () => {
  const turn = await ToolTurn.start({ tools: [] });
  await expect(new StrayQuestions(turn.parts).end()).resolves.toBeUndefined();
});
