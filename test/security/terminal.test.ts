import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { Screen, ScreenProcess } from "../cli/screen.ts";
import { Project } from "../cli/support.ts";
import { foreignIn, HOSTILE, LONG } from "./hostile.ts";
import { counters } from "./threats.ts";

const SERVER = path.join(import.meta.dirname, "hostile-server-program.ts");

/** A TOML string, which escapes more than a JSON string. */
function toml(value: string | readonly string[]): string {
  return JSON.stringify(value).replaceAll(
    /[\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A workspace with this config. */
function projectWith(config: JsonObject): Project {
  const project = new Project();
  writeFileSync(path.join(project.root, ".jp", "config.json"), JSON.stringify(config));
  return project;
}

/** Runs each command on a terminal, and returns what it printed unneutralized. */
async function foreignOf(
  project: Project,
  commands: readonly (readonly string[])[],
  variables: Readonly<Record<string, string>> = {},
) {
  const found: string[] = [];
  for (const words of commands) {
    const { bytes } = await new Screen(project, words, { variables }).end();
    const foreign = foreignIn(bytes);
    // Otherwise the command would prove nothing.
    if (!/FORGED|␛\[45m/.test(bytes))
      found.push(`${words.join(" ").slice(0, 40)}: no hostile text`);
    if (foreign !== null) found.push(`${words.join(" ").slice(0, 40)}: ${foreign}`);
  }
  return found;
}

/** Hostile text in every part of a config that takes text. */
const CONFIG: JsonObject = {
  extends: [`${HOSTILE}.toml`],
  config_load_paths: [HOSTILE],
  assistant: {
    name: HOSTILE,
    system_prompt: HOSTILE,
    model: { id: `openai/${HOSTILE}`, parameters: { other: { [HOSTILE]: HOSTILE } } },
    instructions: [{ title: HOSTILE, items: [HOSTILE] }],
  },
  conversation: {
    tools: {
      [HOSTILE]: {
        source: "local",
        command: { program: HOSTILE.replaceAll("/", ""), args: [HOSTILE] },
        group: HOSTILE,
        summary: HOSTILE,
        description: HOSTILE,
        examples: HOSTILE,
        options: { [HOSTILE]: HOSTILE },
        parameters: { [HOSTILE]: { type: "string", description: HOSTILE } },
        questions: { [HOSTILE]: { target: "assistant", prompt_label: HOSTILE } },
      },
      other: { source: `mcp.${HOSTILE.replaceAll(".", "")}` },
    },
  },
  providers: {
    llm: {
      aliases: { [HOSTILE]: `ollama/${HOSTILE}` },
      ollama: { base_url: `http://127.0.0.1:9/${HOSTILE}` },
      openai: { api_key_env: HOSTILE, base_url_env: HOSTILE },
    },
    mcp: { [HOSTILE.replaceAll(".", "")]: { command: HOSTILE, arguments: [HOSTILE] } },
  },
  user: { name: HOSTILE },
  template: { values: { [HOSTILE]: HOSTILE } },
  [HOSTILE]: HOSTILE,
};

test("the check finds hostile text", () => {
  counters("T-TERM-1");
  const texts = [HOSTILE, LONG, "\rFORGED", "a\u200bb", "\x1b]8;;https://a.b\x07"];
  expect(texts.map((text) => foreignIn(text) === null)).toEqual(texts.map(() => false));
});

/** Without the characters that no model's name may have: such a name is refused, and not shown. */
const MODEL = HOSTILE.replaceAll(/\.\.|[?#%\\]/g, "");

describe("hostile text in a config", () => {
  test("never reaches the terminal raw in any command that shows it", async () => {
    counters("T-TERM-1");
    const commands = [
      ["config", "show"],
      ["config", "show", "--explain"],
      ["config", "get", "assistant.name"],
      ["config", "get", `conversation.tools."${HOSTILE}"`],
      ["tool", "ls"],
      ["tool", "show", HOSTILE],
      ["tool", "show", "other"],
      ["tool", "run", HOSTILE],
      ["tool", "run", `${HOSTILE}x`],
      ["trust", "--yes"],
      ["doctor"],
      ["query", "--no-persist", "one"],
      ["query", "--no-persist", "-m", HOSTILE, "one"],
      ["query", "--no-persist", "-t", `${HOSTILE}x`, "one"],
      ["query", "--no-persist", "--cfg", HOSTILE, "one"],
      ["query", "--no-persist", "--cfg", `@${HOSTILE}`, "one"],
      ["query", "--no-persist", "-s", `@${HOSTILE}`, "one"],
      ["model", "ls", "ollama"],
      ["model", "ls", HOSTILE],
    ];
    expect(await foreignOf(projectWith(CONFIG), commands)).toEqual([]);
  });

  test("never reaches the terminal raw before it is trusted", async () => {
    counters("T-TERM-1");
    const commands = [
      ["tool", "run", HOSTILE, "--non-interactive"],
      ["query", "--non-interactive", "one"],
      ["doctor"],
    ];
    const untrusted = { JP_TRUSTED_WORKSPACES: "" };
    expect(await foreignOf(projectWith(CONFIG), commands, untrusted)).toEqual([]);
  });

  test("never reaches the terminal raw in an error about the config", async () => {
    counters("T-TERM-1");
    const projects = [
      projectWith({ conversation: { tools: { [HOSTILE]: { run: HOSTILE, source: HOSTILE } } } }),
      projectWith({ assistant: { model: { id: MODEL } } }),
    ];
    const broken = new Project();
    writeFileSync(path.join(broken.root, ".jp", "config.json"), `{"a": 1, ${HOSTILE}`);
    const found = projects.map((project) => foreignOf(project, [["query", "one"], ["doctor"]]));
    const { stderr } = await broken.jp("query", "one");
    expect([(await Promise.all(found)).flat(), foreignIn(stderr)]).toEqual([[], null]);
  });
});

test("hostile paths, names and environment variables never reach the terminal raw", async () => {
  counters("T-TERM-2");
  const project = new Project();
  const root = path.join(project.root, HOSTILE.replaceAll("/", ""));
  mkdirSync(path.join(root, ".jp"), { recursive: true });
  writeFileSync(path.join(root, ".jp", "config.toml"), "unknown = 1\n");
  const at = ["--workspace", root];
  const commands = [
    [...at, "query", "--no-persist", "one"],
    [...at, "doctor"],
    [...at, "trust"],
    [...at, "init"],
    [...at, "config", "path"],
    ["init", path.join(root, "new"), "--non-interactive"],
    [...at, "query", "-e"],
  ];
  const variables = {
    [`JP_CFG_${HOSTILE.replaceAll("=", "")}`]: HOSTILE,
    JP_SESSION: HOSTILE,
    EDITOR: `: "${HOSTILE.replaceAll(/["$`\\]/g, "")}"; exit 3;`,
    JP_CFG_ASSISTANT_MODEL_ID: `openai/${MODEL}`,
  };
  expect(await foreignOf(project, commands, variables)).toEqual([]);
});

/** A tool that writes hostile text to every stream, asks questions of every type, and then ends like this. */
function hostileTool(ending: string): { readonly name: string; readonly script: string } {
  const questions = [
    { id: "q1", text: `${LONG} Q1`, context: LONG, answer_type: { type: "boolean" } },
    {
      id: "q2",
      text: `Q2${HOSTILE}`,
      answer_type: { type: "select", options: [{ value: HOSTILE, description: HOSTILE }, "two"] },
      default: HOSTILE,
    },
    { id: "q3", text: `Q3${HOSTILE}`, answer_type: { type: "text" }, default: HOSTILE },
    { id: "q4", text: `Q4${HOSTILE}`, answer_type: { type: "secret" } },
  ];
  return {
    name: "hostile",
    script: `
const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
process.stderr.write(Buffer.concat([Buffer.from(${JSON.stringify(HOSTILE)}), Buffer.from([0x9b, 0x32, 0x4a, 10])]));
const question = ${JSON.stringify(questions)}.find(({ id }) => !(id in tool.answers));
if (question !== undefined) console.log(JSON.stringify({ type: "needs_input", question }));
else { ${ending} }
`,
  };
}

const ENDINGS: Readonly<Record<string, string>> = {
  "a result": `process.stdout.write(Buffer.concat([Buffer.from(${JSON.stringify(LONG)}), Buffer.from([0x9b, 0x32, 0x4a])]))`,
  "an error": `console.log(JSON.stringify({ type: "error", message: ${JSON.stringify(LONG)}, trace: [${JSON.stringify(HOSTILE)}] }))`,
  "a failure": `console.log(${JSON.stringify(HOSTILE)}); process.exit(3)`,
};

/** A turn in which the model and its tool send hostile text. Each question is answered with these keys. */
async function hostileTurn(
  ending: string,
  answers: readonly (readonly [mark: string, keys: string])[],
  variables: Readonly<Record<string, string>> = {},
) {
  const given = { name: "hostile", arguments: { [HOSTILE]: HOSTILE, list: [HOSTILE] } };
  const markdown = `# ${HOSTILE}\n\n\`\`\`${HOSTILE}\n${HOSTILE}\n\`\`\`\n[${HOSTILE}](https://${HOSTILE}) |${HOSTILE}|`;
  await using server = await ModelServer.start((_body, index) =>
    index === 0
      ? { reasoning: LONG, text: `${HOSTILE}\n\n${LONG}`, calls: [given, { name: HOSTILE }] }
      : { reasoning: HOSTILE, text: markdown },
  );
  const project = queryProject({
    server,
    config: `
[style.notification]
bell = false
[conversation.tools.hostile]
source = "local"
command = "node hostile.cjs"
questions.q1.prompt_label = ${toml(HOSTILE)}
parameters.list = { type = "array" }
[conversation.tools.hostile.parameters.${toml(HOSTILE)}]
type = "string"
`,
    files: { "hostile.cjs": hostileTool(ending).script },
  });
  // In plain text, the kernel edits the lines.
  const Terminal = variables["JP_PLAIN"] === "1" ? ScreenProcess : Screen;
  const screen = new Terminal(project, ["query", "-v", HOSTILE], { variables });
  for (const [mark, keys] of answers) {
    if (screen instanceof ScreenProcess) await screen.untilLineAsked(mark);
    else await screen.untilShown((lines) => lines.some((line) => line.includes(mark)));
    screen.type(keys);
  }
  const { status, bytes } = await screen.end();
  return [status, foreignIn(bytes)];
}

describe("hostile text from a model or a tool", () => {
  test.each(Object.entries(ENDINGS))(
    "never reaches the terminal raw in a turn with questions: %s",
    async (_name, ending) => {
      counters("T-TERM-3");
      const answers = [
        ["Run local hostile", "y"],
        ["more lines ·", "\u001b[F"],
        ["go to the question", " "],
        ["Tab say why", "y"],
        ["? Q2", "\r"],
        ["? Q3", "\r"],
        ["? Q4", "s\r"],
      ] as const;
      expect(await hostileTurn(ending, answers)).toEqual([0, null]);
    },
  );

  test("never reaches the terminal raw in a turn with plain-text questions", async () => {
    counters("T-TERM-3");
    const answers = [
      ["Run local hostile", "y\r"],
      ["Q1", "y\r"],
      ["Q2", "2\r"],
      ["Q3", "\r"],
      ["Q4", "s\r"],
    ] as const;
    const variables = { JP_PLAIN: "1" };
    expect(await hostileTurn(ENDINGS["a result"] ?? "", answers, variables)).toEqual([0, null]);
  });

  test("never reaches the terminal raw in jp tool run", async () => {
    counters("T-TERM-3");
    const tools = Object.entries(ENDINGS).map(
      ([name, ending]) =>
        [
          name,
          queryProject({
            config:
              `[conversation.tools.hostile]\nsource = "local"\ncommand = "node hostile.cjs"\n` +
              `questions = { q1.answer = true, q2.answer = "two", q3.answer = "x", q4.answer = "y" }\n`,
            files: { "hostile.cjs": hostileTool(ending).script },
          }),
        ] as const,
    );
    const found = tools.map(async ([, project]) =>
      foreignOf(project, [["tool", "run", "hostile", "--non-interactive"]]),
    );
    expect((await Promise.all(found)).flat()).toEqual([]);
  });

  test("never reaches the terminal raw in an error from a provider", async () => {
    counters("T-TERM-3");
    const body = JSON.stringify({ error: { message: LONG, code: HOSTILE, type: HOSTILE } });
    const server = createServer((_request, response) => {
      response.writeHead(400, { "content-type": "application/json" }).end(body);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // It listens on a port.
    const project = queryProject({
      config: `assistant.model.id = "llamacpp/x"\nproviders.llm.llamacpp.base_url = "http://127.0.0.1:${port}"\n`,
    });
    const commands = [["query", "one"], ["model", "ls", "llamacpp"], ["doctor"]];
    const found = await foreignOf(project, commands, { JP_DEBUG: "1" });
    server.close();
    expect(found).toEqual([]);
  });
});

/** A module that crashes jp in this way when the file CRASH exists. */
function crashWhenTold(crash: string): string {
  return `
const { existsSync } = require("node:fs");
const isJp = process.argv[1]?.endsWith("jp.cjs");
if (isJp) setInterval(() => { if (existsSync("CRASH")) ${crash}; }, 10).unref();`;
}

test("hostile text in an unexpected error never reaches the terminal raw", async () => {
  counters("T-TERM-6");
  const thrown = `new Error(${JSON.stringify(HOSTILE)})`;
  const crashes = {
    "thrown.cjs": crashWhenTold(`throw ${thrown}`),
    "rejected.cjs": crashWhenTold(`void Promise.reject(${thrown})`),
  };
  await using server = await ModelServer.start(() => ({
    text: "The beginning of it",
    hangs: true,
  }));
  const ends: unknown[] = [];
  for (const file of Object.keys(crashes)) {
    const project = queryProject({ server, files: crashes });
    const variables = { NODE_OPTIONS: `--require=${path.join(project.root, file)}` };
    const screen = new ScreenProcess(project, ["query", "one"], { variables });
    await screen.until("The beginning");
    writeFileSync(path.join(project.root, "CRASH"), "");
    const { status, bytes } = await screen.end();
    ends.push([status, bytes.includes("FORGED"), foreignIn(bytes), bytes.includes("at ")]);
  }
  expect(ends).toEqual([
    [1, true, null, false],
    [1, true, null, false],
  ]);
});

/** A tool of the hostile server in this mode. */
function hostileServerTool(mode: string): string {
  return `
[providers.mcp.stranger]
command = "${process.execPath}"
arguments = ${toml([SERVER, JSON.stringify(HOSTILE), mode])}
[conversation.tools.hostile]
source = "mcp.stranger"
run = "unattended"
[style.notification]
bell = false
`;
}

describe("hostile text from an MCP server", () => {
  test.each(["answer", "fail", "ask"])(
    "never reaches the terminal raw in its reply to a call: %s",
    async (mode) => {
      counters("T-TERM-4");
      const project = queryProject({ config: hostileServerTool(mode) });
      const screen = new Screen(project, ["tool", "run", "hostile"]);
      if (mode === "ask") {
        await screen.untilShown((lines) => lines.some((line) => line.startsWith("? ")));
        screen.type("word\r");
      }
      const { bytes } = await screen.end();
      expect([bytes.includes("FORGED"), foreignIn(bytes)]).toEqual([true, null]);
    },
  );

  test("never reaches the terminal raw in its description, or in the error if it does not start", async () => {
    counters("T-TERM-4");
    const project = queryProject({
      config: `${hostileServerTool("answer")}
[providers.mcp.broken]
command = "sh"
arguments = ${toml(["-c", `printf '%s' "$1" >&2; exit 3`, "sh", HOSTILE])}
[conversation.tools.broken]
source = "mcp.broken"
[conversation.tools.missing]
source = ${toml(`mcp.stranger.${HOSTILE.replaceAll(/\s/g, "")}`)}
`,
    });
    const commands = [
      ["tool", "show", "hostile"],
      ["tool", "show", "broken"],
      ["tool", "show", "missing"],
      ["doctor"],
    ];
    expect(await foreignOf(project, commands)).toEqual([]);
  });
});
