/** `jp serve` and `jp serve people`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { userInfo } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { TurnRunner } from "../../src/cli/command/serve/run-turns.ts";
import { createContext } from "../../src/cli/context.ts";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { createKey, publicKeyOf, signText } from "../../src/surfaces/desk/page/page-key.ts";
import { TLS } from "../../src/surfaces/desk/served.fixture.ts";
import { proofText } from "../../src/surfaces/desk/wire.ts";
import { hashOf, openPeople } from "../../src/settings/people/index.ts";
import { openStore, openWorkspace } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";
import { until } from "../mcp/support.ts";
import { counters } from "../security/threats.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { Collected, createHost, type Finished, runCommand } from "../support/command-host.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf } from "./query-project.ts";
import { ScreenProcess } from "./screen.ts";
import { JP, jsonLines, lines, LIST_LOADED, printed, Project } from "./support.ts";

interface Printed {
  readonly url: string;
  readonly login: string;
}

interface Running extends Printed {
  /** What was printed to standard error so far. */
  readonly notices: () => string;
  /** As Ctrl-C does. */
  readonly stop: () => Promise<Finished>;
}

/** In this process. */
async function start(project: Project, ...flags: readonly string[]): Promise<Running> {
  const interrupt = new AbortController();
  const { promise: output, resolve, reject } = Promise.withResolvers<string>();
  let notices = "";
  const finished = runCommand(["serve", "--format", "json", ...flags], {
    cwd: project.root,
    variables: project.variables,
    interrupt: interrupt.signal,
    onOutput: resolve,
    onNotice: (piece) => {
      notices += piece;
    },
  });
  void finished.then(({ stderr }) => reject(new Error(stderr)));
  const stop = () => {
    interrupt.abort();
    return finished;
  };
  onTestFinished(async () => void (await stop()));
  const { url, login } = JSON.parse(await output) as Printed;
  return { url, login, notices: () => notices, stop };
}

async function addPerson(project: Project, ...words: readonly string[]): Promise<string> {
  const { stdout } = await project.jp("serve", "people", "add", ...words);
  return stdout.trimEnd();
}

interface Reply {
  readonly status: number;
  readonly body: JsonObject;
}

/** A request to the API as a program makes it: see docs/desk.md. */
async function call(url: string, token: string, body?: JsonObject): Promise<Reply> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

interface Item {
  readonly workspace: string;
  readonly conversation: string;
  readonly id: string;
  readonly question: { readonly text: string };
  readonly digest: string;
}

async function firstPending(url: string, token: string): Promise<Item> {
  const { body } = await call(`${url}/api/v1/inquiries?state=pending`, token);
  const [item] = body["items"] as unknown as readonly Item[]; // As the API promises.
  if (item === undefined) throw new Error("nothing is waiting");
  return item;
}

/** Says yes. */
function answer(url: string, token: string, { conversation, id, digest }: Item): Promise<Reply> {
  const inquiry = `conversations/${conversation}/inquiries/${encodeURIComponent(id)}`;
  return call(`${url}/api/v1/${inquiry}/answer`, token, { answer: true, digest });
}

const SURE = { id: "sure", text: "Sure?", answer_type: { type: "boolean" } };

/** A turn that waits for the answer to a question of a tool. */
async function leaveQuestion(server: ModelServer): Promise<Project> {
  const tools = [{ name: "deploy", questions: [SURE] }];
  const project = queryProject({ server, tools });
  const { status } = await query(project, ["--new", "--defer", "Deploy."]);
  expect(status).toBe(4);
  return project;
}

const CALL = { calls: [{ name: "deploy" }] };

function isDone(project: Project): boolean {
  const said = entriesOf(recordOf(project), "chat_response");
  return said.some(({ content, message }) => (message ?? content) === "It is deployed.");
}

describe("with --run", () => {
  test("a turn continues once its question is answered over HTTP", async () => {
    await using server = await ModelServer.start([CALL, "It is deployed."]);
    const project = await leaveQuestion(server);
    const token = await addPerson(project, "ada");
    const child = spawn(process.execPath, [JP, "serve", "--run", "--format", "json"], {
      cwd: project.root,
      env: project.variables,
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const stderr = text(child.stderr);
    const [line = ""] = (await once(createInterface(child.stdout), "line")) as string[];
    const { url } = JSON.parse(line) as Printed;
    const stranger = await fetch(`${url}/api/v1/inquiries?state=pending`);
    const malformed = await fetch(`${url}/%ff`); // The build may leave out code that seems unused.
    const item = await firstPending(url, token);
    const answered = await answer(url, token, item);
    await until(() => isDone(project));
    child.kill("SIGTERM");
    const [status] = (await once(child, "close")) as [number | null];
    const [response] = entriesOf(recordOf(project), "inquiry_response");
    expect(malformed.status).toBe(400);
    expect({
      stranger: stranger.status,
      build: stranger.headers.get("jp-build"),
      text: item.question.text,
      answered,
      status,
      response,
    }).toEqual({
      stranger: 401,
      build: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
      text: "Sure?",
      answered: { status: 200, body: { type: "recorded" } },
      status: 0,
      response: expect.objectContaining({
        answer: true,
        answered_by: { kind: "user", channel: "desk", name: "ada", auth: "token" },
      }),
    });
    expect(await stderr).toContain(`${item.conversation}: Continuing the turn.\n`);
  });

  test("a turn that cannot be continued is reported, with the command to try", async () => {
    await using server = await ModelServer.start([CALL]);
    const project = await leaveQuestion(server);
    const token = await addPerson(project, "ada");
    const { url, notices } = await start(project, "--run");
    const item = await firstPending(url, token);
    await answer(url, token, item);
    const { root } = project;
    const advice = `To try it yourself: jp --workspace ${root} query --continue-turn --id ${item.conversation}\n`;
    await until(() => notices().endsWith(advice));
    expect(notices()).toContain(
      `warning: ${item.conversation}: the turn could not be continued: exit status 1.\n`,
    );
  });

  test("an answer that comes while the turn is running is not missed", async () => {
    await using server = await ModelServer.start([CALL]);
    const project = await leaveQuestion(server);
    const { root: cwd, variables } = project;
    const { promise: waiting, resolve } = Promise.withResolvers<void>();
    let notices = "";
    const stderr = new Collected((piece) => {
      notices += piece;
      if (piece.endsWith("waiting for another answer.\n")) resolve();
    });
    const context = await createContext(createHost({ cwd, variables }, { stderr }), {});
    await using runner = new TurnRunner(context);
    const { id } = recordOf(project);
    const ref = { conversation: id as ConversationId }; // It names a conversation of the store.
    runner.resume(ref, cwd);
    runner.resume(ref, cwd);
    await waiting;
    expect(notices.split("Continuing the turn.")).toHaveLength(3);
  });

  test("a turn is continued in the store that --store names", async () => {
    const { root: cwd, variables } = new Project();
    const ended = Promise.withResolvers<void>();
    let notices = "";
    const stderr = new Collected((piece) => {
      notices += piece;
      if (piece.endsWith("The turn is complete.\n")) ended.resolve();
    });
    const host = createHost({ cwd, variables }, { stderr });
    const program = "console.error(process.env.JP_STORE)";
    const store = "postgres://ana@127.0.0.1:1/jp";
    const context = await createContext(
      { ...host, self: [process.execPath, "--eval", program, "--"] },
      { store },
    );
    await using runner = new TurnRunner(context);
    runner.resume({ conversation: "jp-c1" as ConversationId }, cwd); // Any: nothing is read.
    await ended.promise;
    expect(notices).toContain(`jp-c1: ${store}\n`);
  });

  test("stopping the server stops the turn", async () => {
    await using server = await ModelServer.start([CALL, { text: "It is", hangs: true }]);
    const project = await leaveQuestion(server);
    const token = await addPerson(project, "ada");
    const { url, stop } = await start(project, "--run");
    const item = await firstPending(url, token);
    await answer(url, token, item);
    await until(() => server.requests.length === 2);
    const { status, stderr } = await stop();
    expect({ status, last: stderr.trimEnd().split("\n").at(-1) }).toEqual({
      status: 0,
      last: `${item.conversation}: Stopped with the server.`,
    });
  });
});

test("without --run, an answer is recorded and the turn is left for later", async () => {
  await using server = await ModelServer.start([CALL]);
  const project = await leaveQuestion(server);
  const token = await addPerson(project, "ada");
  const { url, stop } = await start(project);
  const me = await call(`${url}/api/v1/me`, token);
  const { status } = await answer(url, token, await firstPending(url, token));
  await stop();
  expect({ runs: me.body["runs"], status, requests: server.requests.length }).toEqual({
    runs: false,
    status: 200,
    requests: 1,
  });
});

test("--all serves the workspaces that jp knows, from anywhere", async () => {
  await using server = await ModelServer.start([CALL]);
  const project = await leaveQuestion(server);
  const token = await addPerson(project, "ada");
  const { url } = await start(project, "--all", "--workspace", "/");
  const { workspace, question } = await firstPending(url, token);
  const asked = question.text;
  expect({ workspace, asked }).toEqual({ workspace: project.root, asked: "Sure?" });
});

/** A database in which a question waits in each of these workspaces, and a machine without any of them. */
async function databaseOutside(...workspaces: readonly string[]) {
  const url = await migratedDatabase();
  const tenant = crypto.randomUUID();
  const place = async (workspace: string, events = WAITING) => {
    const store = await openStore(url, { tenant, workspace });
    const writer = await store.create({});
    await writer.append(...events);
    await writer.release();
    await store.close?.();
  };
  for (const workspace of workspaces) await place(workspace);
  const project = new Project({ isBare: true });
  const configure = (more = "", { home }: Project = project) => {
    const folder = path.join(home, ".config", "jp");
    mkdirSync(folder, { recursive: true });
    const config = lines("[storage]", `url = "${url}"`, `tenant = "${tenant}"`, more);
    writeFileSync(path.join(folder, "config.toml"), config);
  };
  configure();
  return { project, configure, place };
}

async function workspacesOf(url: string, token: string): Promise<readonly unknown[]> {
  const { body } = await call(`${url}/api/v1/inquiries?state=pending`, token);
  return (body["items"] as readonly JsonObject[]).map(({ workspace }) => workspace);
}

describe("with a database and without a clone of the workspace", () => {
  test("--all serves all workspaces of the tenant, by their names", async () => {
    const { project } = await databaseOutside("api", "web");
    const token = await addPerson(project, "ada");
    const { url } = await start(project, "--all");
    expect(await workspacesOf(url, token)).toEqual(["api", "web"]);
    const listed = await project.jp("inquiry", "ls", "--pending", "--all", "--format", "json");
    expect(jsonLines(listed)).toMatchObject([{ workspace: "api" }, { workspace: "web" }]);
    const item = await firstPending(url, token);
    const address = `${url}/api/v1/conversations/${item.conversation}/inquiries/${item.id}/answer`;
    const answered = await call(`${address}?workspace=api`, token, { answer: true });
    expect([answered.status, await workspacesOf(url, token)]).toEqual([200, ["web"]]);
  });

  test("a person added at one desk answers at another, and one removed there is refused here", async () => {
    counters("T-DESK-6");
    const { project, configure } = await databaseOutside("api");
    const other = new Project({ isBare: true });
    configure("", other);
    const [here, there] = [await start(project, "--all"), await start(other, "--all")];
    const token = await addPerson(project, "ada", "--roles", "finance");
    const item = await firstPending(there.url, token);
    expect((await answer(there.url, token, item)).status).toBe(200);
    await other.jp("serve", "people", "set", "ada", "--rights", "see");
    expect((await project.jp("serve", "people", "ls")).stdout).toBe("ada (see; roles: finance)\n");
    await project.jp("serve", "people", "rm", "ada");
    for (const { url } of [here, there]) {
      const statusThere = async () => (await call(`${url}/api/v1/me`, token)).status;
      await expect.poll(statusThere, { timeout: 10_000 }).toBe(401);
    }
    expect(existsSync(path.join(project.data, "people.json"))).toBe(false);
  });

  test("a role that someone is given on one machine counts on the terminals of another", async () => {
    counters("T-PEOPLE-1");
    const { project, configure, place } = await databaseOutside();
    const forAny = [{ role: "finance" }];
    await place(
      "api",
      WAITING.map((event) => (event.type === "inquiry_request" ? { ...event, forAny } : event)),
    );
    const other = new Project({ isBare: true });
    configure("", other);
    configure('workspace = "api"');
    const yes = () => project.jp("inquiry", "answer", "a.q.1", "yes");
    await addPerson(other, "ada", "--os-user", userInfo().username);
    expect((await yes()).stderr).toContain("only someone with the role finance can answer this");
    await other.jp("serve", "people", "set", "ada", "--roles", "finance");
    expect((await yes()).status).toBe(0);
  });

  test("jp doctor warns if the people of the machine are not in the database", async () => {
    const { project, configure } = await databaseOutside();
    configure('workspace = "api"');
    await project.jp("--store", "files", "serve", "people", "add", "ada");
    const warning = "the people of this machine do not count with a database";
    expect((await project.jp("doctor")).stdout.replaceAll(/\s+/g, " ")).toContain(warning);
    await addPerson(project, "ada");
    expect((await project.jp("doctor")).stdout.replaceAll(/\s+/g, " ")).not.toContain(warning);
  });

  test("storage.workspace names the one that is served, listed and answered", async () => {
    const { project, configure } = await databaseOutside("api", "web");
    configure('workspace = "web"');
    const token = await addPerson(project, "ada");
    const { url } = await start(project);
    expect(await workspacesOf(url, token)).toEqual(["web"]);
    const answered = await project.jp("inquiry", "answer", "a.q.1", "yes");
    expect([answered.status, (await project.jp("inquiry", "ls", "--pending")).stderr]).toEqual([
      0,
      "Nothing is waiting.\n",
    ]);
  });

  test("says what to do if no workspace is named, or turns are to run", async () => {
    const { project, configure } = await databaseOutside("api");
    const unnamed = await project.jp("serve");
    expect([unnamed.status, unnamed.stderr]).toEqual([
      2,
      expect.stringContaining("jp serve --all"),
    ]);
    const listed = await project.jp("inquiry", "ls", "--pending");
    expect([listed.status, listed.stderr]).toEqual([
      1,
      expect.stringContaining("JP_CFG_STORAGE_WORKSPACE"),
    ]);
    configure('workspace = "api"');
    const running = [
      await project.jp("serve", "--run"),
      await project.jp("serve", "--all", "--run"),
    ];
    for (const { status, stderr } of running) {
      expect([status, stderr]).toEqual([2, expect.stringContaining("needs a clone")]);
    }
  });
});

test("--all shows what clones share once", async () => {
  const project = new Project();
  const clone = path.join(path.dirname(project.root), "clone");
  mkdirSync(path.join(clone, ".jp"), { recursive: true });
  writeFileSync(path.join(clone, ".jp", ".id"), "abc12");
  const { root: from, variables, home } = project;
  const environment = { variables, home, platform: process.platform };
  const options = { from, environment, clock: systemClock, pid: process.pid };
  await using writer = await openWorkspace(options).conversations.create({ isLocal: true });
  await writer.append(...WAITING);
  const token = await addPerson(project, "ada");
  const { url } = await start(project, "--all", "--workspace", clone);
  const lists = ["inquiries?state=pending", "inquiries", "conversations"];
  const counts = lists.map(async (list) => {
    const { body } = await call(`${url}/api/v1/${list}`, token);
    return (body["items"] as readonly unknown[]).length; // Of every list.
  });
  expect(await Promise.all(counts)).toEqual([1, 1, 1]);
});

test("the link logs the owner in once, and each login is on record in a private file", async () => {
  const project = new Project();
  const { url, login } = await start(project);
  const [, code] = login.split("#login=");
  const pair = await createKey();
  const send = (operation: string, body: object) =>
    fetch(`${url}/api/v1/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const post = async () => {
    const { nonce } = (await (await send("challenge", {})).json()) as { nonce: string };
    const signature = await signText(pair, proofText(new URL(login).origin, nonce));
    const proof = { key: await publicKeyOf(pair), nonce, signature, login: code };
    return (await send("session", proof)).status;
  };
  const statuses = [await post(), await post()];
  const file = path.join(project.data, "desk-audit.jsonl");
  const audit = readFileSync(file, "utf8").trimEnd().split("\n");
  const entries = audit.map((line) => JSON.parse(line) as JsonObject);
  expect({
    statuses,
    what: entries.map(({ what }) => what),
    mode: statSync(file).mode & 0o777,
    hasCode: audit.join("").includes(code ?? ""),
  }).toEqual({
    statuses: [200, 401],
    what: ["login", "login_refused"],
    mode: 0o600,
    hasCode: false,
  });
});

test("the file of logins does not grow without limit", async () => {
  counters("T-DESK-5");
  const project = new Project();
  const file = path.join(project.data, "desk-audit.jsonl");
  const { url } = await start(project);
  writeFileSync(file, "x".repeat((4 << 20) + 1));
  await call(`${url}/api/v1/me`, "wrong");
  await call(`${url}/api/v1/me`, "wrong");
  const old = path.join(project.data, "desk-audit.old.jsonl");
  expect([readFileSync(file, "utf8").split("\n").length, statSync(old).size]).toEqual([
    3,
    (4 << 20) + 1,
  ]);
});

test("on a terminal, Enter prints another link and Ctrl-C stops the server", async () => {
  const project = new Project();
  const screen = new ScreenProcess(project, ["serve"], { columns: 200 });
  await screen.until("Press Enter for another link, Ctrl-C to stop.");
  const links = () => screen.lines.filter((line) => line.startsWith("http://jp-"));
  screen.type("\r");
  await screen.untilShown(() => links().length === 2);
  screen.type("\u0003");
  const { status, lines: shown } = await screen.end();
  const { column } = screen.cursor; // The shell's prompt comes next.
  expect({ status, first: shown[0], links: new Set(links()).size, column }).toEqual({
    status: 0,
    first: `Serving ${project.root}. To log in, open this link; it works once:`,
    links: 2,
    column: 0,
  });
});

const ELSEWHERE = ["--origin", "https://desk.example"];

/** What a terminal shows once the server runs. */
async function shownBy(flags: readonly string[], columns: number, variables = {}) {
  const screen = new ScreenProcess(new Project(), ["serve", ...flags], { columns, variables });
  await screen.until("Ctrl-C to stop.");
  const shown = screen.lines.join("\n");
  screen.type("\u0003");
  await screen.end();
  return shown;
}

describe("the QR code of the link", () => {
  test("is printed on a terminal, if other machines can open the link", async () => {
    const shown = await shownBy(ELSEWHERE, 80);
    expect(shown).toMatch(/#login=\S+\n\n? *[▀▄█ ]+\n/);
  });

  test("is not printed for a link of this machine only, unless it is asked for", async () => {
    const local = await shownBy([], 200);
    const wanted = await shownBy(["--qr"], 200);
    expect([local.includes("▀"), wanted.includes("▀"), wanted]).toEqual([
      false,
      true,
      expect.stringContaining("Only this machine can open the link"),
    ]);
  });

  test("is not printed if it is not wanted, in plain mode, or on a terminal that is too narrow", async () => {
    const unwanted = await shownBy([...ELSEWHERE, "--no-qr"], 80);
    const plain = await shownBy(ELSEWHERE, 80, { JP_PLAIN: "1" });
    const narrow = await shownBy(ELSEWHERE, 30);
    expect([unwanted, plain, narrow].map((shown) => shown.includes("▀"))).toEqual([
      false,
      false,
      false,
    ]);
    expect(narrow.replaceAll("\n", "")).toContain("No QR code: the terminal is too");
  });

  test("is never written to a file or a pipe", async () => {
    counters("T-DESK-6");
    const project = new Project();
    const interrupt = new AbortController();
    const { promise: output, resolve } = Promise.withResolvers<string>();
    const finished = runCommand(["serve", ...ELSEWHERE, "--qr"], {
      cwd: project.root,
      variables: project.variables,
      interrupt: interrupt.signal,
      onOutput: resolve,
    });
    await output;
    interrupt.abort();
    const { stdout, stderr } = await finished;
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/^https:\/\/desk\.example\/#login=\S+\n$/),
      expect.stringContaining("No QR code: the output is not a terminal."),
    ]);
  });

  test("is not part of JSON", async () => {
    const { status } = await new Project().jp("serve", "--qr", "--format", "json");
    expect(status).toBe(2);
  });
});

/** A workspace with a certificate and its key. */
function projectWithCertificate(): Project {
  const project = new Project();
  writeFileSync(path.join(project.root, "cert.pem"), TLS.cert);
  writeFileSync(path.join(project.root, "key.pem"), TLS.key);
  return project;
}

const CERTIFICATE = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

test("with a certificate, it serves HTTPS", async () => {
  const { url } = await start(projectWithCertificate(), ...CERTIFICATE);
  const request = get(url, { ca: TLS.cert, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  expect([new URL(url).protocol, response.statusCode]).toEqual(["https:", 200]);
});

test("behind a proxy, it prints the address that people open", async () => {
  const origin = "https://desk.example";
  const { url, login } = await start(new Project(), "--host", "0.0.0.0", "--origin", origin);
  expect([url, login.startsWith(`${origin}/#login=`)]).toEqual([origin, true]);
});

const EMAIL_RECIPE = "docs/notifications.md#send-an-e-mail";

describe("jp serve fails", () => {
  test.each([
    [
      ["--host", "0.0.0.0"],
      lines(
        "jp: --host 0.0.0.0 needs HTTPS: others on the network could read what you see and send.",
        "Pass --tls-cert and --tls-key. If a proxy in front of jp serves HTTPS, pass its address: --origin https://…",
      ),
    ],
    [
      ["--host", "::", "--tls-cert", "cert.pem", "--tls-key", "key.pem"],
      lines("jp: Cannot read cert.pem: ENOENT: no such file or directory, open 'FOLDER/cert.pem'."),
    ],
    [
      ["--port", "99999"],
      lines(
        "jp: option '--port <number>' argument '99999' is invalid. Expected a whole number up to 65535.",
        "For usage: jp serve --help",
      ),
    ],
    [["--tls-cert", "cert.pem"], lines("jp: Pass both --tls-cert and --tls-key, or neither.")],
    [
      ["--tls-cert", ".jp/.id", "--tls-key", ".jp/.id"],
      expect.stringMatching(/^jp: Cannot use \.jp\/\.id with \.jp\/\.id: .*PEM/s),
    ],
    [
      ["--origin", "https://desk.example/path"],
      lines(
        "jp: --origin https://desk.example/path is not an address such as https://desk.example.",
      ),
    ],
    [
      ["--origin", "http://desk.example"],
      lines("jp: --origin http://desk.example must begin with https://"),
    ],
  ])("with %j", async (flags, message) => {
    const project = new Project();
    const { status, stdout, stderr } = await project.jp("serve", ...flags);
    expect({ status, stdout, stderr: stderr.replaceAll(project.root, "FOLDER") }).toEqual({
      status: 2,
      stdout: "",
      stderr: message,
    });
  });

  test("on all addresses of the machine, without the one that people open", async () => {
    const flags = ["--host", "0.0.0.0", ...CERTIFICATE];
    expect(await projectWithCertificate().jp("serve", ...flags)).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(
        "jp: --host 0.0.0.0 needs --origin: the address that people open.",
        "For example: --port 8443 --origin https://my-machine.example:8443",
      ),
    });
  });

  test("if the port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo; // It listens on a port.
    expect(await new Project().jp("serve", "--port", `${port}`)).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        `jp: Port ${port} of 127.0.0.1 is in use.`,
        "Choose another port with --port, or omit it to use any free port.",
      ),
    });
  });

  test("if the config still has notify.email, which is a warning for other commands", async () => {
    const project = new Project();
    const file = path.join(project.root, ".jp", "config.toml");
    writeFileSync(file, '[notify.email]\nserver = "mx.example.org"\n');
    const [served, listed] = [
      await project.jp("serve"),
      await project.jp("config", "show", "user"),
    ];
    const warning = `warning: ${file}:1: notify.email: not supported: jp no longer sends e-mails itself; notify.command can: see ${EMAIL_RECIPE}`;
    expect([served, { status: listed.status, stderr: listed.stderr }]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr: lines(
          warning,
          "jp: The config has notify.email, and jp no longer sends e-mails itself.",
          `To send them with notify.command: ${EMAIL_RECIPE}`,
        ),
      },
      { status: 0, stderr: lines(warning) },
    ]);
  });

  test("if the page was not built", async () => {
    const { root, variables, temporary } = new Project();
    const result = await runCommand(["serve"], { cwd: root, variables, dist: temporary });
    expect(result).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        `jp: The page is missing: ${path.join(temporary, "desk")} has no index.html.`,
        "Install jp again, or run `npm run build` in its clone.",
      ),
    });
  });

  test("in a folder that does not exist, and with --all if jp knows no workspace", async () => {
    const project = new Project({ isBare: true });
    const alone = await project.jp("serve", "-w", "gone");
    const all = await project.jp("serve", "--all");
    expect([alone, all].map(({ status, stderr }) => [status, stderr.split("\n")[0]])).toEqual([
      [1, `jp: There is no folder ${path.join(project.root, "gone")}.`],
      [1, "jp: jp knows no workspace on this machine yet."],
    ]);
  });
});

describe("jp serve people", () => {
  test("add prints the token alone, ls lists names and rights, rm removes", async () => {
    const project = new Project({ isBare: true });
    const people = (...words: readonly string[]) => project.jp("serve", "people", ...words);
    const ada = await people("add", "ada");
    const bob = await people("add", "bob", "--rights", "see");
    const listed = await people("ls");
    const json = await people("ls", "--format", "json");
    const removed = await people("rm", "ada");
    const left = await people("ls");
    const stored = readFileSync(path.join(project.data, "people.json"), "utf8");
    expect(ada).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^\S{40,}\n$/),
      stderr: lines(
        "Added ada (see, answer, approve). Their token, which jp will not show again:",
        "They enter it on the page; programs send it as Authorization: Bearer TOKEN.",
      ),
    });
    const id = expect.stringMatching(/^p_[0-9a-f]{32}$/) as unknown;
    expect([listed, left, removed, jsonLines(json)]).toEqual([
      printed(lines("ada (see, answer, approve)", "bob (see)")),
      printed(lines("bob (see)")),
      { status: 0, stdout: "", stderr: lines("Removed ada. Their token no longer works.") },
      [
        { id, name: "ada", rights: ["see", "answer", "approve"], roles: [] },
        { id, name: "bob", rights: ["see"], roles: [] },
      ],
    ]);
    expect(stored).not.toContain(bob.stdout.trimEnd());
  });

  test.each([
    [
      ["add", "ada", "--rights", "see,rule"],
      2,
      "jp: --rights see,rule: expected one or more of see,answer,approve,administer.",
    ],
    [["rm", "ada"], 1, "jp: No person is called ada."],
    [["add"], 2, "jp: missing required argument 'name'"],
  ])("%j fails", async (words, status, message) => {
    const project = new Project({ isBare: true });
    const result = await project.jp("serve", "people", ...words);
    expect([result.status, result.stderr.split("\n")[0]]).toEqual([status, message]);
  });

  test.each(["Olga", "\u043elga"])("add warns about your own name: %s", async (name) => {
    counters("T-DESK-7");
    const project = new Project();
    writeFileSync(path.join(project.root, ".jp", "config.toml"), '[user]\nname = "olga"\n');
    const { stderr } = await project.jp("serve", "people", "add", name);
    expect(stderr).toContain("warning: olga is your own name");
  });

  test("token prints another token for the same person", async () => {
    const project = new Project({ isBare: true });
    const before = await addPerson(project, "ada");
    const renewed = await project.jp("serve", "people", "token", "ada");
    const people = openPeople(project.data);
    const found = await people.findByHash(hashOf(renewed.stdout.trimEnd()));
    expect([found?.name, await people.findByHash(hashOf(before)), renewed.stderr]).toEqual([
      "ada",
      undefined,
      lines(
        "Another token for ada, which jp will not show again:",
        "The one before no longer works, and their sessions have ended.",
      ),
    ]);
    expect((await project.jp("serve", "people", "token", "bob")).status).toBe(1);
  });

  test("link prints a link for one person, and needs the address of the page", async () => {
    const project = new Project({ isBare: true });
    const link = (...words: readonly string[]) => project.jp("serve", "people", "link", ...words);
    await addPerson(project, "ada");
    const local = "http://jp-1.localhost:8080";
    const { stdout, stderr } = await link("ada", "--origin", local);
    const [, code = ""] = stdout.trimEnd().split(`${local}/#passkey=`);
    const people = openPeople(project.data);
    const [ada] = await people.list();
    expect([await people.hasLink(ada?.id ?? "", hashOf(code)), stderr]).toEqual([
      true,
      lines(
        "With this link, ada adds a passkey. It works once, for 24 hours:",
        "They open it and log in with their own token.",
      ),
    ]);
    const failed = [
      await link("ada"),
      await link("ada", "--origin", "http://desk.example"),
      await link("bob", "--origin", local),
    ];
    expect(failed.map(({ status }) => status)).toEqual([2, 2, 1]);
  });

  test("confirm says what was confirmed, and ls, set and log say where an account comes from", async () => {
    counters("T-PEOPLE-8");
    const project = new Project({ isBare: true });
    const run = (...words: readonly string[]) => project.jp("serve", "people", ...words);
    await addPerson(project, "ada", "--rights", "see,administer");
    const people = openPeople(project.data);
    const [ada] = await people.list();
    await people.as({ channel: "desk", id: ada?.id ?? "", name: "ada" }).add("bob", ["see"]);
    const listed = await run("ls");
    const changed = await run("set", "bob", "--roles", "finance");
    const confirmed = [await run("confirm", "Bob"), await run("confirm", "bob")];
    expect([listed.stdout, changed.stderr, ...confirmed.map(({ stderr }) => stderr)]).toEqual([
      lines("ada (see, administer)", "bob (see; added at the desk by ada; not confirmed)"),
      lines(
        "Changed bob (see; roles: finance; added at the desk by ada; not confirmed).",
        "warning: They were added at the desk, and do not count until you confirm them: jp serve people confirm bob",
      ),
      lines("Confirmed bob (see; roles: finance; added at the desk by ada)."),
      lines("bob counts already."),
    ]);
    const by = userInfo().username;
    const log = (await run("log")).stdout.replaceAll(/^.{19}|p_[0-9a-f]{32}/gm, "-");
    expect(log).toBe(
      lines(
        `- ada (-): added on the command line by ${by} (see, administer)`,
        "- bob (-): added at the desk by ada (see)",
        `- bob (-): changed on the command line by ${by} (roles: finance)`,
        `- bob (-): confirmed on the command line by ${by}`,
      ),
    );
    expect(jsonLines(await run("log", "--format", "json"))).toMatchObject([
      { what: "person_added", by: { channel: "cli", os_user: by } },
      { what: "person_added", by: { channel: "desk", person_id: ada?.id, name: "ada" } },
      { what: "person_changed", roles: ["finance"] },
      { what: "person_confirmed" },
    ]);
  });

  test("key add and key rm tell of it through the channels of notify", async () => {
    counters("T-SIGN-5");
    const project = new Project();
    const [file, folder] = ["told.jsonl", ".config/jp"].map((name) =>
      path.join(project.home, name),
    ) as [string, string];
    const keep = `fs.appendFileSync(${JSON.stringify(file)}, fs.readFileSync(0))`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      path.join(folder, "config.toml"),
      lines(
        "[notify.command]",
        `program = ${JSON.stringify(process.execPath)}`,
        `args = ["-e", ${JSON.stringify(keep)}]`,
      ),
    );
    await addPerson(project, "ada");
    const added = await project.jp("serve", "people", "key", "add", "ada", "--new");
    const [, id = ""] = /signs with (\S+),/.exec(added.stderr) ?? [];
    await project.jp("serve", "people", "key", "rm", "ada", id);
    const told = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(told.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { type: "people.key_changed", data: { what: "key_added", name: "ada", key: id } },
      { type: "people.key_changed", data: { what: "key_removed", name: "ada", key: id } },
    ]);
  });

  test("completion offers the names of people", async () => {
    const project = new Project({ isBare: true });
    await addPerson(project, "ada");
    expect(await project.jp("complete", "--", "serve", "people", "rm", "")).toEqual(
      printed("ada\tsee, answer, approve\n"),
    );
  });
});

test("no other command loads any part of the desk", async () => {
  const project = new Project();
  const listLoaded = path.join(project.home, "list-loaded.cjs");
  writeFileSync(
    listLoaded,
    `${LIST_LOADED} process.on("exit", () => console.log(JSON.stringify(loaded)));`,
  );
  const variables = { NODE_OPTIONS: `--require ${listLoaded}` };
  const hasDesk = async (...words: readonly string[]) => {
    const finished = await project.jpProcessWith(variables, ...words);
    const files = jsonLines(finished).at(-1) as readonly string[];
    return files.some((file) => /people\.json|idempotency-key/.test(readFileSync(file, "utf8")));
  };
  const [own, other] = await Promise.all([
    hasDesk("serve", "people", "ls"),
    hasDesk("inquiry", "ls", "--pending", "--all"),
  ]);
  expect({ own, other }).toEqual({ own: true, other: false });
});
