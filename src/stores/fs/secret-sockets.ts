/**
 * Passes secrets from one process to another that asks for them, from memory to memory. The asking process listens on a
 * Unix socket while it waits. A file in the user's own folder has its path:
 *
 *   sockets/<conversation>.<random>.json   {"socket":"/tmp/jp-Ab12cd/s","workspace":"/home/ana/project"}
 *
 * Clones of a workspace share that folder. A secret goes only to a process at the real path where it was given.
 *
 * The path of a socket is limited to about 100 bytes, so it cannot be in the same folder. Both folders are private to
 * the user (0700), and so is the socket (0600): only the user and the superuser can connect. The user's own processes
 * are not isolated from each other.
 *
 * Each message is one line of JSON. The asking process says that it waits, so that no secret is sent to a process that
 * hangs or was killed; the other sends the answer with the secret; the first reports the result.
 */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ConversationId, refuse, SecretAnswer } from "../../record/conversation/index.ts";
import { findJson, isJsonObject, type JsonObject, parseJson } from "../../util/index.ts";
import type { SecretDelivery, SecretOffer } from "../answering.ts";
import type { AnswerListener, AnswerResult } from "../port.ts";
import {
  offeredToJson,
  parseOffered,
  parseRefusal,
  type ReceivedOffer,
  refusalOf,
} from "../offered.ts";
import { readRegularFile } from "./safe-open.ts";
import type { PrivatePlace } from "./user-data.ts";

const FOLDER = "sockets";
const PREFIX = "jp-";
const SOCKET = "s";
/** On macOS, including the terminating byte. Linux allows four more. */
const MAX_PATH_BYTES = 103;
/** The limit of one message. A secret may be a whole key file. */
const MAX_LINE_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 16;
/** How long each side waits for the other's line. */
const PATIENCE_MS = 5000;
const GREETING = '{"type":"waiting"}';

/** The addresses on which this process listens. */
const own = new Set<string>();

/** The sockets on which processes wait for secrets of one conversation. */
export class SecretSockets {
  readonly #folder: string;
  readonly #id: ConversationId;
  readonly #workspace: string | undefined;

  constructor({ privateFolder, id, workspace }: PrivatePlace) {
    this.#folder = path.join(privateFolder, FOLDER);
    this.#id = id;
    this.#workspace = workspace;
  }

  /**
   * Passes each secret to the listener, until disposed of. Requires the conversation's lock. If no private socket can
   * be opened, no secret arrives.
   */
  async listen(listener: AnswerListener): Promise<Disposable> {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      if (!isPrivate(this.#folder, "folder")) return NOTHING;
      this.#removeLeft();
      const address = path.join(this.#folder, `${this.#id}.${crypto.randomUUID()}.json`);
      return await open(address, this.#workspace, listener);
    } catch {
      return NOTHING;
    }
  }

  /** Throws the signal's reason, unless the secret has already been sent. */
  async deliver(offered: SecretOffer, signal?: AbortSignal): Promise<SecretDelivery> {
    const { answer, note } = offered.secret.reveal();
    const json = offeredToJson(offered, this.#workspace);
    const line = JSON.stringify({ ...json, secret: answer, note });
    if (Buffer.byteLength(line) >= MAX_LINE_BYTES) return refuse({ code: "too_long" });
    for (const file of this.#addresses()) {
      const found = findSocket(file);
      if (found === undefined) continue;
      const { socket, workspace } = found;
      if (workspace !== this.#workspace) {
        if (workspace === undefined) continue; // Written by an older version.
        return { type: "other_workspace", workspace };
      }
      const delivery = await send(socket, line, signal);
      if (delivery !== undefined) return delivery;
    }
    return { type: "undecided", wasSent: false };
  }

  #addresses(): readonly string[] {
    if (!isPrivate(this.#folder, "folder")) return [];
    const names = readdirSync(this.#folder).filter((name) => name.startsWith(`${this.#id}.`));
    return names.map((name) => path.join(this.#folder, name));
  }

  /** With the lock held, all other processes that listened here must have been killed. */
  #removeLeft(): void {
    for (const file of this.#addresses()) {
      if (own.has(file)) continue;
      const found = findSocket(file);
      if (found !== undefined) removeSocket(found.socket);
      tryToRemove(file);
    }
  }
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/** Throws system errors. */
async function open(
  address: string,
  workspace: string | undefined,
  listener: AnswerListener,
): Promise<Disposable> {
  const socket = path.join(mkdtempSync(path.join(parentOfSockets(), PREFIX)), SOCKET);
  /** Connections that have not sent anything yet. */
  const silent = new Set<Socket>();
  const server = createServer((connection) => {
    silent.add(connection);
    connection.once("close", () => silent.delete(connection));
    void receive(connection, (line) => {
      silent.delete(connection);
      return decide(line, workspace, listener);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  const close = () => {
    own.delete(address);
    server.close();
    for (const connection of silent) connection.destroy();
    removeSocket(socket);
    tryToRemove(address);
  };
  try {
    server.listen(socket);
    await once(server, "listening");
    server.unref();
    chmodSync(socket, 0o600);
    own.add(address);
    writeFileSync(address, JSON.stringify({ socket, workspace }), { mode: 0o600, flag: "wx" });
    return { [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

function parentOfSockets(): string {
  const folder = tmpdir();
  const socket = path.join(folder, `${PREFIX}123456`, SOCKET);
  return Buffer.byteLength(socket) > MAX_PATH_BYTES ? "/tmp" : folder;
}

/** Never throws. */
async function receive(
  connection: Socket,
  answer: (line: string) => Promise<JsonObject>,
): Promise<void> {
  prepare(connection);
  const line = nextLine(connection);
  connection.write(`${GREETING}\n`);
  const offer = await line;
  if (offer === undefined) return void connection.destroy();
  connection.setTimeout(0); // Now the other side waits.
  connection.end(`${JSON.stringify(await answer(offer))}\n`);
}

/** Reports only what the record does not show. Repeats neither the line nor its error. */
async function decide(
  line: string,
  here: string | undefined,
  listener: AnswerListener,
): Promise<JsonObject> {
  const received = findOffer(line);
  if (received === undefined) return { ...refuse({ code: "unreadable" }) };
  const refusal = refusalOf(received, here);
  if (refusal !== undefined) return { ...refusal };
  const { offered } = received;
  const result: AnswerResult | undefined = await listener(offered).catch(() => undefined);
  if (result?.type === "refused") return { ...result };
  return { type: result?.type === "recorded" ? "recorded" : "undecided" };
}

interface ReceivedSecret extends ReceivedOffer {
  readonly offered: SecretOffer;
}

function findOffer(line: string): ReceivedSecret | undefined {
  try {
    const value = parseJson(line);
    if (!isJsonObject(value)) return undefined;
    const { secret, note } = value;
    if (typeof secret !== "string") return undefined;
    const given =
      typeof note === "string" ? new SecretAnswer(secret, note) : new SecretAnswer(secret);
    const { offered, workspace } = parseOffered(value);
    return { offered: { ...offered, secret: given }, workspace };
  } catch {
    return undefined;
  }
}

/** Undefined if no process waits there. Throws the signal's reason, unless something has already been sent. */
async function send(
  file: string,
  line: string,
  signal: AbortSignal | undefined,
): Promise<SecretDelivery | undefined> {
  const connection = connect(file);
  prepare(connection);
  const abort = () => connection.destroy();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const greeting = await nextLine(connection);
    signal?.throwIfAborted();
    if (greeting !== GREETING) return undefined;
    signal?.removeEventListener("abort", abort);
    const reply = nextLine(connection);
    connection.write(`${line}\n`);
    return toSecretDelivery(await reply);
  } finally {
    signal?.removeEventListener("abort", abort);
    connection.destroy();
  }
}

function toSecretDelivery(line: string | undefined): SecretDelivery {
  const reply = line === undefined ? undefined : findJson(line);
  if (!isJsonObject(reply)) return { type: "undecided", wasSent: true };
  const { type } = reply;
  if (type === "recorded") return { type };
  if (type === "refused" || type === "other_workspace") return parseRefusal(reply);
  return { type: "undecided", wasSent: false };
}

/** Closes a connection that breaks or stays silent. */
function prepare(connection: Socket): void {
  connection.on("error", () => undefined);
  connection.setTimeout(PATIENCE_MS, () => connection.destroy());
}

/** Undefined if the connection closes first, or the line is too long. The other side then waits for a reply. */
function nextLine(connection: Socket): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const chunks: Buffer[] = [];
  let size = 0;
  const end = (line?: string) => {
    connection.off("data", onData);
    connection.off("close", onClose);
    resolve(line);
  };
  const onClose = () => end();
  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_LINE_BYTES) return end();
    if (chunk.includes("\n")) end(Buffer.concat(chunks).toString("utf8").trimEnd());
  };
  if (connection.destroyed) return Promise.resolve(undefined);
  connection.on("data", onData);
  connection.on("close", onClose);
  return promise;
}

interface FoundSocket {
  readonly socket: string;
  readonly workspace: string | undefined;
}

/** Undefined unless the socket is reachable only by the user. */
function findSocket(address: string): FoundSocket | undefined {
  try {
    const value = parseJson(readRegularFile(address).toString("utf8"));
    const { socket, workspace } = isJsonObject(value) ? value : {};
    if (typeof socket !== "string" || !path.isAbsolute(socket)) return undefined;
    const isOwn = isPrivate(path.dirname(socket), "folder") && isPrivate(socket, "socket");
    if (!isOwn) return undefined;
    return { socket, workspace: typeof workspace === "string" ? workspace : undefined };
  } catch {
    return undefined;
  }
}

/** Does not follow links. */
function isPrivate(file: string, kind: "folder" | "socket"): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  const isKind = kind === "folder" ? stats.isDirectory() : stats.isSocket();
  return isKind && stats.uid === process.geteuid?.() && (stats.mode & 0o077) === 0;
}

/** The next listener tries again: without its socket, the file is useless. */
function tryToRemove(address: string): void {
  try {
    rmSync(address, { force: true });
  } catch {
    // The turn has ended anyway.
  }
}

/** Also removes its folder, unless that contains something else. */
function removeSocket(socket: string): void {
  try {
    rmSync(socket, { force: true });
    rmdirSync(path.dirname(socket));
  } catch {
    // The system removes old temporary files.
  }
}
