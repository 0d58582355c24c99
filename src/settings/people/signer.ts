/** Signs as a person, with a key that this process can use: in a file, or in the SSH agent. */
import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { hashToSign, type PersonSigner } from "../../record/conversation/index.ts";
import { PrivateFile, type PrivateFileOptions } from "../../stores/index.ts";
import { JpError, loadModule, messageOf, nodeCrypto } from "../../util/index.ts";
import { type Ed25519Key, fingerprintOf, type PersonKey } from "./keys.ts";

/** The signing person, and their agent's socket. */
export interface SignerOptions {
  /** Absent if the user of this process is unknown. */
  readonly person?: { readonly name: string; readonly keys?: readonly PersonKey[] } | undefined;
  /** The value of `SSH_AUTH_SOCK`. */
  readonly agentSocket?: string | undefined;
}

export function createSigner({ person, agentSocket }: SignerOptions): PersonSigner {
  const own = person?.keys?.filter((each) => each.type === "ed25519") ?? [];
  // A person with several machines may have a file on each.
  const key = own.find(({ file }) => file === undefined || existsSync(file)) ?? own[0];
  if (person === undefined || key === undefined) return { sign: () => refuse(person?.name) };
  const { id, file } = key;
  return {
    key: file === undefined ? `${id} (SSH agent)` : `${id} (${file})`,
    sign: async (toSign) => {
      const bytes = Buffer.from(hashToSign(toSign), "hex");
      const signed =
        file === undefined
          ? await signByAgent(agentSocket, key, bytes)
          : nodeCrypto().sign(null, bytes, readKeyFile(file).privateKey);
      const sig = signed.toString("base64url");
      return { type: "ed25519", key: id, nonce: toSign.nonce, sig };
    },
  };
}

async function refuse(name: string | undefined): Promise<never> {
  const message = "This has to be signed, and you have no key for that here.";
  const who = name === undefined ? "NAME" : JSON.stringify(name);
  const hint =
    `To make one, or use one of your SSH agent: jp serve people key add ${who} --new, or --ssh-agent. ` +
    "You can also sign with a passkey on the desk's page.";
  throw new JpError("cannot_sign", message, { hint });
}

async function signByAgent(
  socket: string | undefined,
  key: Ed25519Key,
  bytes: Buffer,
): Promise<Buffer> {
  const { signWithAgent } = await loadAgent();
  return signWithAgent(socket, Buffer.from(key.public, "base64"), bytes);
}

export function loadAgent() {
  return loadModule(() => import("./ssh-agent.ts"));
}

/** An Ed25519 key and its fingerprint. */
interface PrivateKey {
  readonly privateKey: KeyObject;
  readonly publicKey: Buffer;
  readonly id: string;
}

/** The file must be readable only by its owner. Throws `cannot_sign`. */
export function readKeyFile(file: string): PrivateKey {
  const key = new PrivateFile<PrivateKey | undefined>(file, {
    empty: undefined,
    parse: parseKeyFile,
    format: () => "",
    onInvalid: (_file, cause) => {
      throw cannotUse(file, messageOf(cause), cause);
    },
  }).read();
  if (key === undefined) throw cannotUse(file, "it does not exist");
  return key;
}

function parseKeyFile(text: string): PrivateKey {
  if (text.includes("BEGIN OPENSSH PRIVATE KEY")) {
    throw new TypeError("it is a key of OpenSSH, which jp uses through the SSH agent");
  }
  const { createPrivateKey, createPublicKey } = nodeCrypto();
  const privateKey = createPrivateKey(text);
  if (privateKey.asymmetricKeyType !== "ed25519") throw new TypeError("it is no Ed25519 key");
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const publicKey = Buffer.from(x, "base64url");
  return { privateKey, publicKey, id: fingerprintOf(publicKey) };
}

function cannotUse(file: string, why: string, cause?: unknown): JpError {
  return new JpError("cannot_sign", `Cannot use the key in ${file}: ${why}.`, {
    hint: "jp needs an Ed25519 key in PEM (PKCS #8) without a passphrase, that only you can read.",
    ...(cause !== undefined && { cause }),
  });
}

/** Creates a key in its own file in this folder. Throws `write_failed`. */
export async function makeKeyFile(folder: string): Promise<string> {
  const { publicKey, privateKey } = nodeCrypto().generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  const id = fingerprintOf(Buffer.from(x, "base64url"));
  const name = Buffer.from(id.slice("SHA256:".length), "base64").toString("hex").slice(0, 16);
  const file = path.join(folder, "approval-keys", `${name}.pem`);
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await new PrivateFile<string>(file, TEXT).change(() => pem);
  return file;
}

const TEXT: PrivateFileOptions<string> = {
  empty: "",
  parse: (text) => text,
  format: (text) => text,
  onInvalid: () => "",
};
