/**
 * The key of the page's session. The browser keeps it for this origin and lets no script read it, only sign with it.
 */

/** Stores one key pair. */
export interface KeyStore {
  find(): Promise<CryptoKeyPair | undefined>;
  /** Replaces the previous one. */
  save(pair: CryptoKeyPair): Promise<void>;
  remove(): Promise<void>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export function createKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]);
}

/** In the API's format. */
export async function publicKeyOf({ publicKey }: CryptoKeyPair): Promise<string> {
  return toBase64Url(await crypto.subtle.exportKey("raw", publicKey));
}

export async function signText({ privateKey }: CryptoKeyPair, text: string): Promise<string> {
  return toBase64Url(
    await crypto.subtle.sign(ALGORITHM, privateKey, new TextEncoder().encode(text)),
  );
}

function toBase64Url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCodePoint(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const KEYS = "keys";
const ID = "session";

/** Uses IndexedDB, which can store a key without exposing it. */
export const browserKeys: KeyStore = {
  find: () => inStore("readonly", (keys) => keys.get(ID) as IDBRequest<CryptoKeyPair | undefined>),
  save: async (pair) => void (await inStore("readwrite", (keys) => keys.put(pair, ID))),
  remove: () => inStore("readwrite", (keys) => keys.delete(ID)),
};

async function inStore<Result>(
  mode: IDBTransactionMode,
  run: (keys: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const opening = indexedDB.open("jp-desk", 1);
  opening.addEventListener("upgradeneeded", () => opening.result.createObjectStore(KEYS));
  const database = await done(opening);
  try {
    return await done(run(database.transaction(KEYS, mode).objectStore(KEYS)));
  } finally {
    database.close();
  }
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("No storage.")));
  });
}
