import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { ofTool, readConfig, SECRET } from "./any-config.fixture.ts";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import type { ConfigError } from "./config-error.ts";
import { resolveAnchor } from "./anchor-settings.ts";
import { conversationConfig } from "./conversation-config.ts";
import { explainLayers, foldLayers } from "./layers.ts";
import {
  type ConfigPlaces,
  existingConfigFiles,
  loadLayers,
  type LoadOptions,
} from "./load-config.ts";
import { parseConfig } from "./parse-config.ts";
import { resolveTools, type ToolSettings } from "./tool-settings.ts";

type Files = Readonly<Record<string, string>>;

const named = (name: string) => `[user]\nname = "${name}"\n`;
const adds = (name: string) => `conversation.attachments = ["${name}"]\n`;

describe("layers", () => {
  test("come from all places, from the defaults to the flags", async () => {
    const { layers, root } = await load(
      {
        "user/config.toml": adds("user"),
        "work/.jp/config.json": '{"conversation":{"attachments":["workspace"]}}',
        "work/.jp.yaml": "conversation: {attachments: [root]}\n",
        "work/a/.jp.toml": adds("a"),
        "work/a/b/.jp.yml": "conversation:\n  attachments:\n    - b\n",
        "work/a/b/c/.jp.toml": adds("below"),
        "work/other/.jp.toml": adds("beside"),
        ".jp.toml": adds("above"),
        "own/config.toml": adds("own"),
        "work/a/b/given.toml": adds("given"),
      },
      {
        cwd: "work/a/b",
        variables: { JP_CFG_CONVERSATION_ATTACHMENTS: ':+["variable"]', JP_CFG_USER_NAME: "me" },
        builtins: readConfig(ofTool({ source: "builtin" })),
        conversation: readConfig({ conversation: { attachments: ["conversation"] } }),
        settings: [
          'conversation.attachments:+=["first"]',
          "@given.toml",
          '{"conversation":{"attachments":["last"]}}',
        ],
        flags: readConfig({ conversation: { attachments: ["flag"] } }),
      },
    );
    expect(layers.map(({ name }) => name.replace(`${root}/`, ""))).toEqual([
      "defaults",
      "builtin tools",
      "user/config.toml",
      "work/.jp/config.json",
      "work/.jp.yaml",
      "work/a/.jp.toml",
      "work/a/b/.jp.yml",
      "own/config.toml",
      "JP_CFG_CONVERSATION_ATTACHMENTS",
      "JP_CFG_USER_NAME",
      "conversation",
      "--cfg conversation.attachments",
      "work/a/b/given.toml",
      "--cfg {…}",
      "command line",
    ]);
    expect(foldLayers(layers).conversation?.attachments?.value).toEqual(
      "user workspace root a b own variable conversation first given last flag".split(" "),
    );
  });

  test("are only the base layers if nothing is configured", async () => {
    const { layers, warnings } = await load({});
    expect({ names: layers.map(({ name }) => name), warnings }).toEqual({
      names: ["defaults", "builtin tools"],
      warnings: [],
    });
  });

  test("of builtin tools are below the user's, field by field", async () => {
    const builtins = readConfig(
      ofTool(
        {
          source: "builtin",
          enable: { state: true, allow_toggle: "if_named" },
          run: "unattended",
          style: { hidden: true },
        },
        "ask_user",
      ),
    );
    const { layers } = await load(
      {
        "work/.jp/config.toml":
          "[conversation.tools.ask_user]\nenable = { state = false }\n[conversation.tools.'*']\nrun = 'ask'\n",
      },
      { builtins },
    );
    expect(resolveTools(foldLayers(layers)).get("ask_user")).toMatchObject({
      source: { type: "builtin" },
      isEnabled: false,
      allowToggle: "if_named",
      run: "unattended",
      style: { isHidden: true },
    });
  });

  test("outside a workspace are the user's alone", async () => {
    const { layers } = await load(
      { "user/config.toml": named("me"), "work/.jp.toml": named("no") },
      { isOutside: true },
    );
    expect(foldLayers(layers).user).toEqual({ name: "me" });
  });

  test("below one with inherit = false are dropped, except defaults and builtin tools", async () => {
    const { layers } = await load(
      {
        "user/config.toml": `${named("user")}[editor]\ncmd = "vi"\n`,
        "work/.jp/config.toml": 'inherit = false\n[assistant]\nname = "x"\n',
        "own/config.toml": named("own"),
      },
      { builtins: readConfig(ofTool({ source: "builtin" })) },
    );
    const folded = foldLayers(layers);
    expect({
      user: folded.user,
      cmd: folded.editor?.cmd,
      name: folded.assistant?.name,
      cycles: folded.conversation?.max_cycles,
      tools: [...resolveTools(folded).keys()],
    }).toEqual({ user: { name: "own" }, cmd: undefined, name: "x", cycles: 50, tools: ["x"] });
  });
});

describe("the current folder", () => {
  test("may have a name that starts with dots", () => {
    const { places, root } = placed({ "work/..a/.jp.toml": "" }, { cwd: "work/..a" });
    expect(existingConfigFiles(places)).toEqual([path.join(root, "work/..a/.jp.toml")]);
  });

  test("may be outside the workspace, and then its root counts", () => {
    const { places, root } = placed({ "work/.jp.toml": "", "else/.jp.toml": "" }, { cwd: "else" });
    expect(existingConfigFiles(places)).toEqual([path.join(root, "work/.jp.toml")]);
  });
});

describe("extends", () => {
  test("applies files before or after the one that names them, globs in order of name", async () => {
    const { names } = await load({
      "work/.jp/config.toml": `extends = ["d/**/*", { path = "z.json", strategy = "after" }, { path = "y.toml", strategy = "before" }]\n${named("own")}`,
      "work/.jp/d/b.toml": named("b"),
      "work/.jp/d/a.yaml": "user: {name: a}\n",
      "work/.jp/d/deep/c.json": '{"user":{"name":"c"}}',
      "work/.jp/d/README.md": "not config",
      "work/.jp/y.toml": named("y"),
      "work/.jp/z.json": '{"user":{"name":"z"}}',
    });
    expect(names).toEqual(
      ["d/a.yaml", "d/b.toml", "d/deep/c.json", "y.toml", "config.toml", "z.json"].map(
        (name) => `work/.jp/${name}`,
      ),
    );
  });

  test("of an extended file is relative to that file", async () => {
    const { names } = await load({
      "work/.jp/config.toml": 'extends = ["d/a.toml"]\n',
      "work/.jp/d/a.toml": 'extends = ["../../b.toml"]\n',
      "work/b.toml": named("b"),
    });
    expect(names).toEqual(["work/b.toml", "work/.jp/d/a.toml", "work/.jp/config.toml"]);
  });

  test("of a file with inherit = false still applies", async () => {
    const { layers } = await load({
      "user/config.toml": named("user"),
      "work/.jp/config.toml": 'inherit = false\nextends = ["base.toml"]\n[assistant]\nname = "x"\n',
      "work/.jp/base.toml": named("base"),
    });
    expect(foldLayers(layers).user).toEqual({ name: "base" });
  });

  test("is rejected if it forms a cycle", async () => {
    const files = {
      "work/.jp/config.toml": 'extends = ["a.toml"]',
      "work/.jp/a.toml": 'extends = ["config.toml"]',
    };
    await expect(load(files)).rejects.toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(/config\.toml: extends: this file extends itself/),
      }),
    );
  });

  test("with a pattern that matches the file itself means the others", async () => {
    const { names } = await load({
      "work/.jp/config.toml": 'extends = ["*.toml"]',
      "work/.jp/a.toml": named("a"),
    });
    expect(names).toEqual(["work/.jp/a.toml", "work/.jp/config.toml"]);
  });

  test("with a pattern that matches nothing reads nothing", async () => {
    const { names, warnings } = await load({
      "work/.jp/config.toml": 'extends = ["config.d/**/*"]',
    });
    expect({ names, warnings }).toEqual({ names: ["work/.jp/config.toml"], warnings: [] });
  });

  test("of a missing file is reported", async () => {
    const { warnings } = await load({
      "work/.jp/config.toml": 'user.name = "x"\nextends = ["secrets.toml"]',
    });
    expect(warnings).toEqual([expect.stringMatching(/config\.toml:2: extends.*secrets\.toml/)]);
  });

  test("applies a file once that two others extend", async () => {
    const { layers } = await load({
      "work/.jp/config.toml": 'extends = ["a.toml", "b.toml"]',
      "work/.jp/a.toml": 'extends = ["common.toml"]',
      "work/.jp/b.toml": 'extends = ["common.toml"]',
      "work/.jp/common.toml": adds("common"),
    });
    expect(foldLayers(layers).conversation?.attachments?.value).toEqual(["common"]);
  });
});

describe("--cfg", () => {
  test("applies from left to right, over files, variables and the conversation", async () => {
    const { layers } = await load(
      { "work/.jp/config.toml": named("file") },
      {
        variables: { JP_CFG_USER_NAME: "variable", JP_CFG_ASSISTANT_NAME: "variable" },
        conversation: readConfig({ assistant: { name: "conversation" } }),
        settings: ["user.name=a", "user.name=b", "assistant.tool_choice:=null"],
      },
    );
    const { user, assistant } = foldLayers(layers);
    expect([user?.name, assistant?.name, assistant?.tool_choice]).toEqual([
      "b",
      "conversation",
      undefined,
    ]);
  });

  test("with a name reads every file of that name in the load paths", async () => {
    const { names } = await load(
      {
        "user/config.toml": 'config_load_paths = ["cfg"]\n',
        "work/.jp/config.toml": 'config_load_paths = [".jp/cfg"]\n',
        "user/cfg/dev.toml": named("user"),
        "user/.jp/cfg/dev.toml": named("too"),
        "work/cfg/dev.json": '{"user":{"name":"work"}}',
        "work/.jp/cfg/dev.yaml": "user: {name: x}\n",
        "work/.jp/cfg/personas/dev.toml": named("no"),
      },
      { settings: ["dev"] },
    );
    expect(names.slice(2).toSorted()).toEqual([
      "user/.jp/cfg/dev.toml",
      "user/cfg/dev.toml",
      "work/.jp/cfg/dev.yaml",
      "work/cfg/dev.json",
    ]);
  });

  test("with a name may include folders and an extension", async () => {
    const files = {
      "work/.jp/config.toml": 'config_load_paths = ["cfg"]\n',
      "work/cfg/personas/dev.toml": named("x"),
    };
    for (const name of ["personas/dev", "personas/dev.toml"]) {
      const { names } = await load(files, { settings: [name] });
      expect(names).toEqual(["work/.jp/config.toml", "work/cfg/personas/dev.toml"]);
    }
  });

  test("with a name finds it below folders whose names look like patterns", async () => {
    const { layers } = await load(
      {
        "[work]/.jp/config.toml": 'config_load_paths = ["cfg"]\n',
        "[work]/cfg/dev.toml": named("x"),
      },
      { settings: ["dev"], work: "[work]" },
    );
    expect(foldLayers(layers).user).toEqual({ name: "x" });
  });

  test("with an unknown name, or that of a folder, is rejected", async () => {
    const files = {
      "work/.jp/config.toml": 'config_load_paths = ["cfg"]\n',
      "work/cfg/dev/a.toml": named("x"),
    };
    for (const name of ["nothing", "dev", ""])
      await expect(load(files, { settings: [name] })).rejects.toThrow(
        expect.objectContaining({
          code: "config_not_found",
          message: `Cannot find a config named ${name}.`,
        }),
      );
  });

  test("with a missing file is rejected", async () => {
    await expect(load({}, { settings: ["@none.toml"] })).rejects.toThrow(
      expect.objectContaining({
        code: "config_not_found",
        message: expect.stringContaining("none.toml"),
      }),
    );
  });

  test("with a wrong type is rejected, naming the flag", async () => {
    await expect(load({}, { settings: ["conversation.max_cycles=many"] })).rejects.toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(
          /^--cfg conversation\.max_cycles.*: expected number, got a string$/,
        ),
      }),
    );
  });
});

const TOOL = "conversation.tools.x";
const ruleOn = (prefix: string) => `{ arg = "/path", prefix = "${prefix}", mode = "ask" }`;
const rules = (...prefixes: readonly string[]) =>
  `policy.run = [${prefixes.map(ruleOn).join(", ")}]\n`;

async function rulesOf(files: Files, options: TestOptions = {}) {
  const builtins = readConfig({
    conversation: {
      tools: { x: { source: "builtin" }, y: { source: "builtin", group: "g" } },
    },
  });
  const { layers, root } = await load(files, { builtins, ...options });
  const shown = ({ place, prefix }: ToolSettings["policy"]["run"][number]) => {
    const { from, key, layer, isShared } = place;
    const shared = isShared === true ? " (shared)" : "";
    return `${prefix} ${from} ${layer.replace(`${root}/`, "")} ${key}${shared}`;
  };
  const tools = resolveTools(foldLayers(layers));
  const of = (name: string) => tools.get(name)?.policy.run.map(shown);
  return { layers, of, tool: tools.get("x") };
}

describe("rules", () => {
  test("have the digest of the file that they stand in, byte by byte", async () => {
    const text = `\uFEFF[${TOOL}]\n${rules("ä")}`;
    const variables = {
      JP_CFG_CONVERSATION_TOOLS_X_POLICY_RUN: ':[{"arg":"/path","prefix":"h","mode":"skip"}]',
    };
    const { tool } = await rulesOf({ "user/config.toml": text }, { variables });
    const digest = createHash("sha256").update(text).digest("hex");
    expect(tool?.policy.run.map(({ place }) => place.file)).toEqual([undefined, digest]);
  });

  test("of every layer count: the user's own before the workspace's, those of a tool before those for all, higher ones first", async () => {
    const { of } = await rulesOf(
      {
        "user/config.toml": `[${TOOL}]\n${rules("a", "b")}[conversation.tools."*"]\n${rules("c")}`,
        "work/.jp/config.toml": `[${TOOL}]\n${rules("d")}[conversation.tools."*"]\n${rules("e")}`,
        "work/.jp.toml": `[${TOOL}]\n${rules("f")}`,
        "own/config.toml": `[${TOOL}]\n${rules("g")}`,
      },
      {
        variables: {
          JP_CFG_CONVERSATION_TOOLS_X_POLICY_RUN: ':[{"arg":"/path","prefix":"h","mode":"skip"}]',
        },
        settings: [`${TOOL}.policy.run:=[{"arg":"/path","prefix":"i","mode":"edit"}]`],
      },
    );
    expect(of("x")).toEqual([
      "i command_line --cfg conversation.tools.x.policy.run conversation.tools.x.policy.run[0]",
      "h environment JP_CFG_CONVERSATION_TOOLS_X_POLICY_RUN conversation.tools.x.policy.run[0]",
      "g user own/config.toml conversation.tools.x.policy.run[0]",
      "a user user/config.toml conversation.tools.x.policy.run[0]",
      "b user user/config.toml conversation.tools.x.policy.run[1]",
      'c user user/config.toml conversation.tools."*".policy.run[0] (shared)',
      "f workspace work/.jp.toml conversation.tools.x.policy.run[0]",
      "d workspace work/.jp/config.toml conversation.tools.x.policy.run[0]",
      'e workspace work/.jp/config.toml conversation.tools."*".policy.run[0] (shared)',
    ]);
    expect(of("y")).toHaveLength(2);
  });

  test("of a file in the workspace are the workspace's, also if the user names it", async () => {
    const { of } = await rulesOf(
      { "work/given.toml": `[${TOOL}]\n${rules("a")}` },
      { settings: ["@given.toml"] },
    );
    expect(of("x")).toEqual(["a workspace work/given.toml conversation.tools.x.policy.run[0]"]);
  });

  test("of a group are those of its tools, after their own", async () => {
    const { of } = await rulesOf({
      "user/config.toml": `[conversation.tools.g]\n${rules("a")}[conversation.tools.y]\n${rules("b")}`,
    });
    expect([of("x"), of("y")]).toEqual([
      [],
      [
        "b user user/config.toml conversation.tools.y.policy.run[0]",
        "a user user/config.toml conversation.tools.g.policy.run[0] (shared)",
      ],
    ]);
  });

  test("can be one word, which takes precedence over the older key and applies where no rule does", async () => {
    const words = async (toml: string) => {
      const { tool } = await rulesOf({ "user/config.toml": toml });
      return [tool?.run, tool?.result, tool?.policy.run.length];
    };
    expect(await words(`[${TOOL}.policy]\nrun = "skip"\nresult = "edit"\n`)).toEqual([
      "skip",
      "edit",
      0,
    ]);
    expect(await words(`[${TOOL}]\nrun = "ask"\npolicy.run = "unattended"\n`)).toEqual([
      "unattended",
      "unattended",
      0,
    ]);
    expect(await words(`[${TOOL}]\nrun = "edit"\n${rules("a")}`)).toEqual([
      "edit",
      "unattended",
      1,
    ]);
    expect(await words(`[conversation.tools."*"]\npolicy.run = "skip"\n`)).toEqual([
      "skip",
      "unattended",
      0,
    ]);
    const { tool } = await rulesOf(
      { "user/config.toml": `[${TOOL}]\n${rules("a")}` },
      { settings: [`${TOOL}.policy.run=skip`] },
    );
    expect([tool?.run, tool?.policy.run.length]).toEqual(["skip", 1]);
  });

  test("are shown as they were written", async () => {
    const { layers } = await rulesOf({
      "user/config.toml": `[${TOOL}]\n${rules("a")}policy.result = "ask"\n`,
      "work/.jp.toml": `[${TOOL}]\n${rules("b")}`,
    });
    const values = explainLayers(layers).filter(({ path: keys }) => keys.includes("policy"));
    expect(values.map(({ path: keys, value }) => [keys.join("."), value])).toEqual([
      [`${TOOL}.policy.run`, ["a", "b"].map((prefix) => ({ mode: "ask", arg: "/path", prefix }))],
      [`${TOOL}.policy.result`, "ask"],
    ]);
  });
});

test("all wrong values are reported at once, with file, line, key and the expected type", async () => {
  const toml = `[assistant]
name = 3
model.id = 4
[conversation.tools."my.tool"]
run = "no"
[assistant.request]
"max_retries" = "x"
[[assistant.instructions]]
title = 5
`;
  expect(await failure({ "work/.jp/config.toml": toml })).toEqual({
    code: "config_invalid",
    lines: [
      "work/.jp/config.toml:2: assistant.name: expected string, got a number",
      "work/.jp/config.toml:9: assistant.instructions.0.title: expected string, got a number",
      "work/.jp/config.toml:3: assistant.model.id: expected string or a table, got a number",
      "work/.jp/config.toml:7: assistant.request.max_retries: expected number, got a string",
      'work/.jp/config.toml:5: conversation.tools."my.tool".run: expected "ask" or "unattended" or "edit" or "skip", got another string',
    ],
  });
});

test.each([
  ["config.json", '{\n  "user": {\n    "name": 3\n  }\n}', 3],
  ["config.yaml", "user:\n  name: 3\n", 2],
  ["config.toml", "user = { name = 3 }\n", 1],
])("a wrong value in %s is reported with its line", async (name, text, line) => {
  expect(await failure({ [`work/.jp/${name}`]: text })).toEqual({
    code: "config_invalid",
    lines: [`work/.jp/${name}:${line}: user.name: expected string, got a number`],
  });
});

test("an unknown key is reported with file, line and a suggestion, and the rest applies", async () => {
  const { layers, warnings } = await load({
    "work/.jp/config.toml": `${named("me")}\n[conversation.tools.x]\nrum = "ask"\noptions.anything = 1\n`,
    "work/.jp.yaml": "plugins:\n  anything: 1\nassistnt: {}\n",
  });
  expect(warnings.map((warning) => warning.replace(/^.*work\//, ""))).toEqual([
    ".jp/config.toml:5: conversation.tools.x.rum: unknown key; did you mean conversation.tools.x.run?",
    ".jp.yaml:1: plugins: not supported: jp has no plugins",
    ".jp.yaml:3: assistnt: unknown key; did you mean assistant?",
  ]);
  expect(foldLayers(layers).user).toEqual({ name: "me" });
});

describe("a configured answer", () => {
  const answer = "conversation.tools.x.questions.q.answer";

  test("from the command line or a variable is in no layer name and no explanation", async () => {
    const { layers } = await load(
      {},
      {
        variables: { JP_CFG_CONVERSATION_TOOLS_Y_QUESTIONS_Q_ANSWER: SECRET },
        settings: [
          `${answer}=${SECRET}`,
          JSON.stringify(ofTool({ questions: { q: { answer: SECRET } } })),
          `${answer}:="${SECRET}"`,
        ],
      },
    );
    expect(foldLayers(layers).conversation?.tools?.["x"]?.questions?.["q"]?.answer).toBe(SECRET);
    expect(layers.filter(({ name }) => name.includes(SECRET))).toEqual([]);
    expect(JSON.stringify(explainLayers(layers))).not.toContain(SECRET);
  });

  test.each([
    [
      "a file",
      {
        "work/.jp/config.toml": `[conversation.tools.x]\nrun = "no"\nquestions.q.answer = "${SECRET}"\nquestions.q.target = "nobody"\n`,
      },
      [],
    ],
    [
      "a JSON object",
      {},
      [JSON.stringify(ofTool({ run: "no", questions: { q: { answer: SECRET } } }))],
    ],
    [
      "an assignment",
      {},
      [`conversation.tools.x:={"run":"no","questions":{"q":{"answer":"${SECRET}"}}}`],
    ],
  ])("is in no error about its neighbours: %s", async (_name, files, settings) => {
    const error: unknown = await load(files, { settings }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "config_invalid" });
    expect(String(error)).not.toContain(SECRET);
  });

  test("is in no error about an assignment that is invalid because of spaces", async () => {
    const error: unknown = await load({}, { settings: [`${answer} = ${SECRET}`] }).catch(
      (cause: unknown) => cause,
    );
    expect(error).toMatchObject({ code: "config_not_found" });
    expect(String(error)).not.toContain(SECRET);
  });

  test("is in no warning about its neighbours", async () => {
    const words = JSON.stringify(ofTool({ rum: "ask", questions: { q: { answer: SECRET } } }));
    const { warnings } = await load({}, { settings: [words] });
    expect(warnings).toEqual([expect.stringMatching(/did you mean conversation\.tools\.x\.run/)]);
    expect(warnings.join("\n")).not.toContain(SECRET);
  });
});

interface TestOptions extends Omit<LoadOptions, "places"> {
  readonly cwd?: string;
  readonly work?: string;
  readonly variables?: ConfigPlaces["variables"];
  readonly isOutside?: boolean;
}

test("only the user's own config says how commands are confined", async () => {
  counters("T-SHELL-8");
  const shell = '[shell]\nunsandboxed = "unattended"\n';
  const own = await load({ "user/config.toml": shell });
  expect([foldLayers(own.layers).shell?.unsandboxed, own.warnings]).toEqual(["unattended", []]);
  const { layers, warnings } = await load({
    "work/.jp/config.toml": `extends = ["more.toml"]\n${named("me")}`,
    "work/.jp/more.toml": shell,
    "work/.jp.toml": shell,
  });
  expect([foldLayers(layers).shell?.unsandboxed, foldLayers(layers).user?.name]).toEqual([
    "ask",
    "me",
  ]);
  expect(warnings).toEqual([
    expect.stringContaining("only your own config can set shell"),
    expect.stringContaining("only your own config can set shell"),
  ]);
});

test("only the user's own config says where decisions are anchored", async () => {
  counters("T-ANCHOR-3");
  const proof = '[proof.anchor]\ntimestamp = "https://tsa.example"\n';
  const own = await load({ "user/config.toml": proof });
  expect([resolveAnchor(foldLayers(own.layers)), own.warnings]).toEqual([
    { kind: "timestamp", url: "https://tsa.example", isDaily: false },
    [],
  ]);
  const { layers, warnings } = await load({ "work/.jp/config.toml": proof });
  expect([resolveAnchor(foldLayers(layers)), warnings]).toEqual([
    undefined,
    [expect.stringContaining("only your own config can set proof")],
  ]);
});

test("only the user's own config lets the user decide in the place of people", async () => {
  counters("T-PEOPLE-4");
  const alone = "[people]\nowner_alone = true\n";
  const own = await load({ "user/config.toml": alone });
  expect([foldLayers(own.layers).people?.owner_alone, own.warnings]).toEqual([true, []]);
  const { layers, warnings } = await load({ "work/.jp/config.toml": alone });
  expect([foldLayers(layers).people?.owner_alone, warnings]).toEqual([
    false,
    [expect.stringContaining("only your own config can set people")],
  ]);
  expect(conversationConfig({ people: { owner_alone: true } }, [])).toEqual({});
});

test.each([
  ["git@example.com:ana/anchors.git", true],
  ["example.com:anchors.git", true],
  ["ssh://git@example.com:22/anchors.git", true],
  ["https://example.com/anchors.git", true],
  ["/srv/anchors.git", true],
  ["https://ana:secret@example.com/anchors.git", false],
  ["http://example.com/anchors.git", false],
  ["ext::sh -c true", false],
  ["ext::true", false],
  ["--upload-pack=true", false],
  ["example.com:-oProxyCommand=true", false],
  ["anchors.git", false],
])(
  "a place for anchors is one that git can push to, and nothing that it would run: %s",
  (git, isValid) => {
    counters("T-ANCHOR-2");
    const { errors } = parseConfig({ proof: { anchor: { git } } });
    expect(errors.length === 0).toBe(isValid);
  },
);

const mode = (word: string) => `[conversation]\nmode = "${word}"\nmax_cycles = 3\n`;

async function modeIn(files: Files) {
  const { layers, warnings } = await load(files);
  const { mode: found, max_cycles } = foldLayers(layers).conversation ?? {};
  return [found, max_cycles, warnings.length];
}

test("a workspace can have the assistant plan only, and never sets another mode", async () => {
  counters("T-SHELL-8");
  expect(await modeIn({ "work/.jp/config.toml": mode("plan") })).toEqual(["plan", 3, 0]);
  for (const word of ["edits", "sandbox", "ask"]) {
    expect(
      await modeIn({ "user/config.toml": mode("plan"), "work/.jp/config.toml": mode(word) }),
    ).toEqual(["plan", 3, 1]);
  }
  expect(await modeIn({ "user/config.toml": mode("edits") })).toEqual(["edits", 3, 0]);
});

async function load(files: Files, options: TestOptions = {}) {
  const { places, root } = placed(files, options);
  const { cwd: _cwd, work: _work, variables: _variables, isOutside: _outside, ...rest } = options;
  const { layers, warnings } = await loadLayers({ places, ...rest });
  const names = layers.slice(2).map(({ name }) => name.replace(`${root}/`, ""));
  return { layers, warnings, names, root };
}

function placed(
  files: Files,
  { work = "work", cwd = work, variables = {}, isOutside = false }: TestOptions,
) {
  const root = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  const places: ConfigPlaces = {
    userFolder: path.join(root, "user"),
    ...(!isOutside && {
      workspaceRoot: path.join(root, work),
      userWorkspaceFolder: path.join(root, "own"),
    }),
    cwd: path.join(root, cwd),
    variables,
  };
  return { places, root };
}

/** The error for a config that cannot be loaded, with paths relative to the test's folder. */
async function failure(files: Files) {
  const { places, root } = placed(files, {});
  const error: unknown = await loadLayers({ places }).catch((cause: unknown) => cause);
  const { code, message, problems } = error as ConfigError;
  expect(message).toBe(problems.join("\n"));
  return { code, lines: problems.map((line) => line.replaceAll(`${root}/`, "")) };
}
