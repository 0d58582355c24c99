/** `jp mcp serve`, for clients and on the command line. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import {
  Client,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { isRunning, until } from "../mcp/support.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { base64, call, permission, time } from "./records.ts";
import { placeRelease } from "./samples.ts";
import { Screen } from "./screen.ts";
import { JP, jsonLines, lines, Project } from "./support.ts";

const SURE = { question: "Sure?", answer_type: "boolean" };
const YES = '{"answer_type":"boolean","answer":true}';
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
const ERAS = [
  ["of the 2025 protocol", {}],
  ["of the 2026 protocol", MODERN],
] as const;

type Elicited = () => ElicitResult | Promise<ElicitResult>;

function createClient(elicit?: Elicited, era: (typeof ERAS)[number][1] = {}): Client {
  const capabilities = elicit === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "tester", version: "1" }, { capabilities, ...era });
  if (elicit !== undefined) client.setRequestHandler("elicitation/create", async () => elicit());
  onTestFinished(() => client.close());
  return client;
}

async function overStdio(project: Project, client: Client): Promise<StdioClientTransport> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [JP, "mcp", "serve"],
    cwd: project.root,
    env: { ...project.variables },
    stderr: "inherit",
  });
  await client.connect(transport);
  return transport;
}

/** Connects to the address that the server prints, with its token. */
async function overHttp(screen: Screen, client: Client, token?: string): Promise<void> {
  await screen.until("stop the server.");
  const [, url = ""] = /Listening on (\S+)/.exec(screen.bytes) ?? [];
  const [, shown = ""] = /Bearer (\S+)/.exec(screen.bytes) ?? [];
  const headers = { authorization: `Bearer ${token ?? shown}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
}

async function callTool(client: Client, name: string, args: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [first] = content;
  return { text: first?.type === "text" ? first.text : "", isError: isError ?? false };
}

/** The outcome of every question in the record, and who answered. */
async function inquiries(project: Project): Promise<readonly unknown[]> {
  const rows = jsonLines(await project.jp("inquiry", "ls", "--format", "json"));
  return rows.map((row) => {
    const { outcome, reason, answer, answered_by: by } = row as Record<string, unknown>;
    return { outcome, ...(outcome === "answered" ? { answer, by } : { reason }) };
  });
}

const ANSWERED = {
  outcome: "answered",
  answer: true,
  by: { kind: "user", channel: "mcp:tester", auth: "client" },
};
const accept: Elicited = () => ({ action: "accept", content: { answer: true } });

describe.each(ERAS)("over stdio, with a client %s", (_, era) => {
  test("it asks through the client and records the question", async () => {
    const project = new Project();
    const client = createClient(accept, era);
    await overStdio(project, client);
    const { tools } = await client.listTools();
    const result = await callTool(client, "ask_user", SURE);
    const listed = await callTool(client, "list_inquiries", {});
    const printed = await project.jp("inquiry", "ls", "--format", "json");
    const shown = await project.jp("conversation", "print", "newest");
    expect({
      tools: tools.map(({ name }) => name),
      result,
      listed: listed.text,
      inquiries: await inquiries(project),
      shown: shown.stdout.split("\n").slice(1),
    }).toEqual({
      tools: ["ask_user", "list_inquiries"],
      result: { text: YES, isError: false },
      listed: printed.stdout.trimEnd(),
      inquiries: [ANSWERED],
      shown: expect.arrayContaining([expect.stringContaining("Sure?")]),
    });
  });

  test("the call fails if the client cannot ask", async () => {
    const project = new Project();
    const client = createClient(undefined, era);
    await overStdio(project, client);
    const { isError } = await callTool(client, "ask_user", SURE);
    expect([isError, await inquiries(project)]).toEqual([
      true,
      [{ outcome: "cancelled", reason: "no_prompt_backend" }],
    ]);
  });

  test("it closes open questions and exits when the client disconnects", async () => {
    const project = new Project();
    const opened = Promise.withResolvers<void>();
    const client = createClient(() => {
      opened.resolve();
      return new Promise(() => undefined);
    }, era);
    const transport = await overStdio(project, client);
    const { pid } = transport;
    // The client's user never answers.
    void callTool(client, "ask_user", SURE).catch(() => undefined);
    await opened.promise;
    await client.close();
    await until(() => pid !== null && !isRunning(pid));
    expect(await inquiries(project)).toEqual([{ outcome: "cancelled", reason: "interrupted" }]);
  });
});

test("over stdio, jp mcp serve leaves the terminal to the client", async () => {
  const project = new Project();
  const clientInfo = { name: "x", version: "1" };
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const requests = [
    { id: 1, method: "initialize", params: hello },
    { id: 2, method: "tools/call", params: { name: "ask_user", arguments: SURE } },
  ];
  const [input, answers] = ["requests", "answers"].map((name) => path.join(project.home, name));
  const sent = requests.map((request) => JSON.stringify({ jsonrpc: "2.0", ...request }));
  writeFileSync(input ?? "", lines(...sent));
  const script = `{ cat ${input}; read key; } | ${process.execPath} ${JP} mcp serve > ${answers}; echo over`;
  const screen = new PseudoTerminal("/bin/sh", ["-c", script], {
    folder: project.root,
    variables: project.variables,
  });
  const read = () => (existsSync(answers ?? "") ? readFileSync(answers ?? "", "utf8") : "");
  await until(() => read().includes('"id":2'));
  screen.type("\r");
  const { status, lines: shown } = await screen.end();
  expect({ status, shown, isRefused: read().includes('"isError":true') }).toEqual({
    status: 0,
    shown: ["", "over"],
    isRefused: true,
  });
});

test("over stdio, jp mcp serve exits cleanly on a signal, with no other output", async () => {
  const project = new Project();
  const child = spawn(process.execPath, [JP, "mcp", "serve"], {
    cwd: project.root,
    env: project.variables,
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const hello = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "x", version: "1" },
  };
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`,
  );
  await once(child.stdout, "readable");
  child.kill("SIGTERM");
  const [status] = (await once(child, "close")) as [number | null];
  const [stdout, stderr] = await output;
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: number }).id);
  expect({ status, ids, stderr }).toEqual({ status: 0, ids: [1], stderr: "" });
});

test("list_inquiries takes the filters of the command line", async () => {
  const project = new Project();
  const { id } = placeRelease(project);
  const client = createClient();
  await overStdio(project, client);
  const filter = { conversation: [id], outcome: ["answered"], by: ["user"] };
  const [listed, limited, wrong, nowhere] = await Promise.all([
    callTool(client, "list_inquiries", filter),
    callTool(client, "list_inquiries", { limit: 1 }),
    callTool(client, "list_inquiries", { outcome: ["lost"] }),
    callTool(client, "list_inquiries", { conversation: ["nothing of that name"] }),
  ]);
  const flags = ["--conversation", id, "--outcome", "answered", "--by", "user"];
  const printed = await project.jp("inquiry", "ls", "--format", "json", ...flags);
  const all = await project.jp("inquiry", "ls", "--format", "json");
  expect({
    isEmpty: printed.stdout === "",
    listed: lines(listed.text),
    limited: limited.text,
    errors: [wrong.isError, nowhere.isError],
    nowhere: nowhere.text.split("\n")[0],
  }).toEqual({
    isEmpty: false,
    listed: printed.stdout,
    limited: all.stdout.trimEnd().split("\n").at(-1),
    errors: [true, true],
    nowhere: 'No conversation has "nothing of that name" in its title.',
  });
});

test("list_inquiries leaves out what tools returned: the user may have kept it from models", async () => {
  const project = new Project();
  const delivery = { tool_call_id: "call_1", tool: "fetch", action: "deliver" };
  const result = { content: base64("one"), is_error: false };
  const other = { content: base64("two"), is_error: false };
  project.place({
    second: 0,
    config: {},
    events: [
      call(1, "call_1", "fetch"),
      {
        timestamp: time(2),
        type: "permission_request",
        id: "d",
        ...delivery,
        result,
      },
      permission(3, "call_1", { id: "d", ...delivery, decision: "edited", result: other }),
    ],
  });
  const [row] = jsonLines(await project.jp("inquiry", "ls", "--format", "json"));
  const { result: shown, edited_content: edited, ...rest } = row as Record<string, unknown>;
  expect([shown, edited]).toEqual([{ content: "one", is_error: false }, "two"]);
  const client = createClient();
  await overStdio(project, client);
  const { text: listed } = await callTool(client, "list_inquiries", {});
  expect(JSON.parse(listed)).toEqual(rest);
});

test("a disabled tool is not offered", async () => {
  const project = new Project();
  const config = "[conversation.tools.ask_user]\nenable = false\n";
  writeFileSync(path.join(project.root, ".jp", "config.toml"), config);
  const client = createClient();
  await overStdio(project, client);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["list_inquiries"]);
});

describe("over HTTP", () => {
  test.each(ERAS)("the terminal asks for a client %s that cannot", async (_, era) => {
    const project = new Project();
    const screen = new Screen(project, ["mcp", "serve", "--http"]);
    const client = createClient(undefined, era);
    await overHttp(screen, client);
    const result = callTool(client, "ask_user", SURE);
    await screen.until("Assistant of tester");
    await screen.until("Sure?");
    screen.type("y");
    expect((await result).text).toBe(YES);
    screen.type("\u0003");
    const { status } = await screen.end();
    expect([status, await inquiries(project)]).toEqual([
      0,
      [{ ...ANSWERED, by: { kind: "user", channel: "terminal", auth: "os_user" } }],
    ]);
  });

  test.each(ERAS)("a client %s that can ask does, not the terminal", async (_, era) => {
    const project = new Project();
    const screen = new Screen(project, ["mcp", "serve", "--http", "--token-env", "TOKEN"], {
      variables: { TOKEN: "0123456789abcdef" },
    });
    const client = createClient(accept, era);
    await overHttp(screen, client, "0123456789abcdef");
    expect((await callTool(client, "ask_user", SURE)).text).toBe(YES);
    expect([screen.bytes.includes("Sure?"), screen.bytes.includes("0123456789abcdef")]).toEqual([
      false,
      false,
    ]);
    expect(await inquiries(project)).toEqual([ANSWERED]);
  });

  test("--non-interactive keeps the terminal from asking", async () => {
    const project = new Project();
    const screen = new Screen(project, ["mcp", "serve", "--http", "--non-interactive"]);
    const client = createClient();
    await overHttp(screen, client);
    const { isError } = await callTool(client, "ask_user", SURE);
    expect([isError, screen.bytes.includes("Sure?")]).toEqual([true, false]);
  });

  test("Ctrl-C closes an open question in the record", async () => {
    const project = new Project();
    const screen = new Screen(project, ["mcp", "serve", "--http"]);
    const opened = Promise.withResolvers<void>();
    const client = createClient(() => {
      opened.resolve();
      return new Promise(() => undefined);
    }, MODERN);
    await overHttp(screen, client);
    // The client's user never answers.
    void callTool(client, "ask_user", SURE).catch(() => undefined);
    await opened.promise;
    screen.type("\u0003");
    const { status } = await screen.end();
    await client.close();
    expect([status, await inquiries(project)]).toEqual([
      0,
      [{ outcome: "cancelled", reason: "interrupted" }],
    ]);
  });
});

describe("jp mcp serve fails", () => {
  test.each([
    [["--port", "1234"], "jp: --port and --token-env need --http."],
    [["--token-env", "TOKEN"], "jp: --port and --token-env need --http."],
    [
      ["--http", "--token-env", "NOT_THERE"],
      "jp: NOT_THERE is not set to a token.\nSet it to at least 16 random characters.",
    ],
  ])("with %j", async (flags, message) => {
    const project = new Project();
    expect(await project.jp("mcp", "serve", ...flags)).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(message),
    });
  });

  test("in a folder that does not exist", async () => {
    const project = new Project({ isBare: true });
    const { status, stderr } = await project.jp("mcp", "serve", "-w", "gone");
    expect([status, stderr.split("\n")[0]]).toEqual([
      1,
      `jp: There is no folder ${path.join(project.root, "gone")}.`,
    ]);
  });
});
