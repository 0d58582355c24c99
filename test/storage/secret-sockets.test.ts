/** Where processes wait for secrets, who can reach them there, and what killed ones leave behind. */
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { closed } from "../../src/record/conversation/events.fixture.ts";
import { SecretAnswer, StreamEntry } from "../../src/record/conversation/index.ts";
import { SecretSockets } from "../../src/stores/fs/secret-sockets.ts";
import { type AnswerListener, answerPending, type AnswerTarget } from "../../src/stores/index.ts";
import { WAITING_FOR_SECRET } from "../../src/stores/open-question.fixture.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { ChildProgram } from "../support/child-program.ts";

const ANSWERED_BY = { kind: "user", channel: "desk", name: "Ana" } as const;
const REDACTED = closed("a.q.1", { outcome: "redacted", answeredBy: ANSWERED_BY });
const RECORDED = { type: "recorded" } as const;
const NOT_ASKED = {
  type: "refused",
  code: "secret_not_asked",
  reason: "the secret is not being asked for right now; continue the turn and answer it there",
};

/** A conversation that waits for a secret, and everything that was offered to it. */
async function waiting({ isListening = true } = {}) {
  const workspace = temporaryWorkspace();
  const writer = await workspace.conversations.create({});
  onTestFinished(() => writer.release());
  await writer.append(...WAITING_FOR_SECRET);
  const offered: unknown[] = [];
  const listener: AnswerListener = async ({ event, secret }) => {
    offered.push(secret?.reveal().answer);
    await writer.append(event);
    return RECORDED;
  };
  const listening = isListening ? await writer.onSecret?.(listener) : undefined;
  const folder = path.join(workspace.userFolder, "sockets");
  const answer = (value = "s3cret") =>
    workspace.conversations.answer(writer.id, REDACTED, { secret: new SecretAnswer(value) });
  return { ...workspace, writer, offered, listener, listening, folder, answer };
}

function socketOf(folder: string): string {
  const [name = ""] = readdirSync(folder);
  const { socket } = JSON.parse(readFileSync(path.join(folder, name), "utf8")) as {
    readonly socket: string;
  };
  return socket;
}

function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}

/** Sends this to the socket, and returns everything that comes back. */
async function talk(socket: string, text: string): Promise<readonly string[]> {
  const connection = connect(socket);
  connection.on("error", () => undefined);
  let received = "";
  connection.on("data", (data: Buffer) => {
    received += data.toString();
  });
  connection.write(text);
  await once(connection, "close");
  return received.split("\n").slice(1, -1); // Without the greeting.
}

test("only the user can reach the socket, which is gone once nothing waits", async () => {
  counters("T-SEC-10");
  const { folder, listening } = await waiting();
  const socket = socketOf(folder);
  const [name = ""] = readdirSync(folder);
  const modes = [folder, path.join(folder, name), path.dirname(socket), socket].map(modeOf);
  listening?.[Symbol.dispose]();
  listening?.[Symbol.dispose]();
  expect([modes, readdirSync(folder), existsSync(path.dirname(socket))]).toEqual([
    [0o700, 0o600, 0o700, 0o600],
    [],
    false,
  ]);
});

test("a socket is gone with its writer, and while nothing waits there is none", async () => {
  const { folder, writer, answer } = await waiting();
  const parent = path.dirname(socketOf(folder));
  await writer.release();
  expect([readdirSync(folder), existsSync(parent), await answer()]).toEqual([[], false, NOT_ASKED]);
  const silent = await waiting({ isListening: false });
  expect([existsSync(silent.folder), await silent.answer()]).toEqual([false, NOT_ASKED]);
});

test("a socket has a short path, even if the folder for temporary files has a long one", async () => {
  const long = path.join(temporaryFolder(), "x".repeat(100));
  mkdirSync(long);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = long;
  onTestFinished(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  const { folder, answer, offered } = await waiting();
  const length = Buffer.byteLength(socketOf(folder));
  expect([length < 104, await answer(), offered]).toEqual([true, RECORDED, ["s3cret"]]);
});

test("either of two questions that wait at once can be answered first", async () => {
  const { folder, writer, listener, listening, answer, offered } = await waiting();
  using second = await writer.onSecret?.(listener);
  const count = readdirSync(folder).length;
  listening?.[Symbol.dispose]();
  expect([count, await answer(), offered, second !== undefined]).toEqual([
    2,
    RECORDED,
    ["s3cret"],
    true,
  ]);
});

const UNREADABLE = JSON.stringify({
  type: "refused",
  code: "unreadable",
  reason: "the process that runs the turn cannot read it",
});

test.each([
  ["no JSON", "{\n", [UNREADABLE]],
  ["no answer", '{"secret":"s3cret"}\n', [UNREADABLE]],
  [
    "no secret",
    `${JSON.stringify({ event: StreamEntry.fromEvent(REDACTED).raw })}\n`,
    [UNREADABLE],
  ],
  ["a line that is too long", `{"secret":"${"x".repeat(70_000)}"}\n`, []],
])("a connection with %s is closed, and the listener is not told", async (_, text, reply) => {
  const { folder, offered, answer } = await waiting();
  expect([await talk(socketOf(folder), text), offered]).toEqual([reply, []]);
  expect([await answer(), offered]).toEqual([RECORDED, ["s3cret"]]);
});

test("a secret that is too long is not sent", async () => {
  const { answer, offered } = await waiting();
  const refused = await answer("x".repeat(70_000));
  expect([refused, offered]).toEqual([
    { type: "refused", code: "too_long", reason: "it is too long" },
    [],
  ]);
  expect(await answer("x".repeat(60_000))).toEqual(RECORDED);
});

test("a store that cannot pass on secrets refuses them, and no one is offered anything", async () => {
  const { writer, conversations } = await waiting();
  const target: AnswerTarget = {
    open: (id) => conversations.open(id),
    readLastTurn: async () => writer.stream.entries,
    offer: () => expect.unreachable(),
  };
  const options = { event: REDACTED, secret: new SecretAnswer("s3cret") };
  expect(await answerPending(target, writer.id, options)).toEqual({
    type: "refused",
    code: "secret_elsewhere",
    reason: "a secret can only be answered where the turn runs",
  });
});

/** A program of the user's that listens where a secret would go. Returns what it gets. */
async function impostor(
  { folder, writer, root }: Awaited<ReturnType<typeof waiting>>,
  onConnection: (connection: Socket) => void,
  workspace = root,
): Promise<readonly string[]> {
  const socket = path.join(mkdtempSync(path.join(tmpdir(), "jp-")), "s");
  const received: string[] = [];
  const server = createServer((connection) => {
    connection.on("data", (data) => received.push(data.toString()));
    onConnection(connection);
  });
  onTestFinished(() => void server.close());
  await once(server.listen(socket), "listening");
  chmodSync(socket, 0o600);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(folder, `${writer.id}.x.json`), JSON.stringify({ socket, workspace }));
  return received;
}

test("a secret is not sent to a process that does not say that it waits", async () => {
  const asked = await waiting({ isListening: false });
  const received = await impostor(asked, (connection) => connection.write('{"type":"hello"}\n'));
  expect([await asked.answer(), received]).toEqual([NOT_ASKED, []]);
});

function greet(connection: Socket): void {
  connection.write('{"type":"waiting"}\n');
}

test("a secret is not sent to a process in another folder, and whoever gave it is told where", async () => {
  counters("T-WORK-19");
  const asked = await waiting({ isListening: false });
  const received = await impostor(asked, greet, "/clone");
  expect([await asked.answer(), received]).toEqual([
    { type: "other_workspace", workspace: "/clone" },
    [],
  ]);
});

test("an answer can be withdrawn before the other process says that it waits", async () => {
  const asked = await waiting({ isListening: false });
  const abort = new AbortController();
  const received = await impostor(asked, () => abort.abort(new Error("Never mind.")));
  const options = { secret: new SecretAnswer("s3cret"), signal: abort.signal };
  const result = asked.conversations.answer(asked.writer.id, REDACTED, options);
  await expect(result).rejects.toThrow("Never mind.");
  expect(received).toEqual([]);
});

test("a secret is recorded if the record says so, even if the process that took it is gone", async () => {
  const asked = await waiting({ isListening: false });
  await impostor(asked, (connection) => {
    connection.write('{"type":"waiting"}\n');
    connection.once("data", () => {
      void asked.writer.append(REDACTED).then(() => connection.destroy());
    });
  });
  expect(await asked.answer()).toEqual(RECORDED);
});

/** Something that someone has put where a secret would go. The real socket stays. */
type Plant = (place: {
  folder: string;
  file: string;
  socket: string;
  /** Its address, as the process that answers expects it. */
  address: (socket: string) => string;
}) => void;

const PLANTS: readonly [string, Plant][] = [
  [
    "a link to the file with the address",
    ({ file, socket, address }) => {
      const target = path.join(temporaryFolder(), "address.json");
      writeFileSync(target, address(socket));
      symlinkSync(target, file);
    },
  ],
  [
    "a link to the socket",
    ({ file, socket, address }) => {
      const link = path.join(mkdtempSync(path.join(tmpdir(), "jp-")), "s");
      symlinkSync(socket, link);
      writeFileSync(file, address(link));
    },
  ],
  [
    "a link to the folder of the socket",
    ({ file, socket, address }) => {
      const link = path.join(temporaryFolder(), "linked");
      symlinkSync(path.dirname(socket), link);
      writeFileSync(file, address(path.join(link, "s")));
    },
  ],
  [
    "a regular file instead of the socket",
    ({ file, address }) => {
      const regular = path.join(mkdtempSync(path.join(tmpdir(), "jp-")), "s");
      writeFileSync(regular, "", { mode: 0o600 });
      writeFileSync(file, address(regular));
    },
  ],
  [
    "a socket in a folder that others can enter",
    ({ file, socket, address }) => {
      chmodSync(path.dirname(socket), 0o755);
      writeFileSync(file, address(socket));
    },
  ],
  [
    "a socket that others can write to",
    ({ file, socket, address }) => {
      chmodSync(socket, 0o666);
      writeFileSync(file, address(socket));
    },
  ],
  [
    "an address in a folder that others can enter",
    ({ folder, file, socket, address }) => {
      writeFileSync(file, address(socket));
      chmodSync(folder, 0o755);
    },
  ],
  ["an address that is not absolute", ({ file, address }) => writeFileSync(file, address("s"))],
  ["no address", ({ file }) => writeFileSync(file, "{")],
];

test.each(PLANTS)(
  "a secret is not sent to a place that someone else may have planted: %s",
  async (_, plant) => {
    counters("T-SEC-11");
    const real = await waiting();
    const socket = socketOf(real.folder);
    const other = await waiting({ isListening: false });
    mkdirSync(other.folder, { recursive: true, mode: 0o700 });
    const file = path.join(other.folder, `${other.writer.id}.x.json`);
    const { folder, root: workspace } = other;
    const address = (at: string) => JSON.stringify({ socket: at, workspace });
    plant({ folder, file, socket, address });
    expect([await other.answer(), real.offered]).toEqual([NOT_ASKED, []]);
  },
);

test("no process listens where others could reach it", async () => {
  counters("T-SEC-11");
  const { folder, writer, listener } = await waiting({ isListening: false });
  const target = temporaryFolder();
  symlinkSync(target, folder);
  await writer.onSecret?.(listener);
  expect(readdirSync(target)).toEqual([]);
});

test("what a killed process left is not used, and removed by the next one that waits", async () => {
  const workspace = temporaryWorkspace();
  const { root, data, conversations, userFolder } = workspace;
  const writer = await conversations.create({});
  await writer.append(...WAITING_FOR_SECRET);
  await writer.release();
  const { id } = writer;
  const program = ChildProgram.ofTests("answer-program.ts", root, data, "Ana");
  await program.nextLine();
  program.tell(`ask ${id}`);
  await program.nextLine();
  const folder = path.join(userFolder, "sockets");
  const socket = socketOf(folder);
  await program.kill();
  const isLeft = existsSync(socket);
  const result = await conversations.answer(id, REDACTED, { secret: new SecretAnswer("s3cret") });
  using listening = await new SecretSockets({
    privateFolder: userFolder,
    id,
    workspace: root,
  }).listen(async () => RECORDED);
  expect([isLeft, result, existsSync(path.dirname(socket)), readdirSync(folder).length]).toEqual([
    true,
    NOT_ASKED,
    false,
    1,
  ]);
  listening[Symbol.dispose]();
});
