/**
 * Verifies a file that `jp evidence export` has written, without any code of jp: only Node's own modules.
 *
 *     node verify.ts FILE [KEY_ID]
 *
 * Prints the problems as codes, one JSON object, and exits with 1 if there are any. Without the ID of the key that you
 * expect, the file says itself who signed it, and anyone could have made it.
 */
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Approvals } from "./approvals.ts";

const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT = "https://in-toto.io/Statement/v1";
const PREDICATES = "urn:jp-ts:evidence:";

/** What a file proves, or why it proves nothing. */
export interface Report {
  readonly problems: readonly string[];
  readonly keyId: string;
  readonly isKeyExpected: boolean;
  readonly statements: number;
  readonly links: number;
  readonly contents: number;
}

interface Link {
  readonly kind: string;
  readonly seq: number;
  readonly prev: string;
  readonly conversation?: string;
  readonly event?: unknown;
}

/** All members of all types: each type has some of them. */
interface Predicate {
  readonly export: string;
  readonly index: number;
  readonly key: string;
  readonly conversation: string;
  readonly link: Link;
  readonly seq: number;
  readonly salt: string;
  readonly code: string;
  readonly [name: string]: unknown;
}

interface Statement {
  /** The name of its predicate, such as `export` or `link`, or empty if unknown. */
  readonly type: string;
  readonly subject: unknown;
  readonly predicate: Predicate;
  readonly payload: Buffer;
}

/** A chain, as far as it was read. */
interface Chain {
  readonly conversation: string;
  length: number;
  head: string;
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
  const nothing = { keyId: "", isKeyExpected: false, statements: 0, links: 0, contents: 0 };
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
  const keyId = sha256(key);
  const isKeyExpected = keyId === expectedKeyId;
  return { ...read, problems: [...problems].toSorted(), keyId, isKeyExpected };
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
  const passed = new Set<number>(); // Indices that were passed over.
  let next = 1;
  let unread = 0; // Each line that cannot be read may be one of those.
  let hasEnd = false;
  for (const line of lines) {
    let statement: Statement;
    try {
      statement = open(line, key);
      const isOwn = statement.predicate.export === header.predicate.export;
      if (!isOwn) throw new Problem("foreign_export");
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
  if (!isSigned(null, signed, createPublicKey({ key: jwk, format: "jwk" }), signature)) {
    throw new Problem("bad_signature");
  }
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
  const { predicate, ...json } = JSON.parse(text) as {
    readonly predicate: Predicate;
    readonly [name: string]: unknown;
  };
  const isPlaced =
    typeof predicate.export === "string" &&
    Number.isSafeInteger(predicate.index) &&
    predicate.index >= 0;
  if (json["_type"] !== STATEMENT || !isPlaced) throw new Problem("malformed");
  const { subject, predicateType } = json;
  const [, name = ""] = new RegExp(`^${PREDICATES}(\\w+):v1$`).exec(String(predicateType)) ?? [];
  const type = /^(?:export|link|content|finding|key|approval|end)$/.test(name) ? name : "";
  return { type, subject, predicate, payload };
}

/** Whether the subject of a statement is the digest of what it says. */
function isAbout({ type, subject, predicate }: Statement): boolean {
  if (type === "") return true;
  const { conversation, link, seq, event, code, about } = predicate;
  const digests: Readonly<Record<string, () => readonly [string, unknown]>> = {
    export: () => ["machine key", sha256(bytesOf(predicate.key))],
    link: () => [`${conversation}/${link.seq}`, sha256(canonical(link))],
    content: () => [`${conversation}/${seq}/event`, sha256(canonical(event))],
    finding: () => [`${conversation}/${code}`, sha256(canonical(about))],
    key: () => [`${String(predicate["person"])}/key`, sha256(canonical(predicate.key))],
    approval: () => [`${conversation}/${seq}/approval`, sha256(canonical(predicate["signature"]))],
    end: () => ["payloads", predicate["payloads"]],
  };
  const [name, digest] = digests[type]?.() ?? [];
  return canonical(subject) === canonical([{ name, digest: { sha256: digest } }]);
}

/** Checks what the statements say: chains, events and the totals. */
function readAll(statements: readonly Statement[], problems: Set<string>) {
  const chains: Chain[] = [];
  const approvals = new Approvals(problems, canonical);
  const payloads = createHash("sha256");
  let links = 0;
  let contents = 0;
  for (const [index, { type, predicate, payload }] of statements.entries()) {
    if (type === "end") approvals.leave();
    if (type === "link" || type === "content" || type === "finding" || type === "approval") {
      if (chains.at(-1)?.conversation !== predicate.conversation) approvals.leave();
      const chain = enter(chains, predicate.conversation, problems);
      if (type === "link") {
        links += 1;
        if (!add(chain, predicate.link)) problems.add("broken_chain");
      }
      if (type === "content") {
        const code = check(chain, predicate);
        if (code === undefined) contents += 1;
        else problems.add(code);
      }
    }
    if (type === "end") {
      const ends = chains.map(({ conversation, length, head }) => ({ conversation, length, head }));
      const total = [index + 1, ends, payloads.copy().digest("hex")];
      const { count, conversations, payloads: digest } = predicate;
      const isSame = canonical([count, conversations, digest]) === canonical(total);
      if (!isSame) problems.add("wrong_total");
    }
    approvals.read(type, predicate);
    payloads.update(sha256(payload));
  }
  return { statements: statements.length, links, contents };
}

function enter(chains: Chain[], conversation: string, problems: Set<string>): Chain {
  const last = chains.at(-1);
  if (last?.conversation === conversation) return last;
  if (chains.some((chain) => chain.conversation === conversation)) problems.add("broken_chain");
  const chain = { conversation, length: 0, head: "", commitments: new Map<number, string>() };
  chains.push(chain);
  return chain;
}

/** Each link has the digest of the one before; the first one says whose chain it is. */
function add(chain: Chain, link: Link): boolean {
  const isFirst = chain.length === 0;
  const isStart = link.kind === "start";
  const follows = link.seq === chain.length && link.prev === chain.head;
  const isOwn = !isFirst || link.conversation === chain.conversation;
  chain.length += 1;
  chain.head = sha256(canonical(link));
  if (link.kind === "event" && typeof link.event === "string") {
    chain.commitments.set(link.seq, link.event);
  }
  return follows && isOwn && isFirst === isStart;
}

function check({ commitments }: Chain, { seq, salt, event }: Predicate): string | undefined {
  const commitment = commitments.get(seq);
  if (commitment === undefined) return "unknown_link";
  return sha256(`${salt}.${canonical(event)}`) === commitment ? undefined : "commitment_mismatch";
}

/** RFC 8785. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
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
