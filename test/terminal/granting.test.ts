import { describe, expect, test } from "vitest";
import type { ProposedGrant } from "../../src/core/policy/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { counters } from "../security/threats.ts";
import { ClockedScreen } from "./clocked-screen.ts";
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
const shownHeld = `? ${QUESTION}`;
const GRANTABLE = {
  kind: "permission",
  tool: "sweep",
  origin: { type: "builtin" },
  grants: [FILE, FOLDER],
} as const;
const KEYS =
  "  y yes · a yes to all sweep calls this turn · s always… · n no · Tab say why · ? more";
const WHICH = "Yes, and from now on without asking for:";
const DOWN = "\u001b[B";
const RIGHT = "\u001b[C";
const LEFT = "\u001b[D";
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;
const ESCAPE = "\u001b";

function granted({ rule }: Pick<ProposedGrant, "rule">, until: unknown) {
  return { inquiryId: TASK_ID, type: "answered", answer: true, grant: { rule, until } };
}

const LIST = [
  `? ${WHICH}`,
  "❯ 1: the path src/agent/a.ts",
  "  2: files in src/agent/",
  "  3: a rule that you write",
  "  For how long:   4: this turn   5: today ❯ 6: 30 days   7: always, until you remove it",
  "  ↑↓ which · ←→ how long · or digits · Enter yes, with this rule · Esc back",
];
const IN_30_DAYS = endOf(new Date(NOW), 30);

/** The end of the day that comes so many days later. */
function endOf(now: Date, days: number): string {
  const end = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days + 1);
  return end.toISOString().replace("T", " ").replace(/00Z$/, "");
}

describe("the key s at a prompt", () => {
  test("saves the narrowest rule for 30 days with Enter", async () => {
    const screen = new PromptScreen(task(), WIDE);
    await screen.answer([KEYS, "s"], ["6: 30 days", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines.slice(1), await screen.result(), screen.lines.at(-1)]).toEqual([
      LIST,
      granted(FILE, IN_30_DAYS),
      `✔ ${QUESTION} yes, and for the path src/agent/a.ts until 17 Dec`,
    ]);
  });

  test.each([
    ["2\r", FOLDER, IN_30_DAYS],
    ["4\r", FILE, "turn"],
    [`${DOWN}\r`, FOLDER, IN_30_DAYS],
    [`${RIGHT}\r`, FILE, "always"],
    [`${RIGHT}${RIGHT}\r`, FILE, "turn"],
    [`27\r`, FOLDER, "always"],
    [`9${DOWN}${LEFT}${LEFT}\r`, FOLDER, "turn"],
  ] as const)(
    "takes the rule and the time that digits and arrows have chosen: %j",
    async (keys, rule, until) => {
      const screen = new ClockedScreen();
      const prompt = screen.ask(GRANTABLE);
      const now = screen.clock.now();
      await screen.answer(["s always…", "s\r"], [WHICH, ""]);
      for (const key of keys.match(/\u001b\[.|./gs) ?? []) await screen.typeUnseen(key);
      const at = until === IN_30_DAYS ? endOf(now, 30) : until;
      expect(await prompt.result).toEqual(granted(rule, at));
    },
  );

  test("decides nothing while digits and arrows move", async () => {
    counters("T-SAVED-5");
    const screen = new ClockedScreen();
    const prompt = screen.ask(GRANTABLE);
    await screen.answer(["s always…", "s\r"], [WHICH, ""]);
    for (const key of ["2", "7", DOWN, RIGHT, "12", `${DOWN}${LEFT}`, "9", "0"]) {
      await screen.typeUnseen(key);
      await screen.wait(5000);
    }
    const before = [prompt.resultSoFar, screen.lines.includes(`? ${WHICH}`)];
    await screen.answer([WHICH, ESCAPE], ["s always…", "n\r"]);
    expect([before, await prompt.result]).toMatchObject([[undefined, true], { answer: false }]);
  });

  test.each([
    ["a letter", ["kip the tests"], "skip the tests"],
    ["letters that arrive one by one", ["k", "i", "p it"], "skip it"],
    ["a digit before it", ["3", " buckets"], "s3 buckets"],
    ["pasted text", [paste("kip\nit")], "skip\nit"],
    ["an unmarked paste", ["kip\rit"], "skip\nit"],
    ["a pasted digit", [paste("2"), "x"], "s2x"],
    ["digits that arrive with Enter", ["12\r", "."], "s12."],
  ])("closes its list for other keys, which are words with it: %s", async (_what, keys, words) => {
    counters("T-TERM-14");
    const screen = new ClockedScreen();
    const prompt = screen.ask(GRANTABLE);
    await screen.answer(["s always…", "s"], [`${shownHeld} s`, ""]);
    await screen.wait(320);
    await screen.answer([WHICH, ""]);
    for (const key of keys) {
      await screen.wait(320);
      await screen.typeUnseen(key);
    }
    const before = prompt.resultSoFar;
    screen.type("\r");
    expect([before, await prompt.result]).toMatchObject([
      undefined,
      { answer: false, note: words, redirects: true },
    ]);
  });

  test("is taken back by Backspace at its list", async () => {
    const screen = new ClockedScreen();
    const prompt = screen.ask(GRANTABLE);
    await screen.answer(["s always…", "s\r"], [WHICH, "\u007f"], ["s always…", "y\r"]);
    expect(await prompt.result).toEqual({ inquiryId: TASK_ID, type: "answered", answer: true });
  });

  test("lets the person write the rule, until it can be used, and takes it with Enter", async () => {
    const own = { mode: "unattended", arg: "/path", glob: "src/**" };
    const refused = JSON.stringify(FILE.rule);
    const screen = new PromptScreen(task({ refused, edited: JSON.stringify(own) }), WIDE);
    await screen.answer([KEYS, "s"], [WHICH, "3"], ["Enter write it", "4\r"]);
    await screen.answer(['"const": "src/agent/a.ts"', "x\r"]);
    await screen.answer(["Not a JSON object.", "\u007f\r"], ["No ␛[2Jgood.", "\u0018"]);
    await screen.answer(['"glob":"src/**"', "\r"], ["❯ 3: calls that match", ""]);
    await screen.answer(["❯ 5: this turn", "\r"]);
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
    await screen.answer(["s always…", "s"], [WHICH, "6"], ["❯ 6: always", "\r"]);
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
    await screen.answer(["Enter confirm", ""]);
    const confirming = screen.lines.slice(-3);
    screen.type("\r");
    expect(await screen.result()).toMatchObject({ answer: true, isRemembered: true });
    expect([lines.slice(-3), confirming]).toEqual([
      [
        "  y yes",
        "  a yes to all shell_run calls this turn, in the sandbox without a network, in",
        "  src/ and below · s always… · n no · Tab say why · ? more",
      ],
      [
        "  a: yes to all shell_run calls this turn, in the sandbox without a network,",
        "  in src/ and below",
        "  Enter confirm · any other key begins words · Esc back",
      ],
    ]);
  });

  test("the key s names the folder, and the only options that a rule for first words allows", async () => {
    counters("T-SAVED-6");
    const screen = new PromptScreen(task({ request: COMMAND }), { columns: 80 });
    await screen.answer(["Tab say why", "s"], ["Esc back", ""]);
    const { lines } = screen;
    screen.type("6\r");
    expect(await screen.result()).toEqual(granted(DIFF, "always"));
    expect(lines.slice(-7)).toEqual([
      `? ${WHICH}`,
      "❯ 1: commands that begin with git diff, in src/ and below, with no options but",
      "  --stat",
      "  2: a rule that you write",
      "  For how long:   3: this turn   4: today ❯ 5: 30 days",
      "  6: always, until you remove it",
      "  ↑↓ which · ←→ how long · or digits · Enter yes, with this rule · Esc back",
    ]);
  });
});

/** Another process has its own clock. */
const ON_A_DAY = expect.stringMatching(/^\d{4}-\d\d-\d\d /) as unknown;
const plainTask = (more: object = {}) => ({ ...task(more), isPlain: true }) as const;

test("in plain text, the prompt for a command says the same before it takes a line", async () => {
  const screen = new PromptProcess(plainTask({ request: COMMAND }), { columns: 160 });
  const scope =
    "all shell_run calls this turn, in the sandbox without a network, in src/ and below";
  const rule = "commands that begin with git diff, in src/ and below, with no options but --stat";
  await screen.untilLineAsked(`a (yes to ${scope})`);
  const { lines } = screen;
  screen.type("s 1\r");
  expect(await screen.result()).toEqual(granted(DIFF, ON_A_DAY));
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`^s 1: yes, and for ${rule} until `)),
  );
});

test.each([
  ["all", { answer: true, isRemembered: true }],
  ["a", { answer: true, isRemembered: true }],
  ["N", { answer: false, isRemembered: true }],
  ["s 2", { answer: true, grant: { rule: FOLDER.rule, until: ON_A_DAY } }],
])("in plain text, the whole line counts: %s", async (line, answer) => {
  const screen = new PromptProcess(plainTask(), WIDE);
  await screen.answerLines(`${line}\r`);
  expect(await screen.result()).toMatchObject(answer);
});

test("in plain text, a number without a rule decides nothing, and is no reason for a no", async () => {
  const screen = new PromptProcess(plainTask(), WIDE);
  await screen.answerLines("s 9\r", "n\r");
  expect(await screen.result()).toEqual({ inquiryId: TASK_ID, type: "answered", answer: false });
});

test("in plain text, s alone asks with numbered lines", async () => {
  const screen = new PromptProcess(plainTask(), WIDE);
  const typed = [
    ["s (always…)", "s\r"],
    ["2. files in src/agent/", "\r"],
    ["Type the number of a rule", "/cancel\r"],
    ["s 2: yes, and for files in src/agent/", "s\r"],
    ["4. this turn", "2 4\r"],
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
