import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { counters } from "../../../test/security/threats.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { callOf } from "./call-of-tool.fixture.ts";
import { findResultVerdict, findRunVerdict } from "./find-verdict.ts";
import { createPolicy } from "./policy.ts";
import type { PolicyOptions, Verdict } from "./verdict.ts";

const PYTHON = { arg: "/command", prefix: "python", mode: "unattended" };
const CONFINED: ToolSource = { origin: { type: "builtin", confinement: "sandbox" } };
const ONLINE: ToolSource = { origin: { type: "builtin", confinement: "sandbox", network: true } };
const WITH_GIT: ToolSource = { origin: { type: "builtin", confinement: "sandbox", git: true } };
const UNCONFINED: ToolSource = { origin: { type: "builtin", confinement: "none" } };

interface Setting extends Omit<PolicyOptions, "root"> {
  readonly source?: ToolSource;
  readonly rules?: readonly JsonObject[];
}

async function verdictOn(args: JsonObject, setting: Setting = {}): Promise<Verdict> {
  const { source = CONFINED, rules = [PYTHON], ...options } = setting;
  const call = callOf(args, {
    name: "shell_run",
    source,
    argumentKinds: { "/command": "command", "/stdin": "input" },
    config: { policy: { run: [...rules] } },
  });
  return findRunVerdict(call, { root: temporaryFolder(), ...options });
}

describe("write access to .git is given without asking by a rule of the user's own that", () => {
  const args = { command: "git commit", git: true };
  const about = { arg: "/git", const: true, mode: "unattended" };
  const exact = { arg: "", const: args, mode: "unattended" };
  const both = {
    origin: { type: "builtin", confinement: "sandbox", network: true, git: true },
  } as const;

  test.each<[string, JsonObject, ToolSource, string]>([
    ["is about this argument", about, WITH_GIT, "unattended"],
    ["is about this exact call", exact, WITH_GIT, "unattended"],
    ["is about this argument, and not with a network", about, both, "ask"],
    ["is about the command", { ...PYTHON, prefix: "git" }, WITH_GIT, "ask"],
  ])("%s", async (_, rule, source, mode) => {
    expect(await verdictOn(args, { rules: [rule], source })).toMatchObject({ mode });
  });

  test("is not of a workspace", async () => {
    const call = callOf(args, {
      name: "shell_run",
      source: WITH_GIT,
      argumentKinds: { "/command": "command" },
      config: { policy: { run: [about] } },
    });
    const { settings } = call.tool;
    const run = settings.policy.run.map((rule) => ({
      ...rule,
      place: { ...rule.place, from: "workspace" as const },
    }));
    const tool = { ...call.tool, settings: { ...settings, policy: { ...settings.policy, run } } };
    const verdict = await findRunVerdict({ ...call, tool }, { root: temporaryFolder() });
    expect(verdict).toMatchObject({ mode: "ask", key: "shell.git" });
  });
});

describe("a command while planning", () => {
  const READ_ONLY: ToolSource = {
    origin: { type: "builtin", confinement: "sandbox", workspace: "read_only" },
  };
  const REFUSED = { mode: "skip", key: "mode.plan", cause: "planning" };
  const plan: Setting = { mode: () => "plan", source: READ_ONLY };

  test("runs if a rule of the user's own allows it", async () => {
    expect(await verdictOn({ command: "python -m unittest" }, plan)).toMatchObject({
      mode: "unattended",
      rules: [{ from: "program" }],
    });
  });

  test.each<[string, JsonObject, Setting]>([
    ["no rule allows", { command: "make" }, {}],
    ["a rule allows only in part", { command: "python a.py && make" }, {}],
    ["is not in the sandbox", { command: "python a.py" }, { source: UNCONFINED }],
    [
      "may run without a sandbox",
      { command: "python a.py" },
      { source: UNCONFINED, allowsUnsandboxed: true },
    ],
    ["could change the workspace", { command: "python a.py" }, { source: CONFINED }],
    ["asks for a network", { command: "python a.py" }, { source: ONLINE }],
    ["asks for write access to .git", { command: "python a.py" }, { source: WITH_GIT }],
    ["gets input that may be a program", { command: "python -", stdin: "import os" }, {}],
    [
      "the user wants to be asked about",
      { command: "python a.py" },
      { rules: [{ mode: "ask" }, PYTHON] },
    ],
  ])("is refused, and not asked about, if it: %s", async (_, args, setting) => {
    counters("T-MODE-4");
    expect(await verdictOn(args, { ...plan, ...setting })).toEqual(REFUSED);
  });

  test.each(["workspace", "turn"] as const)("is not allowed by a rule from: %s", async (from) => {
    counters("T-MODE-1");
    const call = callOf(
      { command: "python a.py" },
      {
        name: "shell_run",
        source: READ_ONLY,
        argumentKinds: { "/command": "command" },
        config: { policy: { run: from === "workspace" ? [PYTHON] : [] } },
      },
    );
    const { settings } = call.tool;
    const run = settings.policy.run.map((rule) => ({ ...rule, place: { ...rule.place, from } }));
    const tool = { ...call.tool, settings: { ...settings, policy: { ...settings.policy, run } } };
    const granted = from === "turn" ? [{ rule: PYTHON, from: "call_1" }] : [];
    const options = { root: temporaryFolder(), mode: () => "plan" as const };
    expect(await findRunVerdict({ ...call, tool, granted }, options)).toEqual(REFUSED);
    const free = await findRunVerdict(
      { ...call, tool, granted },
      { ...options, mode: () => "ask" },
    );
    expect(free.mode).toBe("unattended");
  });
});

describe("a rule about a command", () => {
  test("lets it run in the sandbox, with no input", async () => {
    expect(await verdictOn({ command: "python a.py" })).toMatchObject({ mode: "unattended" });
    expect(await verdictOn({ command: "python -", stdin: "" })).toMatchObject({
      mode: "unattended",
    });
  });

  test.each<[string, string, JsonObject, ToolSource]>([
    ["an input, which may be a program", "input", { stdin: "import os" }, CONFINED],
    ["a network", "network", {}, ONLINE],
    ["write access to .git", "git", {}, WITH_GIT],
    ["no sandbox", "unsandboxed", {}, UNCONFINED],
  ])(
    "does not let it run with more than the sandbox gives, or without one: %s",
    async (_, key, args, source) => {
      counters("T-SHELL-5");
      const verdict = await verdictOn({ command: "python -", ...args }, { source });
      expect(verdict).toMatchObject({ mode: "ask", key: `shell.${key}`, needsPerson: true });
    },
  );

  test("with its input lets this exact call run", async () => {
    const args = { command: "python -", stdin: "print(1)" };
    const rules = [{ arg: "", const: args, mode: "unattended" }];
    expect(await verdictOn(args, { rules })).toMatchObject({ mode: "unattended" });
    expect(await verdictOn({ ...args, stdin: "print(2)" }, { rules })).toMatchObject({
      mode: "ask",
    });
  });
});

test("what has more than the sandbox gives, or none, is asked about, also in the mode for the sandbox", async () => {
  counters("T-MODE-3");
  for (const source of [ONLINE, WITH_GIT, UNCONFINED]) {
    const verdict = await verdictOn(
      { command: "make" },
      { rules: [], mode: () => "sandbox", source },
    );
    expect(verdict.mode).toBe("ask");
  }
});

test("a command with a network or write access to .git is asked about each time, and one without may be allowed for the turn", async () => {
  counters("T-SAVED-6");
  const rules = [asking("make")];
  const verdicts = [
    await verdictOn({ command: "make" }, { rules: [], source: WITH_GIT }),
    await verdictOn({ command: "make" }, { rules: [], source: ONLINE }),
    await verdictOn({ command: "make" }, { rules: [], source: CONFINED }),
    await verdictOn({ command: "make" }, { rules, source: ONLINE }),
  ];
  expect(verdicts.map(({ mode, isAskedEachTime = false }) => [mode, isAskedEachTime])).toEqual([
    ["ask", true],
    ["ask", true],
    ["ask", false],
    ["ask", true],
  ]);
});

test("what runs in the sandbox runs in the mode for it, whatever it reads", async () => {
  const args = { command: "python -", stdin: "print(1)" };
  expect(await verdictOn(args, { rules: [], mode: () => "sandbox" })).toEqual({
    mode: "unattended",
    key: "mode.sandbox",
  });
});

function asking(prefix: string, target?: JsonObject, mode = "ask"): JsonObject {
  return { arg: "/command", prefix, mode, ...(target !== undefined && { target }) };
}

function verdictFor(...rules: readonly JsonObject[]): Promise<Verdict> {
  return verdictOn({ command: "pay 5 && ship 6" }, { rules });
}

describe("what a rule says is for some people", () => {
  const place = { from: "saved", key: "s", layer: "saved" } as const;
  const finance = { role: "finance" };

  test("is not decided by what someone has granted, nor by the mode", async () => {
    counters("T-PEOPLE-3");
    const verdict = await verdictOn(
      { command: "pay 5" },
      {
        rules: [asking("pay", finance)],
        mode: () => "sandbox",
        saved: async () => [{ mode: "unattended", place }],
      },
    );
    expect(verdict).toMatchObject({ mode: "ask", target: { any: [finance] } });
  });

  test("needs someone who may decide about every part of the command", async () => {
    counters("T-PEOPLE-3");
    const both = { any: ["ada", finance] };
    expect([
      await verdictFor(asking("pay", finance), asking("ship", both)),
      await verdictFor(asking("pay", finance), asking("ship", undefined, "edit")),
      await verdictFor(asking("pay", finance), asking("ship", { user: "bob" })),
    ]).toMatchObject([
      { mode: "ask", target: { any: [finance] } },
      { mode: "edit", target: { any: [finance] } },
      { mode: "skip" },
    ]);
  });

  test("is run by no grant and in no mode if no one may decide about every part", async () => {
    counters("T-PEOPLE-3");
    const verdict = await verdictOn(
      { command: "pay 5 && ship 6" },
      {
        rules: [asking("pay", finance), asking("ship", { user: "bob" })],
        mode: () => "sandbox",
        saved: async () => [{ mode: "unattended", place }],
      },
    );
    expect(verdict.mode).toBe("skip");
  });

  test("has the strictest terms of all parts of the command", async () => {
    counters("T-PEOPLE-3");
    const two = { ...finance, quorum: 2, refusal: "counts" } as const;
    const strict = { ...finance, quorum: 3, not_by: "asker", proof: "signed" } as const;
    const strictest = { quorum: 3, notBy: "asker", proof: "signed" };
    const targets = await Promise.all([
      verdictFor(asking("pay", two), asking("ship", strict)),
      verdictFor(asking("pay", strict), asking("ship", two)),
      verdictFor(asking("pay", finance), asking("ship", two)),
    ]);
    expect(targets.map(({ target }) => target)).toEqual([
      { any: [finance], terms: strictest },
      { any: [finance], terms: strictest },
      { any: [finance], terms: { quorum: 2, refusal: "counts" } },
    ]);
  });

  test("is passed on to others only if that is so for every part of the command", async () => {
    counters("T-PEOPLE-3");
    const ladder = [{ user: "ada", within: "2h" }, finance] as unknown as JsonObject;
    const other = [{ user: "ada", within: "1h" }, { user: "bob" }] as unknown as JsonObject;
    const hour = 3600_000;
    const alone = await verdictFor(asking("pay", ladder), asking("ship", ladder));
    const both = await verdictFor(asking("pay", ladder), asking("ship", other));
    expect([alone.target, both.target]).toEqual([
      { user: "ada", withinMs: 2 * hour, next: [{ any: [finance] }] },
      { user: "ada", withinMs: hour },
    ]);
  });
});

/** A call about which only rules of the workspace say anything. */
function callWith(config: JsonObject) {
  const call = callOf({ path: "a" }, { config });
  const { policy } = call.tool.settings;
  const ofWorkspace = (rules: typeof policy.run) =>
    rules.map((rule) => ({ ...rule, place: { ...rule.place, from: "workspace" as const } }));
  const own = { run: ofWorkspace(policy.run), result: ofWorkspace(policy.result) };
  const settings = { ...call.tool.settings, policy: { ...policy, ...own } };
  return { ...call, tool: { ...call.tool, settings } };
}

describe("a rule of a workspace", () => {
  test("does not have a tool asked about that the user skips, nor its results shown", async () => {
    const options = { root: temporaryFolder() };
    const rules = [{ arg: "/path", const: "a", mode: "ask" }];
    const call = callWith({ run: "skip", result: "skip", policy: { run: rules, result: rules } });
    expect([
      (await findRunVerdict(call, options)).mode,
      (await findResultVerdict(call, options)).mode,
    ]).toEqual(["skip", "skip"]);
  });

  test("lets a tool run, but answers none of its questions", async () => {
    const rule = { arg: "/path", const: "a", mode: "unattended" };
    const options = { root: temporaryFolder() };
    const config = { policy: { run: [rule] } };
    const ofUser = await findRunVerdict(callOf({ path: "a" }, { config }), options);
    const ofWorkspace = await findRunVerdict(callWith(config), options);
    expect([ofUser, ofWorkspace].map(({ mode, answers }) => [mode, answers !== undefined])).toEqual(
      [
        ["unattended", true],
        ["unattended", false],
      ],
    );
  });
});

test("a command outside of a sandbox is asked about although its tool runs unattended and nothing was ever granted", async () => {
  const policy = createPolicy({ root: temporaryFolder() });
  const modes = [CONFINED, UNCONFINED].map(async (source) => {
    const argumentKinds = { "/command": "command" } as const;
    const call = callOf(
      { command: "ls" },
      { source, argumentKinds, config: { run: "unattended" } },
    );
    return (await policy.verdictOf(call)).mode;
  });
  expect(await Promise.all(modes)).toEqual(["unattended", "ask"]);
});

test("a grant on record that does not let calls run decides nothing", async () => {
  const modes = ["unattended", "skip", "edit"].map(async (mode) => {
    const rule = { arg: "/path", const: "a", mode };
    const call = { ...callOf({ path: "a" }), granted: [{ rule, from: "call_1:run:1" }] };
    return (await findRunVerdict(call, { root: temporaryFolder() })).mode;
  });
  expect(await Promise.all(modes)).toEqual(["unattended", "ask", "ask"]);
});
