/**
 * Verifies a file that `jp evidence export` has written, without any code of jp: only Node's own modules.
 *
 *     node verify.ts FILE [KEY_ID] [--strict]
 *
 * Prints the problems as codes, one JSON object, and exits with 1 if there are any. Without the ID of the key that you
 * expect, the file says itself who signed it, and anyone could have made it. With `--strict`, it is a problem that the owner of
 * the machine stood in for people.
 *
 * Of anchors, it checks that chains pass through what was anchored. Time stamps are left to `openssl ts -verify -digest SHA256
 * -in RESPONSE -CAfile CERT`, and commits to `git show COMMIT:FILE` in a clone.
 */
import { createHash, createPublicKey, type KeyObject, verify as isSigned } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Approvals } from "./approvals.ts";
import { type Counts, Terms } from "./terms.ts";

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
  /** Decisions that meet their terms, answers of the owner in the place of people, and what was not judged, by reason. */
  readonly judged: number;
  readonly ownerStoodIn: number;
  readonly notJudged: Counts;
  /** Decisions that do not meet their terms, by code. */
  readonly unmet: Counts;
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
  readonly links: Map<number, Link>;
  readonly salts: Salt[];
  version: number;
  /** The signed state of the record's last turn. */
  state?: Predicate;
}

/** The salt of a link that asks, or that starts a call. */
interface Salt {
  readonly link: Link;
  readonly salt: string;
}

/** The key that an export names. */
interface Key {
  readonly id: string;
  readonly object: KeyObject;
}

/** Its message is a code. */
class Problem extends Error {}

/** Checks the bytes of a file. */
export function verify(bytes: Uint8Array, expectedKeyId?: string, isStrict = false): Report {
  const problems = new Set<string>();
  const lines = Buffer.from(bytes).toString("latin1").split("\n");
  if (lines.pop() !== "" || lines.length === 0) problems.add("truncated");
  const isCut = problems.size > 0;
  const nothing = { ...readAll([], problems), keyId: "", isKeyExpected: false };
  const [first, ...others] = lines;
  if (first === undefined) return { ...nothing, problems: ["truncated"] };
  let header: Statement;
  let key: Key;
  try {
    key = keyIn(first);
    if (key.id !== (expectedKeyId ?? key.id)) throw new Problem("wrong_key");
    header = open(first, key);
    if (!isAbout(header)) throw new Problem("bad_subject");
    if (header.predicate["version"] !== 1) throw new Problem("newer_version");
  } catch (error) {
    return { ...nothing, problems: [codeOf(error)] };
  }
  const placed = place(header, others, { key, problems });
  if (!isCut && !placed.hasEnd && !placed.isEndUnread) problems.add("truncated");
  const read = readAll(placed.whole, problems);
  if (isStrict && read.ownerStoodIn > 0) problems.add("owner_stood_in");
  const found = { keyId: key.id, isKeyExpected: key.id === expectedKeyId };
  return { ...read, ...found, problems: [...problems].toSorted() };
}

function codeOf(error: unknown): string {
  return error instanceof Problem ? error.message : "malformed";
}

/** The first line has the key that it is signed with. */
function keyIn(line: string): Key {
  const { type, predicate } = statementIn(envelopeIn(line).payload);
  if (type !== "export" || predicate.index !== 0) throw new Problem("no_header");
  const key = bytesOf(predicate.key);
  if (key.length !== 32) throw new Problem("malformed");
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") };
  return { id: sha256(key), object: createPublicKey({ key: jwk, format: "jwk" }) };
}

/** Which lines are signed and of this export, and whether they are all there and in order. */
function place(
  header: Statement,
  lines: readonly string[],
  { key, problems }: { readonly key: Key; readonly problems: Set<string> },
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
function open(line: string, key: Key): Statement {
  const { payload, keyId, signature } = envelopeIn(line);
  if (keyId !== key.id) throw new Problem("wrong_key");
  const type = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  const signed = Buffer.concat([Buffer.from(type), payload]);
  if (!isSigned(null, signed, key.object, signature)) throw new Problem("bad_signature");
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
  state: (state) => [
    `${state.conversation}/${String(state["counter"])}/state`,
    digestOfState(state),
  ],
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

function digestOfState({ conversation, counter, length, digest: turn }: Predicate): string {
  return digest({ conversation, counter, length, digest: turn });
}

/** What is wrong with a statement about a chain. A code. */
const CHECKS: Readonly<Record<string, (chain: Chain, said: Predicate) => string | undefined>> = {
  link: (chain, { link }) => (add(chain, link) ? undefined : "broken_chain"),
  head: ({ heads }, said) =>
    heads[Number(said["length"]) - 1] === said["head"] ? undefined : "anchor_mismatch",
  state: (chain, said) => {
    const { state } = chain;
    if (said["anchored"] !== true) chain.state = said;
    else if (state !== undefined) {
      const ahead = Number(said["counter"]) - Number(state["counter"]);
      const isOther = said["digest"] !== state["digest"];
      if (ahead > 0 || (ahead === 0 && isOther)) return "stepped_back";
    }
    return undefined;
  },
  content: ({ links, salts }, { seq, salt, event }) => {
    const link = links.get(seq);
    if (link === undefined) return "unknown_link";
    if (sha256(`${salt}.${canonical(event)}`) !== link["event"]) return "commitment_mismatch";
    const isSame = saysSame(link, event as Json, salts);
    if (/_request$|^attempt_start$/.test(String(link["type"]))) salts.push({ link, salt });
    return isSame ? undefined : "link_mismatch";
  },
  finding: () => undefined,
  approval: () => undefined,
};

type Json = Readonly<Record<string, unknown>>;

/** Whether a link says what its event says, as far as that has it. Those of version 1 say less. */
function saysSame(link: Link, event: Json, salts: readonly Salt[]): boolean {
  if (link["version"] !== 2) return true;
  const { type, timestamp, digest: shown, result, answer, outcome, takes } = event;
  const { turn, ...offered } = (takes ?? {}) as Json;
  const code = turn === undefined ? {} : { turn: { code: (turn as Json)["code"] } };
  const decider = (event["decided_by"] ?? event["answered_by"] ?? event["by"]) as Json | undefined;
  const { channel, rules: _rules, ...others } = decider ?? {};
  const by = channel === undefined ? others : { ...others, surface: channel };
  const { rules: _named, ...said } = (link["by"] ?? {}) as Json;
  const salt = saltFor(link, salts);
  const chosen = canonical((result as Json | undefined)?.["content"] ?? answer);
  const isChosen = salt !== undefined && link["choice"] !== undefined;
  const pairs = [
    ...["for", "for_any", "person_ids", "deadline"].map((name) => [link[name], event[name]]),
    [link["terms"], (link["terms"] as Json | undefined)?.["unknown"] ? undefined : event["terms"]],
    [link["takes"], takes && { ...offered, ...code }],
    [String(type).endsWith("_request") ? link["shown"] : link["decided"], shown],
    [link["decision"], event["decision"] ?? outcome],
    [said, decider && said["kind"] !== "unknown" ? by : undefined],
    [link["choice"], isChosen ? sha256(`${salt}.choice.${chosen}`) : undefined],
    [link["type"], type],
    [link["at"], timestamp],
  ];
  return pairs.every(
    ([left, right]) => right === undefined || canonical(left) === canonical(right),
  );
}

/** That of the last link before that asks for it, or else that starts its call. */
function saltFor({ seq, id, call }: Link, salts: readonly Salt[]): string | undefined {
  const before = salts.filter(({ link }) => link.seq < seq);
  const isStart = ({ link }: Salt) => link["type"] === "attempt_start" && link["call"] === call;
  const asked = before.findLast(
    ({ link }) => link["type"] !== "attempt_start" && link["id"] === id,
  );
  return (asked ?? before.findLast(isStart))?.salt;
}

/** Checks what the statements say: chains, events and the totals. */
function readAll(statements: readonly Statement[], problems: Set<string>) {
  const chains: Chain[] = [];
  const approvals = new Approvals(problems, canonical);
  const terms = new Terms();
  const noes = new Map<number, boolean>();
  const leave = () => {
    terms.leave({
      signatureOf: (seq) => approvals.stateOf(seq),
      isNo: (seq) => noes.get(seq),
    });
    approvals.leave();
    noes.clear();
  };
  const payloads = createHash("sha256");
  const unanchored = new Set<string>();
  const anchors: Report["anchors"][number][] = [];
  let contents = 0;
  for (const [index, { type, predicate, payload }] of statements.entries()) {
    const isOther = chains.at(-1)?.conversation !== predicate.conversation;
    if (type === "end" || (Object.hasOwn(CHECKS, type) && isOther)) leave();
    if (Object.hasOwn(CHECKS, type)) {
      const code = CHECKS[type]?.(enter(chains, predicate.conversation, problems), predicate);
      if (code !== undefined) problems.add(code);
      else if (type === "content") contents += 1;
      else if (type === "head") unanchored.add(digestOfHead(predicate));
      if (predicate["anchored"] === true) unanchored.add(digestOfState(predicate));
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
    if (type === "link") terms.read(predicate.link);
    const { answer } = (type === "content" ? predicate["event"] : {}) as Json;
    if (answer !== undefined) noes.set(predicate.seq, answer === false);
    payloads.update(sha256(payload));
  }
  const links = statements.filter(({ type }) => type === "link").length;
  const { judged, ownerStoodIn, notJudged, unmet } = terms;
  if (Object.keys(unmet).length > 0) problems.add("terms_not_met");
  const counts = { statements: statements.length, links, contents };
  return { ...counts, judged, ownerStoodIn, notJudged, unmet, anchors };
}

function enter(chains: Chain[], conversation: string, problems: Set<string>): Chain {
  const last = chains.at(-1);
  if (last?.conversation === conversation) return last;
  if (chains.some((chain) => chain.conversation === conversation)) problems.add("broken_chain");
  const chain: Chain = { conversation, heads: [], links: new Map(), salts: [], version: 1 };
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
  const { kind, event, version = 1 } = link;
  const isNewer = Number(version) >= chain.version;
  chain.version = Math.max(chain.version, Number(version));
  if (kind === "event" && typeof event === "string") chain.links.set(link.seq, link);
  return follows && isOwn && isNewer && isFirst === (kind === "start");
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
  const words = process.argv.slice(2);
  const [file = "", keyId] = words.filter((word) => word !== "--strict");
  const report = verify(readFileSync(file), keyId, words.includes("--strict"));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.problems.length > 0) process.exitCode = 1;
}
