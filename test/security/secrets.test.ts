import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { calling, resultsIn } from "../cli/calling-model.ts";
import { ModelServer } from "../cli/model-server.ts";
import { entriesOf, query, queryProcess, queryProject, recordOf } from "../cli/query-project.ts";
import { openSession, ScreenProcess, shows } from "../cli/screen.ts";
import type { Project } from "../cli/support.ts";
import { counters } from "./threats.ts";

const CANARY = "canary-83c1d7";
const FORMS = [
  CANARY,
  Buffer.from(CANARY).toString("base64").slice(0, -3),
  Buffer.from(CANARY).toString("hex"),
];
const SERVER = path.join(import.meta.dirname, "hostile-server-program.ts");

function hasSecret(text: string): boolean {
  return FORMS.some((form) => text.includes(form));
}

/** The files with the secret in the workspace, the user's folders and the temporary folder. */
function filesWithSecret({ root, data, home, temporary }: Project): readonly string[] {
  return [root, data, home, temporary]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => realpathSync(path.join(entry.parentPath, entry.name)))
    .filter((file, index, all) => all.indexOf(file) === index)
    .filter((file) => hasSecret(readFileSync(file, "latin1")));
}

/**
 * Gets a secret and looks for it while it runs: in /proc of itself, jp and jp's other children, and in all files.
 * Its result says where the secret was, without repeating it.
 */
const FIND_SECRET = `
(() => {
  const { readdirSync, readFileSync } = require("node:fs");
  const key = tool.answers.q;
  const read = (file) => { try { return readFileSync(file, "latin1"); } catch { return ""; } };
  const has = (file) => read(file).includes(key);
  const parentOf = (pid) => read("/proc/" + pid + "/stat").split(") ")[1]?.split(" ")[1];
  const family = readdirSync("/proc").filter((pid) => /^\\d+$/.test(pid))
    .filter((pid) => pid === String(process.ppid) || parentOf(pid) === String(process.ppid));
  const shown = family.flatMap((pid) => ["cmdline", "environ"].filter((name) => has("/proc/" + pid + "/" + name)));
  const folders = [process.cwd(), process.env.JP_USER_DATA_DIR, process.env.HOME, process.env.TMPDIR];
  const files = folders.flatMap((folder) => {
    try { return readdirSync(folder, { recursive: true, withFileTypes: true }); } catch { return []; }
  }).filter((entry) => entry.isFile() && has(entry.parentPath + "/" + entry.name));
  return JSON.stringify({ length: key.length, family: family.length > 1, shown, files: files.map(({ name }) => name) });
})()`;

const LOOKER = {
  name: "looker",
  questions: [{ id: "q", text: "The word?", answer_type: { type: "secret" } }],
  program: FIND_SECRET,
};

interface Seen {
  readonly length: number;
  readonly family: boolean;
  readonly shown: readonly string[];
  readonly files: readonly string[];
}

function seenBy(server: ModelServer): readonly Seen[] {
  return resultsIn(server).map((text) => JSON.parse(text as string) as Seen); // Printed by FIND_SECRET.
}

const NOWHERE = JSON.stringify({ length: CANARY.length, family: true, shown: [], files: [] });

test("a typed secret appears nowhere, neither while the tool runs nor afterwards", async () => {
  counters("T-SEC-1");
  await using server = await calling(["looker"]);
  const project = queryProject({ server, tools: [LOOKER] });
  const screen = new ScreenProcess(project, ["query", "-v", "one"], {
    variables: { JP_DEBUG: "1" },
  });
  await screen.untilShown((lines) => lines.some((line) => line.startsWith("? The word?")));
  screen.type(`${CANARY}\r`);
  const { bytes } = await screen.end();
  expect([
    resultsIn(server),
    hasSecret(bytes),
    filesWithSecret(project),
    hasSecret(JSON.stringify(server.requests)),
  ]).toEqual([[NOWHERE], false, [], false]);
});

test("a secret typed in another process than the one that asks appears nowhere either", async () => {
  counters("T-SEC-1", "T-SEC-10");
  await using server = await calling(["looker"]);
  const project = queryProject({ server, tools: [LOOKER] });
  const variables = { JP_DEBUG: "1" };
  const asking = new ScreenProcess(project, ["query", "-v", "one"], { variables });
  await asking.untilShown((lines) => lines.some((line) => line.startsWith("? The word?")));
  const other = new ScreenProcess(project, ["inquiry", "answer", "call_1"], { variables });
  await other.untilShown((lines) => lines.some((line) => line.startsWith("? The word?")));
  other.type(`${CANARY}\r`);
  const outputs = [await other.end(), await asking.end()];
  expect([
    outputs.map(({ status }) => status),
    resultsIn(server),
    hasSecret(outputs.map(({ bytes }) => bytes).join("\n")),
    filesWithSecret(project),
    hasSecret(JSON.stringify(server.requests)),
  ]).toEqual([[0, 0], [NOWHERE], false, [], false]);
  expect(JSON.stringify(recordOf(project))).toContain(
    '"answer":null,"answered_by":{"kind":"user","channel":"cli","auth":"os_user"}',
  );
});

test("a secret in the config appears only in that file", async () => {
  counters("T-SEC-2");
  await using server = await calling(["looker"]);
  const project = queryProject({ server, tools: [LOOKER] });
  const config = path.join(project.root, ".jp", "config.toml");
  const text = readFileSync(config, "utf8");
  writeFileSync(config, `${text}\nquestions.q.answer = "${CANARY}"\n`);
  const outputs = [
    await query(project, ["-v", "one"], { variables: { JP_DEBUG: "1" } }),
    await project.jp("config", "show", "--explain"),
    await project.jp("config", "get", "conversation.tools.looker.questions.q.answer"),
    await project.jp("tool", "show", "looker"),
    await project.jp("trust"),
    await project.jpWith({ JP_TRUSTED_WORKSPACES: "" }, "trust"),
  ];
  expect([
    seenBy(server).map(({ shown }) => shown),
    outputs.map(({ stdout, stderr }) => hasSecret(stdout + stderr)),
    filesWithSecret(project),
    hasSecret(JSON.stringify(server.requests)),
  ]).toEqual([[[]], outputs.map(() => false), [config], false]);
});

test("a secret that an MCP server may ask for reaches only that server", async () => {
  counters("T-SEC-3");
  await using server = await calling(["hostile"]);
  const project = queryProject({
    server,
    config: `
[providers.mcp.stranger]
command = "${process.execPath}"
arguments = ${JSON.stringify([SERVER, JSON.stringify("Log in"), "ask-secret"])}
allow_secrets = true
[conversation.tools.hostile]
source = "mcp.stranger"
run = "unattended"
`,
  });
  const screen = new ScreenProcess(project, ["query", "-v", "one"], {
    variables: { JP_DEBUG: "1" },
  });
  await screen.untilShown((lines) => lines.join("\n").includes("input is hidden"));
  screen.type(`${CANARY}\r`);
  const { bytes } = await screen.end();
  const [response] = entriesOf(recordOf(project), "inquiry_response");
  expect([
    response?.["outcome"],
    hasSecret(bytes),
    filesWithSecret(project),
    hasSecret(JSON.stringify(server.requests)),
  ]).toEqual(["redacted", false, [], false]);
});

/** The whole terminal while the secret is typed, and after. */
async function promptFor(secret: string, variables: Readonly<Record<string, string>>) {
  await using server = await calling(["looker"]);
  const asking = { ...LOOKER, program: '"done"' };
  const project = queryProject({ server, tools: [asking] });
  const screen = new ScreenProcess(project, ["query", "x"], { variables });
  const isPlain = variables["JP_PLAIN"] !== undefined;
  await shows(screen, /input is hidden/i);
  if (isPlain) await screen.untilLineAsked();
  screen.type(secret);
  if (!isPlain && secret !== "") await shows(screen, "something typed");
  const open = screen.lines;
  screen.type("\r");
  await shows(screen, "done");
  const closed = screen.lines.filter((line) => /word|secret|entered/i.test(line));
  await screen.end();
  return [open, closed];
}

describe("the prompt for a secret", () => {
  test("shows that keys arrive, but not how many, in a drawn prompt, typed or pasted", async () => {
    counters("T-SEC-1");
    const [short, long, pasted, none] = await Promise.all(
      ["x", CANARY, `\u001b[200~${CANARY}\u001b[201~`, ""].map((secret) => promptFor(secret, {})),
    );
    expect([long, pasted]).toEqual([short, short]);
    expect([none?.[0]?.join("\n"), short?.[0]?.join("\n")]).toEqual([
      expect.not.stringContaining("something typed"),
      expect.stringContaining("something typed"),
    ]);
  });

  test("shows that keys arrived, but not how many, in plain text, where the line says it afterwards", async () => {
    counters("T-SEC-1");
    const plain = { JP_PLAIN: "1" };
    const [short, long, none] = await Promise.all(
      ["x", CANARY, ""].map((secret) => promptFor(secret, plain)),
    );
    expect([long, none?.[1], short?.[1]]).toEqual([
      short,
      expect.arrayContaining(["Secret: (nothing entered)"]),
      expect.arrayContaining(["Secret: (entered)"]),
    ]);
  });
});

/** Answers every request with an error that repeats its headers. */
async function startEchoServer(): Promise<{
  readonly server: Server;
  readonly url: string;
  readonly seen: string[];
}> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    const message = `Not with ${JSON.stringify(request.headers)}`;
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "authentication_error" } }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return { server, url: `http://127.0.0.1:${port}`, seen };
}

test.each([
  ["openai", "OPENAI_API_KEY"],
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["google", "GEMINI_API_KEY"],
  ["openrouter", "OPENROUTER_API_KEY"],
  ["llamacpp", "LLAMA_API_KEY"],
])(
  "the API key of a provider reaches its address, and no error, log or record: %s",
  async (provider, name) => {
    counters("T-SEC-4");
    const { server, url, seen } = await startEchoServer();
    const project = queryProject({
      config: `assistant.model.id = "${provider}/x"\nproviders.llm.${provider}.base_url = "${url}"\n`,
    });
    const variables = { [name]: CANARY, JP_DEBUG: "1" };
    const outputs = [
      await query(project, ["-v", "one"], { variables }),
      await project.jpWith(variables, "doctor"),
      await project.jpWith(variables, "model", "ls", provider),
      await project.jpWith(variables, "config", "show", "--explain"),
    ];
    server.close();
    expect([
      hasSecret(seen.join("\n")),
      outputs.map(({ stdout, stderr }) => hasSecret(stdout + stderr)),
      filesWithSecret(project),
    ]).toEqual([true, outputs.map(() => false), []]);
  },
);

test("a variable in the header of an MCP server reaches its address, and no error or record", async () => {
  counters("T-SEC-5");
  const { server: stranger, url, seen } = await startEchoServer();
  await using server = await calling(["far"]);
  const project = queryProject({
    server,
    config: `
[providers.mcp.far]
url = "${url}/mcp"
headers.Authorization = "Bearer $FAR_TOKEN"
optional = true
[conversation.tools.far]
source = "mcp.far"
run = "unattended"
`,
  });
  const variables = { FAR_TOKEN: CANARY, JP_DEBUG: "1" };
  const outputs = [
    await query(project, ["-v", "one"], { variables }),
    await project.jpWith(variables, "tool", "show", "far"),
    await project.jpWith(variables, "doctor"),
    await project.jpWith(variables, "config", "show", "--explain"),
    await project.jpWith({ ...variables, JP_TRUSTED_WORKSPACES: "" }, "trust"),
  ];
  stranger.close();
  expect([
    hasSecret(seen.join("\n")),
    outputs.map(({ stdout, stderr }) => hasSecret(stdout + stderr)),
    filesWithSecret(project),
    hasSecret(JSON.stringify(server.requests)),
  ]).toEqual([true, outputs.map(() => false), [], false]);
});

describe("a secret on jp's command line", () => {
  const key = "conversation.tools.looker.questions.q.answer";

  test("is not repeated in errors", async () => {
    counters("T-SEC-6");
    const project = queryProject({ tools: [LOOKER] });
    const words = [
      `${key}=${CANARY}`,
      `${key}.more=${CANARY}`,
      `${key}:={"a": ${CANARY}`,
      `${key}x=${CANARY}`,
      `{"conversation":{"tools":{"looker":{"questions":{"q":{"answer":"${CANARY}"},"x":${CANARY}}}}}}`,
    ];
    const ends = words.map(async (setting) => {
      const variables = { JP_DEBUG: "1" };
      const { stdout, stderr } = await project.jpWith(
        variables,
        "config",
        "show",
        "--cfg",
        setting,
      );
      return hasSecret(stdout + stderr);
    });
    expect([await Promise.all(ends), filesWithSecret(project)]).toEqual([
      words.map(() => false),
      [],
    ]);
  });

  test("reaches the tool, and no other process or file", async () => {
    counters("T-SEC-6");
    await using server = await calling(["looker"]);
    const project = queryProject({ server, tools: [LOOKER] });
    await queryProcess(project, ["one", "--cfg", `${key}=${CANARY}`]);
    const [result] = seenBy(server);
    // jp's own command line, which every user of the machine can read.
    expect([result, filesWithSecret(project)]).toEqual([
      { length: CANARY.length, family: true, shown: ["cmdline"], files: [] },
      [],
    ]);
  });
});

test("a crash while jp knows a secret leaves no report and does not print it", async () => {
  counters("T-SEC-7");
  await using server = await calling(["looker"]);
  const crash = `
const { existsSync } = require("node:fs");
const isOurs = process.argv[1]?.endsWith("jp.cjs");
if (isOurs) setInterval(() => { if (existsSync("CRASH")) throw new Error("boom"); }, 10).unref();`;
  const program = `(require("node:fs").writeFileSync("CRASH", ""), setTimeout(() => {}, 20000), "")`;
  const project = queryProject({
    server,
    tools: [{ ...LOOKER, program }],
    files: { "crash.cjs": crash },
  });
  const screen = new ScreenProcess(project, ["query", "one"], {
    variables: { NODE_OPTIONS: `--require=${path.join(project.root, "crash.cjs")}`, JP_DEBUG: "1" },
  });
  await screen.untilShown((lines) => lines.some((line) => line.startsWith("? The word?")));
  screen.type(`${CANARY}\r`);
  const { status, bytes } = await screen.end();
  const reports = readdirSync(project.root, { recursive: true, encoding: "utf8" }).filter((name) =>
    /report\.|\bcore\b/.test(name),
  );
  expect([
    status === 0,
    bytes.includes("boom"),
    hasSecret(bytes),
    filesWithSecret(project),
    reports,
  ]).toEqual([false, true, false, [], []]);
});

test.each([
  ["being typed", ""],
  ["sent", "\r"],
])(
  "a secret typed in a session is in no file, while the text for the next session is (%s)",
  async (_, end) => {
    counters("T-SEC-13");
    const { promise, resolve } = Promise.withResolvers<void>();
    const calls = [{ name: "asker" }];
    await using server = await ModelServer.start([
      { text: "I will call it", after: promise, rest: ".", calls },
      { text: "The beginning of it", hangs: true },
    ]);
    const questions = [{ id: "q", text: "The word?", answer_type: { type: "secret" } }];
    const program = "'got ' + tool.answers.q.length";
    const project = queryProject({ server, tools: [{ name: "asker", questions, program }] });
    const screen = await openSession(project);
    screen.type("one\r");
    await shows(screen, "I will call");
    for (const keys of ["queued\t", "half"]) screen.type(keys);
    await shows(screen, "» half");
    resolve();
    await shows(screen, "? The word?");
    screen.type(CANARY);
    await shows(screen, /^(?![^]*until you pause)[^]*something typed/);
    screen.type(end);
    await shows(screen, end === "" ? "? The word?" : "The beginning of");
    screen.signal("SIGHUP");
    const { bytes } = await screen.end();
    const drafts = path.join(project.data, "drafts");
    const kept = readdirSync(drafts, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json"))
      .map((name) => JSON.parse(readFileSync(path.join(drafts, name), "utf8")) as unknown);
    expect([kept, hasSecret(bytes), filesWithSecret(project)]).toEqual([
      [{ texts: ["half", "queued"] }],
      false,
      [],
    ]);
  },
);
