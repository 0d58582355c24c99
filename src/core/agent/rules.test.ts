/** What rules and the mode decide in a turn, and what the record says of it. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import {
  foldLayers,
  type Layer,
  type Mode,
  resolveTools,
  type Rule,
} from "../../settings/config/index.ts";
import { placeRules } from "../../settings/config/place-rules.ts";
import { readConfig } from "../../settings/config/any-config.fixture.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { createFileTools, createTool, type ShippedTool } from "../../reach/executor/index.ts";
import { createPolicy } from "../policy/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import type { PrompterScript } from "../../testing/index.ts";
import { booleanQuestion, defineTool } from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";

const PATHS = { type: "object", properties: { path: { type: "string" } } };

/** Returns its arguments, to show that it ran and with which. */
const write: ShippedTool = {
  tool: defineTool({
    name: "write",
    description: "",
    parameters: PATHS,
    run: (args: JsonObject) => args,
  }),
  config: { source: "builtin" },
  argumentKinds: { "/path": "path" },
};

/** Asks what only the file tools may have answered by a rule. */
const foreign: ShippedTool = {
  tool: defineTool({
    name: "foreign",
    description: "",
    parameters: PATHS,
    run: async (_args, { ask }) => ask(booleanQuestion("create_file", "Launch?")),
  }),
  config: { source: "builtin" },
  isOwn: true,
};

interface Options {
  /** By tool. */
  readonly own?: JsonObject;
  readonly workspace?: JsonObject;
  readonly saved?: readonly Rule[];
  readonly mode?: Mode;
  readonly script?: PrompterScript;
  readonly isInteractive?: boolean;
}

async function start({ own = {}, workspace = {}, saved, mode, ...options }: Options = {}) {
  const root = temporaryFolder();
  const shipped = [write, foreign, ...createFileTools({ root })];
  const builtins = Object.fromEntries(shipped.map(({ tool, config }) => [tool.name, config]));
  const layers: readonly Layer[] = [
    { name: "builtin tools", config: { conversation: { tools: builtins } }, isBase: true },
    { name: "config.toml", config: readConfig({ conversation: { tools: own } }) },
    {
      name: ".jp/config.toml",
      config: readConfig({ conversation: { tools: workspace } }),
      isFromWorkspace: true,
    },
  ];
  const settings = resolveTools(foldLayers(layers.map(placeRules)));
  const turn = await ToolTurn.start({ tools: [], ...options });
  const { signal } = new AbortController();
  const find = async (name: string) => {
    const found = settings.get(name);
    if (found === undefined) return undefined;
    return { ...(await createTool(found, { shipped, signal })), settings: found };
  };
  const policy = createPolicy({
    root,
    ...(mode !== undefined && { mode: () => mode }),
    ...(saved !== undefined && { saved: async () => saved }),
  });
  turn.parts = { ...turn.parts, policy, tools: { schemas: async () => [], find } };
  return { turn, root };
}

function decisionsOf(turn: ToolTurn): readonly Json[] {
  return turn.recorded("permission_decision").map(({ decision, decidedBy, cause }) => ({
    decision,
    decidedBy: { ...decidedBy } as JsonObject,
    ...(cause !== undefined && { cause }),
  }));
}

const answeredBy = (turn: ToolTurn) =>
  turn
    .recorded("inquiry_response")
    .map((response) => (response.outcome === "answered" ? response.answeredBy : response.outcome));

const IN_SRC = { arg: "/path", prefix: "src", mode: "unattended" };
const SECRET = { arg: "/path", prefix: "secret", mode: "skip" };
const KEY = (name: string, index = 0) => `conversation.tools.${name}.policy.run[${index}]`;

const by = (rule: JsonObject, index = 0, name = "write", from = "user") => ({
  kind: "policy",
  key: KEY(name, index),
  rules: [{ from, key: KEY(name, index), rule }],
});

describe("a rule", () => {
  const own = { write: { run: "ask", policy: { run: [SECRET, IN_SRC] } } };

  test("lets a call run, and the record names it and what it was about", async () => {
    const { turn } = await start({ own });
    const response = await turn.call("write", { path: "src/a" });
    expect(response?.content).toBe('{"path":"src/a"}');
    expect(decisionsOf(turn)).toEqual([{ decision: "approved", decidedBy: by(IN_SRC, 1) }]);
    expect(turn.recorded("permission_decision")[0]?.digest).toMatch(/^[\w-]{20,}/);
    expect(turn.prompter.permissions).toEqual([]);
  });

  test("skips a call, whoever could be asked", async () => {
    for (const isInteractive of [true, false]) {
      const { turn } = await start({ own, isInteractive });
      const response = await turn.call("write", { path: "src/../secret/a" });
      expect(response?.content).toBe("Tool skipped by configuration.");
      expect(decisionsOf(turn)).toEqual([
        { decision: "denied", decidedBy: by(SECRET), cause: "skipped" },
      ]);
    }
  });

  test("that does not match leaves the call to the tool's setting", async () => {
    const { turn } = await start({ own, script: { permissions: [{ type: "run" }] } });
    await turn.call("write", { path: "lib/a" });
    expect(decisionsOf(turn)).toEqual([
      { decision: "approved", decidedBy: { kind: "user", channel: "scripted", auth: "program" } },
    ]);
  });

  test("stops what a person has made of the call", async () => {
    counters("T-RULE-4");
    const edited = { type: "run", arguments: { path: "secret/a" } } as const;
    const { turn } = await start({ own, script: { permissions: [edited] } });
    const response = await turn.call("write", { path: "lib/a" });
    expect(response?.content).toBe("Tool skipped by configuration.");
    expect(decisionsOf(turn)).toEqual([
      { decision: "denied", decidedBy: by(SECRET), cause: "skipped" },
    ]);
  });

  test("that asks about an argument asks each time, whatever was said for the turn", async () => {
    const asks = { arg: "/path", prefix: "lib", mode: "ask" };
    const always = { type: "run", isRemembered: true } as const;
    const { turn } = await start({
      own: { write: { run: "ask", policy: { run: [asks] } } },
      script: { permissions: () => always },
    });
    await turn.run(toolCall("a", "write", { path: "doc/a" }));
    await turn.run(toolCall("b", "write", { path: "doc/b" }));
    expect(turn.prompter.permissions.map(({ toolCallId }) => toolCallId)).toEqual(["a"]);
    await turn.run(toolCall("c", "write", { path: "lib/a" }));
    await turn.run(toolCall("d", "write", { path: "lib/a" }));
    expect(turn.prompter.permissions.map(({ toolCallId }) => toolCallId)).toEqual(["a", "c", "d"]);
  });

  test("without a person asks as `detached` says", async () => {
    const asks = { arg: "/path", prefix: "lib", mode: "ask" };
    const { turn } = await start({
      own: { write: { run: "unattended", policy: { run: [asks] } } },
      isInteractive: false,
    });
    const response = await turn.call("write", { path: "lib/a" });
    expect(response?.isError).toBe(true);
    expect(decisionsOf(turn)).toEqual([
      {
        decision: "denied",
        decidedBy: { kind: "policy", key: "conversation.tools.write.detached.run" },
        cause: "unavailable",
      },
    ]);
  });

  test("decides by the links that there are when the call is made", async () => {
    counters("T-RULE-1");
    const { turn, root } = await start({ own, script: { permissions: [{ type: "skip" }] } });
    mkdirSync(path.join(root, "src"));
    await turn.run(toolCall("a", "write", { path: "src/link/x" }));
    symlinkSync("../secret", path.join(root, "src/link"));
    await turn.run(toolCall("b", "write", { path: "src/link/x" }));
    expect(turn.recorded("permission_decision").map(({ decision }) => decision)).toEqual([
      "approved",
      "denied",
    ]);
  });

  test("about results decides whether the model sees one, by the arguments of the call", async () => {
    const hidden = { arg: "/path", prefix: ".env", mode: "skip" };
    const { turn } = await start({
      own: { write: { run: "unattended", policy: { result: [hidden] } } },
    });
    const [first, second] = await turn.run(
      toolCall("a", "write", { path: "./.env" }),
      toolCall("b", "write", { path: "src/a" }),
    );
    expect(first?.content).not.toContain(".env");
    expect(second?.content).toBe('{"path":"src/a"}');
    const deliver = turn
      .recorded("permission_decision")
      .filter(({ action }) => action === "deliver");
    const key = "conversation.tools.write.policy.result[0]";
    expect(deliver.map(({ decision, decidedBy }) => [decision, decidedBy])).toEqual([
      ["denied", { kind: "policy", key, rules: [{ from: "user", key, rule: hidden }] }],
    ]);
  });
});

describe("a rule of the workspace", () => {
  test("counts after the user's own, and the record says whose it is", async () => {
    counters("T-RULE-5");
    const workspace = {
      write: { policy: { run: [{ ...IN_SRC, mode: "skip" }, { mode: "unattended" }] } },
    };
    const { turn } = await start({ own: { write: { policy: { run: [IN_SRC] } } }, workspace });
    await turn.run(toolCall("a", "write", { path: "src/a" }));
    await turn.run(toolCall("b", "write", { path: "lib/a" }));
    expect(decisionsOf(turn)).toEqual([
      { decision: "approved", decidedBy: by(IN_SRC) },
      { decision: "approved", decidedBy: by({ mode: "unattended" }, 1, "write", "workspace") },
    ]);
  });

  test("does not bring back what the user skips", async () => {
    counters("T-RULE-5");
    for (const mode of ["ask", "unattended"]) {
      const policy = { run: [{ mode }], result: [{ mode }] };
      const { turn } = await start({
        own: { write: { run: "skip" } },
        workspace: { write: { policy } },
      });
      await turn.call("write", { path: "src/a" });
      const decidedBy = { kind: "policy", key: "conversation.tools.write.run" };
      expect(decisionsOf(turn)).toEqual([{ decision: "denied", decidedBy, cause: "skipped" }]);
      const results = await start({
        own: { write: { run: "unattended", result: "skip" } },
        workspace: { write: { policy: { result: [{ mode }] } } },
      });
      const response = await results.turn.call("write", { path: "src/a" });
      expect(response?.content).not.toContain("src/a");
    }
  });
});

const enabled = (policy: JsonObject) => ({ fs_create_file: { run: "ask", policy } });

describe("what a file tool asks", () => {
  const CREATE = { path: "src/new.ts", content: "x\n" };
  const no: PrompterScript = { answers: () => ({ answer: false }) };

  test("is answered by a rule of the user's, as the record says", async () => {
    const rule = { ...IN_SRC };
    const { turn, root } = await start({ own: enabled({ run: [rule] }), script: no });
    await turn.call("fs_create_file", CREATE);
    expect(existsSync(path.join(root, "src/new.ts"))).toBe(true);
    expect(answeredBy(turn)).toEqual([by(rule, 0, "fs_create_file")]);
    expect(turn.prompter.questions).toEqual([]);
  });

  test("about changes is answered likewise", async () => {
    const { turn, root } = await start({
      own: { fs_modify_file: { run: "ask", policy: { run: [{ mode: "unattended" }] } } },
      script: no,
    });
    writeFileSync(path.join(root, "a"), "old");
    await turn.call("fs_modify_file", { path: "a", patterns: [{ old: "old", new: "new" }] });
    expect(readFileSync(path.join(root, "a"), "utf8")).toBe("new");
    expect(answeredBy(turn)).toEqual([by({ mode: "unattended" }, 0, "fs_modify_file")]);
  });

  test("is answered by a saved rule", async () => {
    const saved: Rule = {
      mode: "unattended",
      arg: "/path",
      prefix: "src",
      place: { from: "saved", key: "p1", layer: "permissions.json" },
    };
    const { turn } = await start({ own: enabled({}), saved: [saved], script: no });
    await turn.call("fs_create_file", CREATE);
    const { place: _, ...rule } = saved;
    expect(answeredBy(turn)).toEqual([
      { kind: "policy", key: "p1", rules: [{ from: "saved", key: "p1", rule }] },
    ]);
  });

  test("is answered by the mode that lets files be changed", async () => {
    const { turn } = await start({ own: enabled({}), mode: "edits", script: no });
    await turn.call("fs_create_file", CREATE);
    expect(answeredBy(turn)).toEqual([{ kind: "policy", key: "mode.edits" }]);
    expect(decisionsOf(turn)).toEqual([
      { decision: "approved", decidedBy: { kind: "policy", key: "mode.edits" } },
    ]);
  });

  test.each<[string, Pick<Options, "own" | "workspace">]>([
    ["the tool's setting", { own: { fs_create_file: { run: "unattended" } } }],
    ["one word as its policy", { own: enabled({ run: "unattended" }) }],
    [
      "a rule of the workspace",
      {
        own: enabled({}),
        workspace: { fs_create_file: { policy: { run: [{ mode: "unattended" }] } } },
      },
    ],
  ])(
    "is never answered by settings of the tool or rules of the workspace: %s",
    async (_title, options) => {
      counters("T-RULE-5");
      const { turn, root } = await start({ ...options, script: no });
      await turn.call("fs_create_file", CREATE);
      expect(existsSync(path.join(root, "src/new.ts"))).toBe(false);
      expect(answeredBy(turn)).toEqual([{ kind: "user", channel: "scripted", auth: "program" }]);
    },
  );

  test("the question about overwriting or deleting is answered only by a rule that names it", async () => {
    counters("T-RULE-7");
    const cases = [
      ["fs_create_file", "overwrite_file", { path: "old.ts", content: "new" }],
      ["fs_delete_file", "delete_file", { path: "old.ts" }],
    ] as const;
    for (const [name, question, args] of cases) {
      for (const questions of [undefined, ["other"], [question]]) {
        const rule = { mode: "unattended", ...(questions && { questions: [...questions] }) };
        const { turn, root } = await start({
          own: { [name]: { run: "ask", policy: { run: [rule] } } },
          script: no,
        });
        const file = path.join(root, "old.ts");
        writeFileSync(file, "old");
        await turn.call(name, args);
        const isNamed = questions?.[0] === question;
        const isKept = existsSync(file) && readFileSync(file, "utf8") === "old";
        expect([name, questions, isKept]).toEqual([name, questions, !isNamed]);
        expect(answeredBy(turn)).toEqual([
          isNamed ? by(rule, 0, name) : { kind: "user", channel: "scripted", auth: "program" },
        ]);
      }
    }
  });

  test("is asked of a person if a rule asks about the file", async () => {
    const rule = { arg: "/path", prefix: "src", mode: "ask" };
    const { turn } = await start({
      own: enabled({ run: [rule, { mode: "unattended" }] }),
      script: { permissions: [{ type: "run" }], ...no },
    });
    await turn.call("fs_create_file", CREATE);
    expect(answeredBy(turn)).toEqual([{ kind: "user", channel: "scripted", auth: "program" }]);
  });

  test("is not what a tool of another program asks under the same name", async () => {
    counters("T-MODE-2");
    const { turn } = await start({
      own: { foreign: { policy: { run: [{ mode: "unattended" }] } } },
      mode: "edits",
      script: no,
    });
    await turn.call("foreign", {});
    expect(answeredBy(turn)).toEqual([{ kind: "user", channel: "scripted", auth: "program" }]);
  });
});

describe("while planning", () => {
  test("nothing runs while planning but what reads, and the model is told why", async () => {
    counters("T-MODE-1");
    const { turn, root } = await start({
      own: { fs_create_file: { policy: { run: [{ mode: "unattended" }] } }, write: { run: "ask" } },
      mode: "plan",
    });
    writeFileSync(path.join(root, "a"), "text");
    const [created, wrote, read] = await turn.run(
      toolCall("a", "fs_create_file", { path: "b", content: "" }),
      toolCall("b", "write", {}),
      toolCall("c", "fs_read_file", { path: "a" }),
    );
    expect([existsSync(path.join(root, "b")), read?.isError]).toEqual([false, false]);
    expect(created?.content).toMatch(/plan/);
    expect(wrote?.content).toBe(created?.content);
    const denied = {
      decision: "denied",
      decidedBy: { kind: "policy", key: "mode.plan" },
      cause: "planning",
    };
    expect(decisionsOf(turn).filter((one) => (one as JsonObject)["cause"] !== undefined)).toEqual([
      denied,
      denied,
    ]);
  });

  test("a tool runs that the user says reads, and none that a rule skips", async () => {
    const { turn } = await start({
      own: { write: { run: "unattended", effect: "reads", policy: { run: [SECRET] } } },
      mode: "plan",
    });
    await turn.run(toolCall("a", "write", { path: "src" }));
    await turn.run(toolCall("b", "write", { path: "secret" }));
    expect(turn.recorded("permission_decision").map(({ cause }) => cause)).toEqual([
      undefined,
      "skipped",
    ]);
  });
});
