/**
 * Verifies a file that `jp evidence export` has written, without any code of jp: only Node's own modules.
 *
 *     node verify.ts FILE [KEY_ID]
 *
 * Prints the problems as codes, one JSON object, and exits with 1 if there are any. Without the ID of the key that you
 * expect, the file says itself who signed it, and anyone could have made it.
 *
 * Of anchors, it checks that chains pass through what was anchored. Time stamps are left to `openssl ts -verify -digest SHA256
 * -in RESPONSE -CAfile CERT`, and commits to `git show COMMIT:FILE` in a clone.
 */
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Approvals } from "./approvals.ts";

const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT = "https://in-toto.io/Statement/v1";
const PREDICATE = /^urn:jp-ts:evidence:(\w+):v1$/;

/** What a file proves, or why it proves nothing. */
export interface Report {
  readonly problems: readonly string[];
  readonly keyId: string;
  readonly isKeyExpected: boolean;
  readonly statements: number;
  readonly links: number;
  readonly contents: number;
  readonly anchors: readonly { readonly sha256: string; readonly proof: unknown }[];
}

type Link = Readonly<Record<string, unknown>> & { readonly seq: number };

/** All members of all types: each type has some of them. */
interface Predicate {
  readonly export: string;
  readonly index: number;
  readonly key: string;
  readonly conversation: string;
  readonly link: Link;
  readonly seq: number;
  readonly salt: string;
  readonly document: { readonly heads: readonly string[] };
  readonly [name: string]: unknown;
}

interface Statement {
  /** The name of its predicate. Empty if unknown. */
  readonly type: string;
  readonly subject: unknown;
  readonly predicate: Predicate;
  readonly payload: Buffer;
}

/** A chain, as far as it was read: the digests of its links, and of the events that they commit to. */
interface Chain {
  readonly conversation: string;
  readonly heads: string[];
  readonly commitments: Map<number, string>;
}

/** Its message is a code. */
class Problem extends Error {}

/** Checks the bytes of a file. */
export function verify(bytes: Uint8Array, expectedKeyId?: string): Report {
  const problems = new Set<string>();
  const lines = Buffer.from(bytes).toString("latin1").split("\n");
  if (lines.pop() !== "" || lines.length === 0) problems.add("truncated");
  const isCut = problems.size > 0;
  const nothing = { ...readAll([], problems), keyId: "", isKeyExpected: false };
  const [first, ...others] = lines;
  if (first === undefined) return { ...nothing, problems: ["truncated"] };
  let header: Statement;
  let key: Buffer;
  try {
    key = keyIn(first);
    if (sha256(key) !== (expectedKeyId ?? sha256(key))) throw new Problem("wrong_key");
    header = open(first, key);
    if (!isAbout(header)) throw new Problem("bad_subject");
    if (header.predicate["version"] !== 1) throw new Problem("newer_version");
  } catch (error) {
    return { ...nothing, problems: [codeOf(error)] };
  }
  const placed = place(header, others, { key, problems });
  if (!isCut && !placed.hasEnd && !placed.isEndUnread) problems.add("truncated");
  const read = readAll(placed.whole, problems);
  const found = { keyId: sha256(key), isKeyExpected: sha256(key) === expectedKeyId };
  return { ...read, ...found, problems: [...problems].toSorted() };
}

function codeOf(error: unknown): string {
  return error instanceof Problem ? error.message : "malformed";
}

/** The first line has the key that it is signed with. */
function keyIn(line: string): Buffer {
  const { type, predicate } = statementIn(envelopeIn(line).payload);
  if (type !== "export" || predicate.index !== 0) throw new Problem("no_header");
  const key = bytesOf(predicate.key);
  if (key.length !== 32) throw new Problem("malformed");
  return key;
}

/** Which lines are signed and of this export, and whether they are all there and in order. */
function place(
  header: Statement,
  lines: readonly string[],
  { key, problems }: { readonly key: Buffer; readonly problems: Set<string> },
) {
  const whole = [header];
  const { export: id } = header.predicate;
  const passed = new Set<number>(); // Indices that were passed over.
  let next = 1;
  let unread = 0; // Each line that cannot be read may be one of those.
  let hasEnd = false;
  for (const line of lines) {
    let statement: Statement;
    try {
      statement = open(line, key);
      if (statement.predicate.export !== id) throw new Problem("foreign_export");
      if (!isAbout(statement)) problems.add("bad_subject");
    } catch (error) {
      problems.add(codeOf(error));
      unread += 1;
      continue;
    }
    const { index } = statement.predicate;
    if (index < next) {
      problems.add(passed.delete(index) ? "out_of_order" : "repeated");
      continue;
    }
    if (hasEnd) problems.add("after_end");
    for (let each = next + unread; each < index && passed.size < 1_000_000; each += 1)
      passed.add(each);
    next = index + 1;
    unread = 0;
    hasEnd ||= statement.type === "end";
    if (problems.size === 0 && passed.size === 0) whole.push(statement);
  }
  if (passed.size > 0) problems.add("missing");
  return { whole, hasEnd, isEndUnread: unread > 0 };
}

/** Throws a `Problem`, or whatever parsing throws. */
function open(line: string, key: Buffer): Statement {
  const { payload, keyId, signature } = envelopeIn(line);
  if (keyId !== sha256(key)) throw new Problem("wrong_key");
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") };
  const type = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  const signed = Buffer.concat([Buffer.from(type), payload]);
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  if (!isSigned(null, signed, publicKey, signature)) throw new Problem("bad_signature");
  return statementIn(payload);
}

function envelopeIn(line: string) {
  const { payload, signatures } = JSON.parse(line) as {
    readonly payload: string;
    readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
  };
  const { keyid, sig } = signatures[0] ?? { keyid: "", sig: "" };
  const exact = { payloadType: PAYLOAD_TYPE, payload, signatures: [{ keyid, sig }] };
  if (JSON.stringify(exact) !== line) throw new Problem("malformed");
  const signature = bytesOf(sig);
  if (signature.length !== 64) throw new Problem("malformed");
  return { payload: bytesOf(payload), keyId: keyid, signature };
}

function statementIn(payload: Buffer): Statement {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
  const { predicate, subject, ...json } = JSON.parse(text) as {
    readonly predicate: Predicate;
    readonly [name: string]: unknown;
  };
  const { export: id, index } = predicate;
  const isPlaced = typeof id === "string" && Number.isSafeInteger(index) && index >= 0;
  if (json["_type"] !== STATEMENT || !isPlaced) throw new Problem("malformed");
  const [, name = ""] = PREDICATE.exec(String(json["predicateType"])) ?? [];
  return { type: Object.hasOwn(SUBJECTS, name) ? name : "", subject, predicate, payload };
}

/** What each type of statement is about: a name and a digest. */
const SUBJECTS: Readonly<Record<string, (predicate: Predicate) => readonly unknown[]>> = {
  export: ({ key }) => ["machine key", sha256(bytesOf(key))],
  link: ({ conversation, link }) => [`${conversation}/${link.seq}`, digest(link)],
  head: (head) => [`${head.conversation}/${String(head["length"])}/head`, digestOfHead(head)],
  content: ({ conversation, seq, event }) => [`${conversation}/${seq}/event`, digest(event)],
  finding: ({ conversation, code, about }) => [`${conversation}/${String(code)}`, digest(about)],
  anchor: ({ document }) => ["heads", digest(document)],
  key: ({ person, key }) => [`${String(person)}/key`, digest(key)],
  approval: ({ conversation, seq, signature }) => [
    `${conversation}/${seq}/approval`,
    digest(signature),
  ],
  end: ({ payloads }) => ["payloads", payloads],
};

function isAbout({ type, subject, predicate }: Statement): boolean {
  if (type === "") return true;
  const [name, found] = SUBJECTS[type]?.(predicate) ?? [];
  return canonical(subject) === canonical([{ name, digest: { sha256: found } }]);
}

function digestOfHead({ conversation, length, head }: Predicate): string {
  return digest({ conversation, length, head });
}

/** What is wrong with a statement about a chain. A code. */
const CHECKS: Readonly<Record<string, (chain: Chain, said: Predicate) => string | undefined>> = {
  link: (chain, { link }) => (add(chain, link) ? undefined : "broken_chain"),
  head: ({ heads }, said) =>
    heads[Number(said["length"]) - 1] === said["head"] ? undefined : "anchor_mismatch",
  content: ({ commitments }, { seq, salt, event }) => {
    const commitment = commitments.get(seq);
    if (commitment === undefined) return "unknown_link";
    return sha256(`${salt}.${canonical(event)}`) === commitment ? undefined : "commitment_mismatch";
  },
  finding: () => undefined,
  approval: () => undefined,
};

/** Checks what the statements say: chains, events and the totals. */
function readAll(statements: readonly Statement[], problems: Set<string>) {
  const chains: Chain[] = [];
  const approvals = new Approvals(problems, canonical);
  const payloads = createHash("sha256");
  const unanchored = new Set<string>();
  const anchors: Report["anchors"][number][] = [];
  let contents = 0;
  for (const [index, { type, predicate, payload }] of statements.entries()) {
    const isOther = chains.at(-1)?.conversation !== predicate.conversation;
    if (type === "end" || (Object.hasOwn(CHECKS, type) && isOther)) approvals.leave();
    if (Object.hasOwn(CHECKS, type)) {
      const code = CHECKS[type]?.(enter(chains, predicate.conversation, problems), predicate);
      if (code !== undefined) problems.add(code);
      else if (type === "content") contents += 1;
      else if (type === "head") unanchored.add(digestOfHead(predicate));
    }
    if (type === "anchor") {
      for (const head of predicate.document.heads) unanchored.delete(head);
      anchors.push({ sha256: digest(predicate.document), proof: predicate["proof"] });
    }
    if (type === "end") {
      if (unanchored.size > 0) problems.add("anchor_missing");
      const total = [index + 1, chains.map(endOf), payloads.copy().digest("hex")];
      const said = [predicate["count"], predicate["conversations"], predicate["payloads"]];
      if (canonical(said) !== canonical(total)) problems.add("wrong_total");
    }
    approvals.read(type, predicate);
    payloads.update(sha256(payload));
  }
  const links = statements.filter(({ type }) => type === "link").length;
  return { statements: statements.length, links, contents, anchors };
}

function enter(chains: Chain[], conversation: string, problems: Set<string>): Chain {
  const last = chains.at(-1);
  if (last?.conversation === conversation) return last;
  if (chains.some((chain) => chain.conversation === conversation)) problems.add("broken_chain");
  const chain = { conversation, heads: [], commitments: new Map<number, string>() };
  chains.push(chain);
  return chain;
}

function endOf({ conversation, heads }: Chain) {
  return { conversation, length: heads.length, head: heads.at(-1) ?? "" };
}

/** Each link has the digest of the one before; the first one says whose chain it is. */
function add(chain: Chain, link: Link): boolean {
  const { length, head } = endOf(chain);
  const isFirst = length === 0;
  const follows = link.seq === length && link["prev"] === head;
  const isOwn = !isFirst || link["conversation"] === chain.conversation;
  chain.heads.push(digest(link));
  const { kind, event } = link;
  if (kind === "event" && typeof event === "string") chain.commitments.set(link.seq, event);
  return follows && isOwn && isFirst === (kind === "start");
}

/** RFC 8785. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}

function digest(value: unknown): string {
  return sha256(canonical(value));
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Base64 in the one way to write it. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new Problem("malformed");
  return bytes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file = "", keyId] = process.argv;
  const report = verify(readFileSync(file), keyId);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.problems.length > 0) process.exitCode = 1;
}
