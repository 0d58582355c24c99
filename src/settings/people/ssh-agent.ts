/** Signs with an Ed25519 key of the SSH agent, over its socket. The agent's messages are not trusted. */
import { createConnection } from "node:net";
import { JpError, messageOf } from "../../util/index.ts";
import { findKeyIn, fingerprintOf, sshBlobOf, sshString } from "./keys.ts";

/** A key in the agent. */
export interface AgentKey {
  readonly id: string;
  readonly publicKey: Buffer;
  readonly comment: string;
}

const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
/** The limit of OpenSSH's own client. */
const MAX_MESSAGE_BYTES = 256 << 10;
/** The agent may ask the person to confirm. */
const TIMEOUT_MS = 60_000;

/** The agent's Ed25519 keys. Throws `cannot_sign`. */
export async function listAgentKeys(socket: string | undefined): Promise<readonly AgentKey[]> {
  const reader = new Reader(await request(socket, Buffer.of(REQUEST_IDENTITIES)));
  if (reader.byte() !== IDENTITIES_ANSWER) throw refused();
  const count = reader.integer();
  const keys: AgentKey[] = [];
  for (let index = 0; index < count; index += 1) {
    const [blob, comment] = [reader.text(), reader.text().toString("utf8")];
    const publicKey = findKeyIn(blob);
    if (publicKey !== undefined) keys.push({ id: fingerprintOf(publicKey), publicKey, comment });
  }
  return keys;
}

/** Returns the 64 bytes of the signature. Throws `cannot_sign`. */
export async function signWithAgent(
  socket: string | undefined,
  publicKey: Buffer,
  bytes: Buffer,
): Promise<Buffer> {
  const asked = Buffer.concat([
    Buffer.of(SIGN_REQUEST),
    sshString(sshBlobOf(publicKey)),
    sshString(bytes),
    Buffer.alloc(4),
  ]);
  const reader = new Reader(await request(socket, asked));
  if (reader.byte() !== SIGN_RESPONSE) throw refused();
  const signature = new Reader(reader.text());
  if (signature.text().toString("latin1") !== "ssh-ed25519") throw refused();
  return signature.text();
}

/** Sends one message and returns the reply. Throws `cannot_sign`. */
async function request(socket: string | undefined, message: Buffer): Promise<Buffer> {
  if (socket === undefined || socket === "") {
    throw cannotSign("No SSH agent is running: SSH_AUTH_SOCK is not set.");
  }
  const connection = createConnection(socket);
  const timeout = setTimeout(() => connection.destroy(new Error("it does not answer")), TIMEOUT_MS);
  try {
    connection.write(sshString(message));
    let received = Buffer.alloc(0);
    for await (const piece of connection) {
      received = Buffer.concat([received, piece as Buffer]); // No encoding is set.
      if (received.length < 4) continue;
      const length = received.readUInt32BE(0);
      if (length === 0 || length > MAX_MESSAGE_BYTES) throw new Error("its answer is too long");
      if (received.length >= 4 + length) return received.subarray(4, 4 + length);
    }
    throw new Error("it closed the connection");
  } catch (error) {
    throw cannotSign(`Cannot use the SSH agent: ${messageOf(error)}.`, error);
  } finally {
    clearTimeout(timeout);
    connection.destroy();
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#take(1)[0] ?? 0;
  }

  integer(): number {
    return this.#take(4).readUInt32BE(0);
  }

  text(): Buffer {
    return this.#take(this.integer());
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    if (taken.length !== length) throw refused();
    this.#at += length;
    return taken;
  }
}

function refused(): JpError {
  return cannotSign("The SSH agent refused.");
}

function cannotSign(message: string, cause?: unknown): JpError {
  return new JpError("cannot_sign", message, {
    hint: "To see what it has: ssh-add -l",
    ...(cause !== undefined && { cause }),
  });
}
