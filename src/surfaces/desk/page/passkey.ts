/**
 * Passkeys in the browser: adding, removing, and signing answers. Each takes one gesture, and a change may take one
 * more to be allowed.
 */
import type { Json } from "../../../util/index.ts";
import type { AnswerExtras, AnswerSignature, DeskClient, SigningJson } from "../client.ts";
import type { Item } from "./item.ts";

/** Whether a yes has to be signed. The server checks this too. */
export function isSigned({ terms }: Item): boolean {
  return terms?.proof === "signed";
}

/** Undefined if no signature is needed. Throws the server's refusal, and an `Error` if the person does not sign. */
export async function signAnswer(
  client: DeskClient,
  { item, answer, content }: { readonly item: Item; readonly answer: Json } & AnswerExtras,
): Promise<AnswerSignature | undefined> {
  if (answer === false || (item.kind === "in_doubt" && answer === "skip")) return undefined;
  return sign(await client.signing(item, answer, content));
}

async function sign(request: SigningJson): Promise<AnswerSignature> {
  const { nonce, challenge, rp_id, credentials } = request;
  const publicKey: PublicKeyCredentialRequestOptions = {
    challenge: toBytes(challenge),
    rpId: rp_id,
    userVerification: "required",
    allowCredentials: credentials.map(({ id, transports }) => ({
      type: "public-key",
      id: toBytes(id),
      transports: transports as AuthenticatorTransport[], // As the browser reported them before.
    })),
  };
  const credential = await ask(() => navigator.credentials.get({ publicKey }));
  const { clientDataJSON, authenticatorData, signature } =
    credential.response as AuthenticatorAssertionResponse; // The result of `get` always has one.
  return {
    nonce,
    key: credential.id,
    sig: toText(signature),
    authenticator_data: toText(authenticatorData),
    client_data: toText(clientDataJSON),
  };
}

interface AddOptions {
  /** The code of a link that allows it instead of another passkey. */
  readonly link?: string | undefined;
  /** The id of a passkey to remove at the same time. */
  readonly replaces?: string;
}

/** Throws like `signAnswer`. */
export async function addPasskey(
  client: DeskClient,
  { link, replaces }: AddOptions,
): Promise<void> {
  const { challenge, rp_id, name, known } = await client.startPasskey(link);
  const publicKey: PublicKeyCredentialCreationOptions = {
    challenge: toBytes(challenge),
    rp: { id: rp_id, name: "jp desk" },
    user: { id: new TextEncoder().encode(name).slice(0, 64), name, displayName: name },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })),
    excludeCredentials: known.map((id) => ({ type: "public-key", id: toBytes(id) })),
    authenticatorSelection: { userVerification: "required", residentKey: "discouraged" },
    attestation: "none",
  };
  const credential = await ask(() => navigator.credentials.create({ publicKey }));
  const response = credential.response as AuthenticatorAttestationResponse; // The result of `create` always has one.
  const toSign = await client.addPasskey({
    challenge,
    id: credential.id,
    client_data: toText(response.clientDataJSON),
    attestation: toText(response.attestationObject),
    transports: response.getTransports(),
    ...(replaces !== undefined && { replaces }),
  });
  if (toSign !== undefined) await client.signPasskeyChange(await sign(toSign));
}

/** Throws like `signAnswer`. */
export async function removePasskey(client: DeskClient, id: string): Promise<void> {
  await client.signPasskeyChange(await sign(await client.removePasskey(id)));
}

/** Browsers do not say which of the two it was. */
const NOT_SIGNED = "Not signed: it was cancelled, or took too long. Nothing was sent.";

async function ask(open: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  const credential = await open().catch((cause: unknown) => {
    const isCancelled = cause instanceof DOMException && cause.name === "NotAllowedError";
    if (!isCancelled) throw cause;
    throw new Error(NOT_SIGNED, { cause });
  });
  if (credential instanceof PublicKeyCredential) return credential;
  throw new Error(NOT_SIGNED);
}

function toBytes(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const text = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
