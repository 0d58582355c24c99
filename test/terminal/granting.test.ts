import { describe, expect, test } from "vitest";
import type { ProposedGrant } from "../../src/core/policy/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { counters } from "../security/threats.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import { type PrompterTask, TASK_ID } from "../support/prompter-task.ts";

const FILE: ProposedGrant = {
  rule: { mode: "unattended", arg: "/path", const: "src/agent/a.ts" },
  code: "files",
  parts: ["src/agent/a.ts"],
};
const FOLDER: ProposedGrant = {
  rule: { mode: "unattended", arg: "/path", prefix: "src/agent" },
  code: "folder",
  parts: ["src/agent"],
};
const WIDE = { columns: 110 };
const NOW = "2026-11-17T12:00:00";

function task(more: object = {}): PrompterTask {
  return {
    method: "ask",
    now: NOW,
    request: {
      kind: "permission",
      tool: "sweep",
      origin: { type: "builtin" },
      arguments: { path: "src/agent/a.ts" },
      grants: [FILE, FOLDER],
    },
    ...more,
  };
}

const QUESTION = "Run built-in sweep tool?";
const KEYS =
  "  y yes · a yes to all sweep calls this turn · s always… · n no · Tab say why · ? more";
const WHICH = "Yes, and from now on without asking for:";
const DOWN = "\u001b[B";
const ESCAPE = "\u001b";

function granted({ rule }: Pick<ProposedGrant, "rule">, until: unknown) {
  return { inquiryId: TASK_ID, type: "answered", answer: true, grant: { rule, until } };
}

describe("the key s at a prompt", () => {
  test("says yes with a rule: which calls it is for, and how long it counts", async () => {
    const screen = new PromptScreen(task(), WIDE);
    await screen.answer([KEYS, "s"], [WHICH, ""]);
    const { lines } = screen;
    await screen.answer(["❯ the path src/agent/a.ts", DOWN], ["❯ files in src/agent/", "\r"]);
    await screen.answer(["For how long?", `${DOWN}${DOWN}`], ["❯ 30 days", "\r"]);
    const [result] = [await screen.result()];
    expect(lines.slice(1)).toEqual([
      `? ${WHICH}`,
      "❯ the path src/agent/a.ts",
      "  files in src/agent/",
      "  a rule that you write",
      "  ↑↓ move · type to filter · then Enter select · Esc go back",
    ]);
    const until = new Date(2026, 11, 18).toISOString().replace("T", " ").replace(/00Z$/, "");
    expect(result).toEqual(granted(FOLDER, until));
    expect(screen.lines.at(-1)).toBe(`✔ ${QUESTION} yes, and for files in src/agent/ until 17 Dec`);
  });

  test.each([
    ["1", "turn", "yes, and for the path src/agent/a.ts this turn"],
    ["4", "always", "yes, and always for the path src/agent/a.ts"],
  ])("counts as long as is chosen: option %s", async (key, until, said) => {
    const screen = new PromptScreen(task(), WIDE);
    await screen.answer([KEYS, "s"], [WHICH, "1\r"], ["For how long?", `${key}\r`]);
    expect([await screen.result(), screen.lines.at(-1)]).toEqual([
      granted(FILE, until),
      `✔ ${QUESTION} ${said}`,
    ]);
  });

  test("decides nothing with Enter alone, and Escape goes one step back", async () => {
    counters("T-SAVED-5");
    const screen = new PromptScreen(task(), WIDE);
    await screen.answer([KEYS, "s"], [WHICH, "\r\r"], [WHICH, "2\r"]);
    await screen.answer(["For how long?", "\r\r"], ["For how long?", ESCAPE]);
    await screen.answer([WHICH, ESCAPE], [KEYS, "n\r"]);
    expect(await screen.result()).toEqual({ inquiryId: TASK_ID, type: "answered", answer: false });
  });

  test("lets the person write the rule, until it can be used", async () => {
    const own = { mode: "unattended", arg: "/path", glob: "src/**" };
    const refused = JSON.stringify(FILE.rule);
    const screen = new PromptScreen(task({ refused, edited: JSON.stringify(own) }), WIDE);
    await screen.answer([KEYS, "s"], [WHICH, "3\r"], ['"const": "src/agent/a.ts"', "x\r"]);
    await screen.answer(["Not a JSON object.", "\u007f\r"], ["No ␛[2Jgood.", "\u0018"]);
    await screen.answer(['"glob":"src/**"', "\r"], ["For how long?", "1\r"]);
    expect(await screen.result()).toEqual(granted({ rule: own }, "turn"));
  });

  test("is a word like any other where nothing can be granted", async () => {
    const request = { kind: "permission", tool: "sweep", origin: { type: "builtin" } };
    const screen = new PromptScreen(task({ request }), WIDE);
    await screen.answer(
      ["Tab say why", "s\r"],
      ["One letter is not enough", "\u007f"],
      ["y yes", "y"],
    );
    expect(await screen.result()).toEqual({ inquiryId: TASK_ID, type: "answered", answer: true });
  });

  test("is the same at a file tool's own question", async () => {
    const question = booleanQuestion("apply_changes", "Apply these changes?", { exclusive: true });
    const request = { question, acts: true, tool: "sweep", arguments: {}, grants: [FOLDER] };
    const screen = new PromptScreen(task({ request }), WIDE);
    await screen.answer(["s always…", "s"], [WHICH, "1\r"], ["For how long?", "4\r"]);
    expect([await screen.result(), screen.lines.at(-1)]).toEqual([
      { ...granted(FOLDER, "always"), isRemembered: false },
      "✔ Apply these changes? yes, and always for files in src/agent/",
    ]);
  });
});

const LIMITS = { confinement: "sandbox", folder: "src", options: ["--stat"] } as const;
const DIFF: ProposedGrant = {
  rule: { mode: "unattended", arg: "/command", prefix: "git diff" },
  code: "command_prefix",
  parts: ["git diff"],
  limits: LIMITS,
};
/** A command in a folder, in the sandbox. */
const COMMAND = {
  kind: "permission",
  tool: "shell_run",
  origin: { type: "builtin", confinement: "sandbox" },
  folder: "src",
  arguments: { command: "git diff --stat", folder: "src" },
  grants: [DIFF],
} as const;

describe("at the prompt for a command, on 80 columns", () => {
  test("the key a says how the calls run that it covers", async () => {
    counters("T-SAVED-6");
    const screen = new PromptScreen(task({ request: COMMAND }), { columns: 80 });
    await screen.answer(["Tab say why", ""]);
    const { lines } = screen;
    screen.type("a");
    expect(await screen.result()).toMatchObject({ answer: true, isRemembered: true });
    expect(lines.slice(-3)).toEqual([
      "  y yes",
      "  a yes to all shell_run calls this turn, in the sandbox without a network, in",
      "  src/ and below · s always… · n no · Tab say why · ? more",
    ]);
  });

  test("the key s names the folder, and the only options that a rule for first words allows", async () => {
    counters("T-SAVED-6");
    const screen = new PromptScreen(task({ request: COMMAND }), { columns: 80 });
    await screen.answer(["Tab say why", "s"], [WHICH, ""]);
    const which = screen.lines.slice(-5, -2);
    await screen.answer([WHICH, "1\r"], ["For how long?", ""]);
    const howLong = screen.lines.slice(-7, -5);
    screen.type("4\r");
    expect(await screen.result()).toEqual(granted(DIFF, "always"));
    expect([which, howLong]).toEqual([
      [
        `? ${WHICH}`,
        "❯ commands that begin with git diff, in src/ and below, with no options but",
        "  --stat",
      ],
      [
        "? Without asking for commands that begin with git diff, in src/ and below,",
        "with no options but --stat. For how long?",
      ],
    ]);
  });
});

test("in plain text, the prompt for a command says the same", async () => {
  const screen = new PromptProcess({ ...task({ request: COMMAND }), isPlain: true }, WIDE);
  const scope =
    "all shell_run calls this turn, in the sandbox without a network, in src/ and below";
  const rule = "commands that begin with git diff, in src/ and below, with no options but --stat";
  const typed = [
    [`a (yes to ${scope})`, "s\r"],
    [`1. ${rule}`, "1\r"],
    [`Without asking for ${rule}.`, "4\r"],
  ] as const;
  for (const [shown, keys] of typed) {
    await screen.untilLineAsked(shown);
    screen.type(keys);
  }
  expect(await screen.result()).toEqual(granted(DIFF, "always"));
});

test("in plain text, s asks with numbered lines", async () => {
  const screen = new PromptProcess({ ...task(), isPlain: true }, WIDE);
  const typed = [
    ["s (always…)", "s\r"],
    ["2. files in src/agent/", "\r"],
    ["Type a number", "2\r"],
    ["For how long?", "/cancel\r"],
    ["2. files in src/agent/", "2\r"],
    ["1. this turn", "1\r"],
  ] as const;
  for (const [shown, keys] of typed) {
    await screen.untilLineAsked(shown);
    screen.type(keys);
  }
  expect(await screen.result()).toEqual(granted(FOLDER, "turn"));
});

test("the values of a rule are shown verbatim at a prompt, so that none looks like another", async () => {
  counters("T-SAVED-2");
  const odd = "src/\u202e\u001b[2Ja  b";
  const grants = [{ ...FOLDER, parts: [odd] }];
  const request = { kind: "permission", tool: "sweep", arguments: { path: odd }, grants };
  const screen = new PromptScreen(task({ request }), WIDE);
  await screen.answer(["s always…", "s"], [WHICH, ""]);
  expect(screen.lines.join("\n")).toContain("files in src/<U+202E><U+001B>[2Ja<2 spaces>b/");
  screen.abort();
  expect(await screen.result()).toEqual({ inquiryId: TASK_ID, type: "interrupted" });
});
