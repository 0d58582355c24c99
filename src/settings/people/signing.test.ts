import { execFileSync, spawnSync } from "node:child_process";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { chmodSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import {
  type DecisionSignature,
  hashToSign,
  type ToSign,
} from "../../record/conversation/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import type { JpError } from "../../util/index.ts";
import { openDirectory } from "./directory.ts";
import { fingerprintOf, hashKeyChange, hasSigned, type Passkey, sshString } from "./keys.ts";
import { openPeople } from "./people.ts";
import { createSigner, makeKeyFile, readKeyFile } from "./signer.ts";
import { listAgentKeys, signWithAgent } from "./ssh-agent.ts";

const TO_SIGN: ToSign = {
  digest: "d1",
  id: "call_1.run",
  answer: true,
  person: "ada",
  nonce: `1000.${"a".repeat(32)}`,
};

function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { id: fingerprintOf(bytes), public: bytes.toString("base64"), privateKey };
}

function newPasskey(id: string, more: Partial<Passkey> = {}): Passkey {
  const key = { type: "passkey", id, public: { kty: "EC" }, rpId: "a.example" } as const;
  return { ...key, added: "now", counter: 0, ...more };
}

/** Ada has a key in a file. */
async function openSigning() {
  const folder = path.join(temporaryFolder(), "data");
  const people = openPeople(folder);
  await people.add("ada", ["see"], { osUser: "ada" });
  await people.add("bob", ["see"], { osUser: "bob" });
  const file = await makeKeyFile(folder);
  const { id, publicKey } = readKeyFile(file);
  const key = { type: "ed25519", id, public: publicKey.toString("base64"), added: "now", file };
  await people.addKey("ada", { ...key, type: "ed25519" });
  const directory = openDirectory(folder, {
    osUser: () => "ada",
    signerOf: (person) => createSigner({ person }),
  });
  return { folder, people, file, id, directory };
}

async function problemOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    ({ code, message }: JpError) => `${code}: ${message}`,
  );
}

describe("a signature with a key file", () => {
  test("counts for exactly what was signed, and for nothing else", async () => {
    counters("T-SIGN-2");
    const { directory, people } = await openSigning();
    const signature = await directory.findSigner?.()?.sign(TO_SIGN);
    if (signature === undefined) throw new Error("not signed");
    const isSigned = (changed: Partial<ToSign>) =>
      directory.isSigned?.({ ...TO_SIGN, ...changed }, signature);
    expect(isSigned({})).toBe(true);
    expect([
      isSigned({ digest: "d2" }),
      isSigned({ id: "call_2.run" }),
      isSigned({ answer: "yes" }),
      isSigned({ person: "bob" }),
      isSigned({ nonce: `1001.${"a".repeat(32)}` }),
    ]).toEqual([false, false, false, false, false]);
    await people.removeKey("ada", signature.key);
    expect(isSigned({})).toBe(false);
  });

  test("does not count in another spelling, or with a key that has another id", async () => {
    const { directory } = await openSigning();
    const signature = await directory.findSigner?.()?.sign(TO_SIGN);
    if (signature === undefined) throw new Error("not signed");
    const others = [
      { ...signature, sig: `${signature.sig}=` },
      { ...signature, sig: "" },
      { ...signature, key: "SHA256:other" },
    ];
    expect(others.map((each) => directory.isSigned?.(TO_SIGN, each))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("does not count if the key was put in the place of another, under its fingerprint", () => {
    counters("T-SIGN-2");
    const [own, other] = [newKey(), newKey()];
    const hash = hashToSign(TO_SIGN);
    const sig = sign(null, Buffer.from(hash, "hex"), other.privateKey).toString("base64url");
    const counts = (id: string) =>
      hasSigned({ type: "ed25519", id, public: other.public }, hash, {
        type: "ed25519",
        key: id,
        nonce: TO_SIGN.nonce,
        sig,
      });
    expect([counts(other.id), counts(own.id)]).toEqual([true, false]);
  });

  test("is refused if others can read the file, or if it is gone", async () => {
    counters("T-SIGN-3");
    const { directory, file } = await openSigning();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    const signing = () => problemOf(Promise.resolve(directory.findSigner?.()?.sign(TO_SIGN)));
    expect(await signing()).toContain("other users may read or write it");
    writeFileSync(file, "nothing");
    chmodSync(file, 0o600);
    expect(await signing()).toMatch(/^cannot_sign: Cannot use the key in /);
  });

  test("is refused for someone without a key, who is told how to add one", async () => {
    const { folder } = await openSigning();
    const directory = openDirectory(folder, {
      osUser: () => "bob",
      signerOf: (person) => createSigner({ person }),
    });
    const signer = directory.findSigner?.();
    expect(signer?.key).toBeUndefined();
    expect(await problemOf(signer?.sign(TO_SIGN) ?? Promise.resolve())).toBe(
      "cannot_sign: This has to be signed, and you have no key for that here.",
    );
  });
});

test("a person whose first key is in a file of another machine signs with the next one", async () => {
  const { people, folder, file, id, directory } = await openSigning();
  const here = await makeKeyFile(folder);
  const { id: next, publicKey } = readKeyFile(here);
  const key = { id: next, public: publicKey.toString("base64"), added: "now", file: here };
  await people.addKey("ada", { type: "ed25519", ...key });
  expect(directory.findSigner?.()?.key).toContain(id);
  rmSync(file);
  expect(await directory.findSigner?.()?.sign(TO_SIGN)).toMatchObject({ key: next });
});

test("one key belongs to one person", async () => {
  const { people, id } = await openSigning();
  const ada = (await people.list()).find(({ name }) => name === "ada");
  const [key] = ada?.keys ?? [];
  if (key === undefined) throw new Error("no key");
  expect(await problemOf(people.addKey("bob", key))).toBe("key_exists: ada has this key already.");
  expect([
    await people.addKey("eve", { ...key, id: "x" }),
    await people.removeKey("ada", id),
  ]).toEqual([false, true]);
});

/** An authenticator, and what it signs for. */
function createPasskey(kind: "ec" | "ed25519", rpId = "jp-1.localhost") {
  const { publicKey, privateKey } =
    kind === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("ed25519");
  const jwk = publicKey.export({ format: "jwk" }) as Passkey["public"];
  const key: Passkey = {
    type: "passkey",
    id: "Y3JlZA",
    public: jwk,
    added: "now",
    rpId,
    counter: 0,
  };
  return { key, privateKey };
}

interface Assertion {
  readonly challenge?: string;
  readonly type?: string;
  readonly origin?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly crossOrigin?: boolean;
}

function assert(privateKey: KeyObject, changed: Assertion = {}): DecisionSignature {
  const { rpId = "jp-1.localhost", flags = 0x05, ...client } = changed;
  const challenge = Buffer.from(hashToSign(TO_SIGN), "hex").toString("base64url");
  const origin = "http://jp-1.localhost:8080";
  const json = JSON.stringify({ type: "webauthn.get", challenge, origin, ...client });
  const rpIdHash = createHash("sha256").update(rpId).digest();
  const data = Buffer.concat([rpIdHash, Buffer.of(flags, 0, 0, 0, 1)]);
  const signed = Buffer.concat([data, createHash("sha256").update(json).digest()]);
  const algorithm = privateKey.asymmetricKeyType === "ed25519" ? null : "sha256";
  return {
    type: "webauthn",
    key: "Y3JlZA",
    nonce: TO_SIGN.nonce,
    sig: sign(algorithm, signed, privateKey).toString("base64url"),
    authenticatorData: data.toString("base64url"),
    clientData: Buffer.from(json).toString("base64url"),
  };
}

describe("a signature with a passkey", () => {
  test.each(["ec", "ed25519"] as const)("counts (%s)", (kind) => {
    const { key, privateKey } = createPasskey(kind);
    expect(hasSigned(key, hashToSign(TO_SIGN), assert(privateKey))).toBe(true);
  });

  test.each<Assertion>([
    { challenge: "AAAA" },
    { type: "webauthn.create" },
    { origin: "http://evil.example" },
    { origin: "http://evil-jp-1.localhost" },
    { crossOrigin: true },
    { rpId: "other.localhost" },
    { flags: 0x01 },
    { flags: 0x04 },
  ])("does not count with something else than was asked for: %j", (changed) => {
    counters("T-SIGN-4");
    const { key, privateKey } = createPasskey("ec");
    expect(hasSigned(key, hashToSign(TO_SIGN), assert(privateKey, changed))).toBe(false);
  });

  test("does not count if another passkey has made it", () => {
    const { key } = createPasskey("ec");
    const { privateKey } = createPasskey("ec");
    expect(hasSigned(key, hashToSign(TO_SIGN), assert(privateKey))).toBe(false);
  });

  test("is refused if its counter does not go up, unless it never counts", async () => {
    counters("T-SIGN-2");
    const { people } = await openSigning();
    const { key } = createPasskey("ec");
    await people.addKey("bob", key);
    const used = [];
    for (const counter of [0, 0, 3, 3, 2, 0, 4])
      used.push(await people.countUse("bob", key.id, counter));
    expect(used).toEqual([true, true, true, false, false, false, true]);
  });
});

const hasAgent = spawnSync("ssh-agent", ["-h"]).error === undefined;

/** A real agent, with a key of its own. */
function startAgent() {
  const folder = temporaryFolder();
  const file = path.join(folder, "key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "ada@example", "-f", file]);
  const socket = path.join(folder, "agent");
  const started = execFileSync("ssh-agent", ["-a", socket], { encoding: "utf8" });
  const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(started)?.[1]);
  onTestFinished(() => void process.kill(pid));
  const listed = execFileSync("ssh-keygen", ["-l", "-f", `${file}.pub`], { encoding: "utf8" });
  const environment = { ...process.env, SSH_AUTH_SOCK: socket };
  const add = () => execFileSync("ssh-add", ["-q", file], { env: environment, stdio: "ignore" });
  return { socket, add, fingerprint: listed.split(" ")[1] };
}

describe.skipIf(!hasAgent)("an SSH agent", () => {
  test("signs with a key that it has", async () => {
    const { socket, add, fingerprint } = startAgent();
    expect(await listAgentKeys(socket)).toEqual([]);
    add();
    const [key] = await listAgentKeys(socket);
    if (key === undefined) throw new Error("no key");
    expect([key.id, key.comment]).toEqual([fingerprint, "ada@example"]);
    const ed25519 = { type: "ed25519", id: key.id, public: key.publicKey.toString("base64") };
    const stored = { ...ed25519, type: "ed25519", added: "now" } as const;
    const person = { name: "ada", keys: [stored] };
    const signature = await createSigner({ person, agentSocket: socket }).sign(TO_SIGN);
    expect(hasSigned(stored, hashToSign(TO_SIGN), signature)).toBe(true);
  });

  test("refuses to sign with a key that it does not have", async () => {
    const { socket } = startAgent();
    const bytes = Buffer.alloc(32);
    expect(await problemOf(signWithAgent(socket, bytes, bytes))).toBe(
      "cannot_sign: The SSH agent refused.",
    );
    expect(fingerprintOf(bytes)).toMatch(/^SHA256:[\w+/]{43}$/);
  });
});

test("the hash that a change of keys is signed with is about the new key, the old one, the person and the nonce", () => {
  counters("T-SIGN-5");
  const change = { add: newPasskey("k1"), remove: "k0" };
  const ada = { id: "p_ada", name: "ada" };
  const hashes = [
    hashKeyChange(change, ada, "n1"),
    hashKeyChange({ add: newPasskey("k2"), remove: "k0" }, ada, "n1"),
    hashKeyChange({ add: newPasskey("k1", { public: { kty: "OKP" } }), remove: "k0" }, ada, "n1"),
    hashKeyChange({ add: newPasskey("k1", { rpId: "b.example" }), remove: "k0" }, ada, "n1"),
    hashKeyChange({ add: newPasskey("k1"), remove: "k3" }, ada, "n1"),
    hashKeyChange({ add: newPasskey("k1") }, ada, "n1"),
    hashKeyChange({ remove: "k0" }, ada, "n1"),
    hashKeyChange(change, { ...ada, id: "p_bo" }, "n1"),
    hashKeyChange(change, { ...ada, name: "bo" }, "n1"),
    hashKeyChange(change, ada, "n2"),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});

/** A length that is above the limit by one, and the start of an empty list of keys. */
const TOO_LONG = Buffer.from("000400010c00000000", "hex");

/** A socket on which each connection gets this answer. */
async function serveAgent(answer: Buffer): Promise<string> {
  const socket = path.join(temporaryFolder(), "socket");
  const server = createServer((connection) => {
    connection.on("error", () => undefined); // The client may close it first.
    connection.end(answer);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  return socket;
}

describe("something else than an SSH agent", () => {
  test.each([
    ["a length that no message has", Buffer.from("ffffffff0c", "hex")],
    ["an empty message", Buffer.from("00000000", "hex")],
    ["more keys than bytes", Buffer.from("000000050cffffffff", "hex")],
    ["a text that is longer than the message", Buffer.from("000000090c00000001ffffffff", "hex")],
    ["more than an agent sends", Buffer.concat([TOO_LONG, Buffer.alloc(TOO_LONG.readUInt32BE(0))])],
    ["nothing", Buffer.alloc(0)],
  ])("is refused, whatever it answers: %s", async (_what, answer) => {
    counters("T-SIGN-3");
    const socket = await serveAgent(answer);
    expect(await problemOf(listAgentKeys(socket))).toMatch(/^cannot_sign: /);
  });

  test.each([
    [14, "ssh-ed25519", 64],
    [12, "ssh-ed25519", "cannot_sign: The SSH agent refused."],
    [14, "ssh-rsa", "cannot_sign: The SSH agent refused."],
  ])("has to say that it signed, with such a key: message %i, %s", async (type, kind, expected) => {
    counters("T-SIGN-3");
    const signature = Buffer.concat([sshString(Buffer.from(kind)), sshString(Buffer.alloc(64))]);
    const message = Buffer.concat([Buffer.of(type), sshString(signature)]);
    const socket = await serveAgent(sshString(message));
    const signed = signWithAgent(socket, Buffer.alloc(32), Buffer.alloc(32));
    const found = await signed.then(
      ({ length }) => length,
      () => problemOf(signed),
    );
    expect(found).toBe(expected);
  });

  test("is refused if there is none", async () => {
    const nowhere = path.join(temporaryFolder(), "nothing");
    expect(await problemOf(listAgentKeys(undefined))).toContain("SSH_AUTH_SOCK is not set");
    expect(await problemOf(listAgentKeys(nowhere))).toContain("ENOENT");
  });
});
