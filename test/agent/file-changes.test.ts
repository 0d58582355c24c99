/** What a person, a model and config may decide about the changes of the file tools. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createFileTools } from "../../src/reach/executor/index.ts";
import type { ScriptedAnswers } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "../../src/core/agent/tool-turn.fixture.ts";

interface Scene extends Pick<ToolTurnOptions, "script" | "isInteractive"> {
  /** Of the questions of every file tool. */
  readonly questions?: JsonObject;
  readonly detached?: string;
  /** Of the model, if it may be asked. */
  readonly answers?: ScriptedAnswers;
}

const FILES = ["a.txt", "b.txt"];

const refuse: ScriptedAnswers = () => Promise.reject(new Error("No model may be asked."));
const agree: ScriptedAnswers = () => ({ type: "answered", answer: true, model: "test/scripted" });

/** A folder with two files, and a turn with the file tools. */
async function start({ questions = {}, detached = "auto", ...options }: Scene) {
  const root = temporaryFolder();
  for (const name of FILES) writeFileSync(path.join(root, name), "old\n");
  const tools = createFileTools({ root }).map(({ tool }) => tool);
  const config = Object.fromEntries(tools.map(({ name }) => [name, { questions, detached }]));
  const turn = await ToolTurn.start({ answers: refuse, ...options, tools, config });
  return { root, turn };
}

/** The calls, one after the other, in the same turn. */
async function callBoth({ turn, root }: Awaited<ReturnType<typeof start>>, tool: Called) {
  for (const file of FILES) {
    await turn.run(toolCall(`call_${file}`, tool.name, tool.arguments(file)));
  }
  return {
    shown: turn.prompter.questions.map(({ question }) => question.text),
    contexts: turn.recorded("inquiry_request").map(({ question }) => question.context),
    deciders: turn.recorded("inquiry_response").map((response) => {
      if (response.outcome === "cancelled") return response.reason;
      return response.answeredBy?.kind;
    }),
    files: readdirSync(root)
      .toSorted()
      .map((name) => `${name}: ${readFileSync(path.join(root, name), "utf8").trim()}`),
  };
}

interface Called {
  readonly name: string;
  readonly question: string;
  readonly arguments: (file: string) => JsonObject;
  /** The files after both calls were answered with yes. */
  readonly after: readonly string[];
}

const UNCHANGED = ["a.txt: old", "b.txt: old"];
const DELETE: Called = {
  name: "fs_delete_file",
  question: "delete_file",
  arguments: (file) => ({ path: file }),
  after: [],
};
const OVERWRITE: Called = {
  name: "fs_create_file",
  question: "overwrite_file",
  arguments: (file) => ({ path: file, content: "new\n" }),
  after: ["a.txt: new", "b.txt: new"],
};
const MODIFY: Called = {
  name: "fs_modify_file",
  question: "apply_changes",
  arguments: (file) => ({ path: file, patterns: [{ old: "old", new: "new" }] }),
  after: ["a.txt: new", "b.txt: new"],
};
const EDIT: Called = {
  name: "fs_edit",
  question: "apply_changes",
  arguments: (file) => ({
    files: [
      { path: file, patterns: [{ old: "old", new: "new" }] },
      { path: `new-${file}`, content: "new\n" },
    ],
  }),
  after: ["a.txt: new", "b.txt: new", "new-a.txt: new", "new-b.txt: new"],
};
const CREATE: Called = {
  name: "fs_create_file",
  question: "create_file",
  arguments: (file) => ({ path: `new-${file}`, content: "new\n" }),
  after: [...UNCHANGED, "new-a.txt: new", "new-b.txt: new"],
};
const ALL = [DELETE, OVERWRITE, MODIFY, CREATE, EDIT].map((tool) => [tool.question, tool] as const);

const YES_FOR_THE_TURN = { answer: true, isRemembered: true };

describe("yes for the rest of the turn", () => {
  test.each([
    ["deletes", DELETE],
    ["overwrites", OVERWRITE],
  ])("covers one file and no other where the old content is lost: it %s", async (_, tool) => {
    counters("T-FILE-1");
    const scene = await start({ script: { answers: [YES_FOR_THE_TURN, { answer: false }] } });
    const { shown, deciders, files } = await callBoth(scene, tool);
    expect([shown.length, deciders, files.at(-1)]).toEqual([2, ["user", "user"], "b.txt: old"]);
    const { state } = scene.turn.parts;
    const requests = scene.turn.recorded("inquiry_request");
    expect(requests.flatMap((request) => state.find(tool.name, request) ?? [])).toEqual([]);
  });

  test.each([
    ["an edit", MODIFY, FILES],
    ["an edit of several files", EDIT, FILES],
    ["a new file", CREATE, FILES.map((file) => `new-${file}`)],
  ])("covers the whole turn, each change with its own record: %s", async (_, tool, paths) => {
    counters("T-FILE-3");
    const scene = await start({ script: { answers: [YES_FOR_THE_TURN] } });
    const { shown, contexts, deciders, files } = await callBoth(scene, tool);
    expect([shown.length, deciders, files]).toEqual([1, ["user", "remembered"], tool.after]);
    expect(contexts).toEqual(
      paths.map((file) => expect.stringMatching(new RegExp(`\\+\\+\\+ b/${file}\n(.*\n)+\\+new`))),
    );
  });
});

describe("in a non-interactive run", () => {
  test.each(ALL)("no model and no default answers what changes files: %s", async (_, tool) => {
    counters("T-FILE-2");
    for (const detached of ["auto", "defaults", "deny"]) {
      const scene = await start({ isInteractive: false, detached });
      const { deciders, files } = await callBoth(scene, tool);
      expect([detached, deciders, files]).toEqual([
        detached,
        ["no_prompt_backend", "no_prompt_backend"],
        UNCHANGED,
      ]);
      expect(scene.turn.inquiries.calls).toEqual([]);
    }
  });

  test.each(ALL)(
    "the target alone does not let a model answer what changes files: %s",
    async (id, tool) => {
      counters("T-FILE-2");
      const questions = { [id]: { target: "assistant" } };
      const { deciders, files } = await callBoth(await start({ questions }), tool);
      expect([new Set(deciders), files]).toEqual([
        new Set(["assistant_routing_denied"]),
        UNCHANGED,
      ]);
    },
  );

  test.each(ALL)("the config may answer what changes files: %s", async (id, tool) => {
    const scene = await start({ isInteractive: false, questions: { [id]: { answer: true } } });
    const { deciders, files } = await callBoth(scene, tool);
    expect([deciders, files]).toEqual([["config", "config"], tool.after]);
  });

  test.each(ALL)(
    "the config may let a model answer what changes files, and the record shows it: %s",
    async (id, tool) => {
      const questions = { [id]: { exclusive: false } };
      const scene = await start({ isInteractive: false, questions, answers: agree });
      const { deciders, files } = await callBoth(scene, tool);
      const requests = scene.turn.recorded("inquiry_request");
      expect([deciders, files, requests.map(({ question }) => question.exclusive)]).toEqual([
        ["assistant", "assistant"],
        tool.after,
        [false, false],
      ]);
    },
  );
});
