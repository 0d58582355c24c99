/**
 * RFC 3161 time stamps: requests one from an authority, and checks the response. The library parses it and verifies the
 * signature; RSA and the signer's identity, which it does not support, are handled here. Does not check revocation: use
 * `openssl ts -verify` for that.
 */
import { randomBytes, X509Certificate } from "node:crypto";
import { ASN1Obj, RFC3161Timestamp } from "@sigstore/core";
import { messageOf, oneLine, sha256, systemErrorCode } from "../util/index.ts";
import { AnchorError, type TimestampProof } from "./anchor.ts";

const MAX_RESPONSE_BYTES = 1024 * 1024;
const NONCE_BYTES = 8;

/** Throws `AnchorError`, and the signal's reason. */
export async function requestTimestamp(
  url: string,
  data: Buffer,
  signal: AbortSignal,
): Promise<TimestampProof> {
  const nonce = randomBytes(NONCE_BYTES);
  nonce[0] = 0x40 | ((nonce[0] ?? 0) & 0x3f); // Positive, and always the same length.
  const response = await post(url, requestFor(data, nonce), signal);
  try {
    checkTimestamp(response, data, { nonce });
  } catch (error) {
    if (!(error instanceof TimestampError)) throw error;
    const code = error.isRefusal ? "anchor_refused" : "anchor_invalid";
    throw new AnchorError(code, `${new URL(url).host}: ${error.message}`, error);
  }
  return { kind: "timestamp", url, response: response.toString("base64") };
}

/** `TimeStampReq`: version 1, SHA-256 of the data, the nonce, and a request for certificates. All lengths are fixed. */
function requestFor(data: Buffer, nonce: Buffer): Buffer {
  const imprint = `3031300d060960864801650304020105000420${sha256(data)}`;
  const content = `020101${imprint}0208${nonce.toString("hex")}0101ff`;
  return Buffer.from(`30${(content.length / 2).toString(16)}${content}`, "hex");
}

async function post(url: string, body: Buffer, signal: AbortSignal): Promise<Buffer> {
  const { host } = new URL(url);
  const failed = (reason: string) => new AnchorError("anchor_failed", `${host} ${reason}`);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/timestamp-query",
        accept: "application/timestamp-reply",
        "user-agent": "jp",
      },
      body: new Uint8Array(body),
      redirect: "manual",
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw failed(`answered with status ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) throw failed("sent too much");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AnchorError) throw error;
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw failed(`cannot be reached: ${systemErrorCode(cause) ?? oneLine(messageOf(cause))}`);
  }
}

/** Why a response is not a time stamp of the data. The message completes a sentence. */
export class TimestampError extends Error {
  /** The authority refused to make one. */
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal = false) {
    super(message);
    this.isRefusal = isRefusal;
  }
}

export interface CheckedTimestamp {
  /** The time by the authority's clock. */
  readonly at: string;
  /** The name in the certificate. Not verified unless `isTrusted`. */
  readonly authority: string;
  /** Undefined if no trusted certificates were given. */
  readonly isTrusted?: boolean;
}

interface TimestampExpectations {
  /** The request's nonce. */
  readonly nonce?: Buffer;
  /** Root certificates for the authority's certificate. */
  readonly trusted?: readonly X509Certificate[];
}

/** Throws `TimestampError`. */
export function checkTimestamp(
  response: Buffer,
  data: Buffer,
  { nonce, trusted }: TimestampExpectations = {},
): CheckedTimestamp {
  const token = asTimestampError("not a time stamp", () => new Token(response));
  const status = asTimestampError("not a time stamp", () => token.status);
  if (status > 1n) throw new TimestampError(`refused with status ${status}`, true);
  return asTimestampError("not a valid time stamp", () => {
    const { certificates, signer } = token;
    token.verify(data, signer.publicKey);
    if (nonce !== undefined && !token.hasNonce(nonce)) {
      throw new TimestampError("the time stamp is for another request");
    }
    const { time } = token;
    if (!isValidAt(signer, time)) {
      throw new TimestampError("the certificate of the authority is not valid at the time it says");
    }
    if (!signer.keyUsage.includes(TIME_STAMPING)) {
      throw new TimestampError("the certificate is not one for time stamps");
    }
    const isTrusted = trusted && comesFrom(signer, { trusted, others: certificates, time });
    return {
      at: time.toISOString(),
      authority: oneLine(signer.subject),
      ...(isTrusted !== undefined && { isTrusted }),
    };
  });
}

/** The library throws various errors for malformed bytes. */
function asTimestampError<Result>(reason: string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof TimestampError) throw error;
    throw new TimestampError(`${reason}: ${oneLine(messageOf(error))}`);
  }
}

/** The extended key usage. */
const TIME_STAMPING = "1.3.6.1.5.5.7.3.8";

const CONTENT_TYPE = "1.2.840.113549.1.9.3";
const TST_INFO = "1.2.840.113549.1.9.16.1.4";
/** Identifies the signing certificate, by SHA-1 or by another digest: RFC 5816. */
const SIGNING_CERTIFICATE = "1.2.840.113549.1.9.16.2.12";
const SIGNING_CERTIFICATE_V2 = "1.2.840.113549.1.9.16.2.47";
const HASHES: Readonly<Record<string, string>> = {
  "2.16.840.1.101.3.4.2.1": "sha256",
  "2.16.840.1.101.3.4.2.2": "sha384",
  "2.16.840.1.101.3.4.2.3": "sha512",
};

class Token extends RFC3161Timestamp {
  constructor(response: Buffer) {
    super(ASN1Obj.parseBuffer(Buffer.from(response)));
  }

  /** The library knows only ECDSA algorithms. For RSA, this is the digest's. */
  override get signatureAlgorithm(): string {
    const known: string | undefined = super.signatureAlgorithm;
    return known ?? this.signerDigestAlgorithm;
  }

  get certificates(): readonly X509Certificate[] {
    const set = this.#signedData.subs.find(({ tag }) => tag.isContextSpecific(0));
    return (set?.subs ?? []).map(
      ({ tag, value }) => new X509Certificate(new ASN1Obj(tag, value, []).toDER()),
    );
  }

  /** The certificate named in the token itself. */
  get signer(): X509Certificate {
    const [type] = this.#attribute(CONTENT_TYPE);
    if (type?.toOID() !== TST_INFO) throw new TimestampError("something else was signed");
    const { hash, digest } = this.#signingCertificate();
    const { createHash } = process.getBuiltinModule("node:crypto");
    const found = this.certificates.find(({ raw }) =>
      createHash(hash).update(raw).digest().equals(digest),
    );
    if (found === undefined) throw new TimestampError("the certificate of its signer is missing");
    return found;
  }

  /** `GeneralizedTime`, with any fraction of a second. */
  get time(): Date {
    const text = sub(this.tstInfo.root, 4).value.toString("latin1");
    const [, year, month, day, hour, minute, second, fraction = ""] =
      /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d+)?Z$/.exec(text) ?? [];
    const time = new Date(
      `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}Z`,
    );
    if (Number.isNaN(time.getTime())) throw new TimestampError("it has no time");
    return time;
  }

  hasNonce(nonce: Buffer): boolean {
    const found = this.tstInfo.root.subs.slice(5).find(({ tag }) => tag.isInteger());
    return found?.value.equals(nonce) === true;
  }

  get #signedData(): ASN1Obj {
    const content = sub(this.root, 1).subs.find(({ tag }) => tag.isContextSpecific(0));
    return sub(content, 0);
  }

  #signingCertificate(): { readonly hash: string; readonly digest: Buffer } {
    const [v2] = this.#attribute(SIGNING_CERTIFICATE_V2);
    const [v1] = this.#attribute(SIGNING_CERTIFICATE);
    const id = sub(sub(v2 ?? v1, 0), 0);
    const first = sub(id, 0);
    if (first.tag.isOctetString()) {
      return { hash: v2 === undefined ? "sha1" : "sha256", digest: first.value };
    }
    const hash = HASHES[sub(first, 0).toOID()];
    if (hash === undefined) throw new TimestampError("its certificate has an unknown digest");
    return { hash, digest: sub(id, 1).value };
  }

  /** The values of a signed attribute. */
  #attribute(oid: string): readonly ASN1Obj[] {
    const signers = this.#signedData.subs.at(-1);
    if (signers?.subs.length !== 1) throw new TimestampError("it does not have one signature");
    const signed = sub(signers, 0).subs.find(({ tag }) => tag.isContextSpecific(0));
    const found = signed?.subs.filter((attribute) => sub(attribute, 0).toOID() === oid) ?? [];
    if (found.length > 1) throw new TimestampError("it has an attribute twice");
    return found[0] === undefined ? [] : sub(found[0], 1).subs;
  }
}

function sub(object: ASN1Obj | undefined, index: number): ASN1Obj {
  const found = object?.subs[index];
  if (found === undefined) throw new TimestampError("a part of it is missing");
  return found;
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, time: Date): boolean {
  return validFromDate <= time && time <= validToDate;
}

interface TrustPath {
  readonly trusted: readonly X509Certificate[];
  readonly others: readonly X509Certificate[];
  readonly time: Date;
}

const MAX_PATH_LENGTH = 8;

/** Whether it is a trusted certificate, or has a chain to one. */
function comesFrom(signer: X509Certificate, { trusted, others, time }: TrustPath): boolean {
  let current = signer;
  for (let length = 0; length < MAX_PATH_LENGTH; length += 1) {
    const { raw } = current;
    if (trusted.some((one) => one.raw.equals(raw))) return true;
    const issued = (issuer: X509Certificate) =>
      issuer.ca &&
      isValidAt(issuer, time) &&
      current.checkIssued(issuer) &&
      current.verify(issuer.publicKey);
    if (trusted.some(issued)) return true;
    const issuer = others.find((one) => !one.raw.equals(raw) && issued(one));
    if (issuer === undefined) return false;
    current = issuer;
  }
  return false;
}
