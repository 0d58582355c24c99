/** This machine's Ed25519 key for signing exports, stored in the user's data folder. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import path from "node:path";
import { PrivateFile, type UserEnvironment, userDataFolder } from "../stores/index.ts";
import { JpError, messageOf } from "../util/index.ts";
import { type PublicKey, publicKeyOf, type Signer } from "./dsse.ts";

export function machineKeyFile(environment: UserEnvironment): string {
  return path.join(userDataFolder(environment), "proof", "machine-key.pem");
}

/** Creates the key if there is none. Throws `invalid_machine_key`, `write_failed`. */
export async function ensureMachineKey(environment: UserEnvironment): Promise<Signer> {
  const file = new PrivateFile<Signer | undefined>(machineKeyFile(environment), {
    empty: undefined,
    parse: parseSigner,
    format: (signer) =>
      signer?.privateKey.export({ type: "pkcs8", format: "pem" }).toString() ?? "",
    onInvalid: (name, cause) => {
      throw new JpError("invalid_machine_key", `${name} cannot be used: ${messageOf(cause)}.`, {
        cause,
        hint: "Only you may read it. If it is lost, move the file away, and jp makes another key.",
      });
    },
  });
  const found = file.read();
  if (found !== undefined) return found;
  // Another process may have created one in the meantime.
  await file.change((before) => (before === undefined ? generateSigner() : undefined));
  const made = file.read();
  if (made === undefined) throw new Error("the key was removed at once");
  return made;
}

export function generateSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { key: publicKeyOf(publicKey), privateKey };
}

function parseSigner(text: string): Signer {
  const privateKey = createPrivateKey(text);
  return { key: publicKeyOf(createPublicKey(privateKey)), privateKey };
}

/** For `openssl` and others. */
export function publicKeyToPem({ object }: PublicKey): string {
  return object.export({ type: "spki", format: "pem" }).toString();
}

/** The id of the public key in a PEM file. Throws if it is not an Ed25519 key. */
export function keyIdOfPem(text: string): string {
  return publicKeyOf(createPublicKey(text)).id;
}
