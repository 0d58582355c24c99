/** The statements of an export: in-toto statements, version 1, with jp's predicates. `docs/proof.md` describes them. */
import { type ChainLink, parseLink } from "../record/conversation/index.ts";
import { parseSigned, signedToJson, type StatePlace } from "../stores/index.ts";
import {
  parsePublicPart,
  type PublicPart,
  publicPartToJson as keyToJson,
} from "../settings/people/index.ts";
import {
  arrayField,
  booleanField,
  canonicalJson,
  integerField,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  objectField,
  parseJson,
  sha256,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";
import {
  type Anchor,
  type AnchoredState,
  anchorToJson,
  digestOfDocument,
  digestOfHead,
  digestOfState,
  parseAnchor,
} from "./anchor.ts";

const STATEMENT = "https://in-toto.io/Statement/v1";
const PREFIX = "urn:jp-ts:evidence:";
const SUFFIX = ":v1";
export const EXPORT_VERSION = 1;

/** One line of an export. */
export type Statement = Place & (StatementContent | Unknown);

/** A statement's content, without its place. */
export type StatementContent = Header | Entry | End;

/** A statement's place in an export. */
export interface Place {
  /** Random, and shared by all statements of one export. */
  readonly export: string;
  /** Starts at 0. */
  readonly index: number;
}

/** The statements between the first and the last. */
type Entry =
  | LinkStatement
  | HeadStatement
  | StateStatement
  | Content
  | Finding
  | KeyStatement
  | Approval
  | AnchorStatement;

/** The first statement. */
export interface Header {
  readonly type: "export";
  readonly version: number;
  /** Such as `jp 1.0.0`. */
  readonly tool: string;
  /** By the machine's clock. */
  readonly at: string;
  /** The 32-byte key, in base64. */
  readonly key: string;
  readonly hasContent: boolean;
  /** How the conversations were selected. Empty for all. */
  readonly filters: JsonObject;
}

/** A link of a conversation's chain. */
export interface LinkStatement {
  readonly type: "link";
  readonly conversation: string;
  readonly link: ChainLink;
}

/** An anchored head of a conversation's chain. It follows the links, and its anchor follows it. */
export interface HeadStatement {
  readonly type: "head";
  readonly conversation: string;
  /** The number of links at the time. */
  readonly length: number;
  readonly head: string;
}

/**
 * A signed state of the last turn of a conversation in a database. The first one is that of the record. An anchored one
 * follows if an anchor covers it, and that anchor follows.
 */
export interface StateStatement extends AnchoredState {
  readonly type: "state";
  /** The SHA-256 of the conversation's place. The place itself names a server. */
  readonly place: string;
  readonly isAnchored: boolean;
}

export function digestOfPlace({ store, conversation }: StatePlace): string {
  return sha256(canonicalJson([store, conversation]));
}

/** An anchor of preceding heads and states, and of others that the export does not show. */
export interface AnchorStatement extends Anchor {
  readonly type: "anchor";
}

/** The event that a link commits to. */
export interface Content {
  readonly type: "content";
  readonly conversation: string;
  readonly seq: number;
  readonly salt: string;
  readonly event: JsonObject;
}

/** A person's signing key. It precedes their first signature. */
export interface KeyStatement {
  readonly type: "key";
  readonly person: string;
  readonly key: PublicPart;
}

/** A person's own signature over their decision. */
export interface Approval {
  readonly type: "approval";
  readonly conversation: string;
  /** The link's position. */
  readonly seq: number;
  /** As recorded. */
  readonly signature: JsonObject;
  /** The signed answer. Absent if it is content that the export omits. */
  readonly answer?: Json;
}

/** A difference between record and chain. */
export interface Finding {
  readonly type: "finding";
  readonly conversation: string;
  readonly code: FindingCode | (string & {});
  /** Details of the link, the line or the event: codes, names and numbers. */
  readonly about: JsonObject;
}

export type FindingCode =
  /** A line of the chain's file cannot be read. */
  | "unreadable_line"
  /** A link's event is missing from the record, or was changed. */
  | "event_missing"
  /** A link's salt is lost, so its event cannot be identified. */
  | "salt_missing"
  /** The record has this event, but there is no chain. */
  | "no_chain"
  /** An unlinked event in the record before the first linked event. */
  | "before_chain"
  /** An unlinked event in the record between linked events. */
  | "link_missing"
  /** An unlinked event in the record after the last linked event: its process is still running, or was killed. */
  | "link_pending"
  /** An anchored head is not in the chain. */
  | "head_missing"
  /** The chain's file cannot be read at all. */
  | "unreadable_chain"
  /** The signer is no longer known, or has removed the key. */
  | "key_missing"
  /** The record cannot be read, or only in part. */
  | "unreadable_record"
  /** This machine has seen a newer state of the last turn than the record has. */
  | "stepped_back"
  /** The user of this machine accepted an older state, because a backup was restored. */
  | "restore_accepted";

/** The last statement. */
export interface End {
  readonly type: "end";
  /** The number of statements, including this one. */
  readonly count: number;
  readonly conversations: readonly ConversationEnd[];
  /** SHA-256 over the digests of all preceding payloads, in order, in hexadecimal. */
  readonly payloads: string;
}

export interface ConversationEnd {
  readonly conversation: string;
  /** The number of links. */
  readonly length: number;
  /** The last link's digest. Empty if there is none. */
  readonly head: string;
}

/** From a newer version. */
export interface Unknown {
  readonly type: "unknown";
}

export function statementToBytes(statement: Exclude<Statement, Unknown>): Buffer {
  const { name, sha256: digest } = subjectOf(statement);
  const { export: id, index } = statement;
  return Buffer.from(
    JSON.stringify({
      _type: STATEMENT,
      subject: [{ name, digest: { sha256: digest } }],
      predicateType: `${PREFIX}${statement.type}${SUFFIX}`,
      predicate: { export: id, index, ...predicateOf(statement) },
    }),
  );
}

function predicateOf(statement: Exclude<Statement, Unknown>): JsonObject {
  switch (statement.type) {
    case "export": {
      const { version, tool, at, key, hasContent, filters } = statement;
      return { version, tool, at, key, content: hasContent, filters };
    }
    case "link":
      return { conversation: statement.conversation, link: statement.link.json };
    case "head": {
      const { conversation, length, head } = statement;
      return { conversation, length, head };
    }
    case "state": {
      const { conversation, place, isAnchored } = statement;
      return { conversation, place, ...signedToJson(statement), anchored: isAnchored };
    }
    case "anchor":
      return anchorToJson(statement);
    case "content": {
      const { conversation, seq, salt, event } = statement;
      return { conversation, seq, salt, event };
    }
    case "finding": {
      const { conversation, code, about } = statement;
      return { conversation, code, about };
    }
    case "key":
      return { person: statement.person, key: keyToJson(statement.key) };
    case "approval": {
      const { conversation, seq, signature, answer } = statement;
      return { conversation, seq, signature, ...(answer !== undefined && { answer }) };
    }
    case "end": {
      const { count, conversations, payloads } = statement;
      return { count, conversations: conversations.map((each) => ({ ...each })), payloads };
    }
  }
}

interface Subject {
  readonly name: string;
  readonly sha256: string;
}

function subjectOf(statement: Exclude<Statement, Unknown>): Subject {
  switch (statement.type) {
    case "export":
      return { name: "machine key", sha256: sha256(Buffer.from(statement.key, "base64")) };
    case "link": {
      const { conversation, link } = statement;
      return { name: `${conversation}/${link.seq}`, sha256: sha256(canonicalJson(link.json)) };
    }
    case "head": {
      const { conversation, length } = statement;
      return {
        name: `${conversation}/${length}/head`,
        sha256: digestOfHead({ ...statement, isRemoved: false }),
      };
    }
    case "state": {
      const { conversation, counter } = statement;
      return { name: `${conversation}/${counter}/state`, sha256: digestOfState(statement) };
    }
    case "anchor":
      return { name: "heads", sha256: digestOfDocument(statement.document) };
    case "content": {
      const { conversation, seq, event } = statement;
      return { name: `${conversation}/${seq}/event`, sha256: sha256(canonicalJson(event)) };
    }
    case "finding": {
      const { conversation, code, about } = statement;
      return { name: `${conversation}/${code}`, sha256: sha256(canonicalJson(about)) };
    }
    case "key": {
      const { person, key } = statement;
      return { name: `${person}/key`, sha256: sha256(canonicalJson(keyToJson(key))) };
    }
    case "approval": {
      const { conversation, seq, signature } = statement;
      return { name: `${conversation}/${seq}/approval`, sha256: sha256(canonicalJson(signature)) };
    }
    case "end":
      return { name: "payloads", sha256: statement.payloads };
  }
}

/** `isAbout`: whether its subject matches its content. Throws `SyntaxError`, `ShapeError`. */
export function parseStatement(bytes: Buffer): {
  readonly statement: Statement;
  readonly isAbout: boolean;
} {
  const json = parseJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  if (isTooDeep(json)) throw new ShapeError("", "too deep");
  const shape = shapeOf(json);
  if (stringField(shape, "_type") !== STATEMENT) throw new ShapeError("_type", "another one");
  const predicate = objectField(shape, "predicate");
  const place = { export: stringField(predicate, "export"), index: countField(predicate, "index") };
  const content = parsePredicate(stringField(shape, "predicateType"), predicate);
  if (content.type === "unknown") return { statement: { ...place, ...content }, isAbout: true };
  const statement = { ...place, ...content };
  const { name, sha256: digest } = subjectOf(statement);
  const subject = canonicalJson(arrayField(shape, "subject"));
  const expected: Json = [{ name, digest: { sha256: digest } }];
  return { statement, isAbout: subject === canonicalJson(expected) };
}

function parseKeyStatement(shape: Shape): KeyStatement | Unknown {
  const key = parsePublicPart(objectField(shape, "key").value);
  if (key === undefined) return { type: "unknown" };
  return { type: "key", person: stringField(shape, "person"), key };
}

function parseState(shape: Shape): StateStatement {
  return {
    type: "state",
    conversation: stringField(shape, "conversation"),
    place: stringField(shape, "place"),
    ...parseSigned(shape),
    isAnchored: booleanField(shape, "anchored"),
  };
}

function parseApproval(shape: Shape): Approval {
  const { answer } = shape.value;
  return {
    type: "approval",
    conversation: stringField(shape, "conversation"),
    seq: countField(shape, "seq"),
    signature: objectField(shape, "signature").value,
    ...(answer !== undefined && { answer }),
  };
}

function parsePredicate(type: string, shape: Shape): StatementContent | Unknown {
  switch (type) {
    case `${PREFIX}export${SUFFIX}`:
      return {
        type: "export",
        version: integerField(shape, "version"),
        tool: stringField(shape, "tool"),
        at: stringField(shape, "at"),
        key: stringField(shape, "key"),
        hasContent: booleanField(shape, "content"),
        filters: objectField(shape, "filters").value,
      };
    case `${PREFIX}link${SUFFIX}`: {
      const link = parseLink(objectField(shape, "link").value);
      return { type: "link", conversation: stringField(shape, "conversation"), link };
    }
    case `${PREFIX}head${SUFFIX}`:
      return {
        type: "head",
        conversation: stringField(shape, "conversation"),
        length: countField(shape, "length"),
        head: stringField(shape, "head"),
      };
    case `${PREFIX}state${SUFFIX}`:
      return parseState(shape);
    case `${PREFIX}anchor${SUFFIX}`:
      return { type: "anchor", ...parseAnchor(shape) };
    case `${PREFIX}content${SUFFIX}`:
      return {
        type: "content",
        conversation: stringField(shape, "conversation"),
        seq: countField(shape, "seq"),
        salt: stringField(shape, "salt"),
        event: objectField(shape, "event").value,
      };
    case `${PREFIX}finding${SUFFIX}`:
      return {
        type: "finding",
        conversation: stringField(shape, "conversation"),
        code: stringField(shape, "code"),
        about: objectField(shape, "about").value,
      };
    case `${PREFIX}key${SUFFIX}`:
      return parseKeyStatement(shape);
    case `${PREFIX}approval${SUFFIX}`:
      return parseApproval(shape);
    case `${PREFIX}end${SUFFIX}`:
      return {
        type: "end",
        count: countField(shape, "count"),
        conversations: arrayField(shape, "conversations").map((each) => parseEnd(each)),
        payloads: stringField(shape, "payloads"),
      };
    default:
      return { type: "unknown" };
  }
}

function parseEnd(json: Json): ConversationEnd {
  const shape = shapeOf(json, "conversations");
  return {
    conversation: stringField(shape, "conversation"),
    length: countField(shape, "length"),
    head: stringField(shape, "head"),
  };
}

function countField(shape: Shape, key: string): number {
  const count = integerField(shape, key);
  if (!Number.isSafeInteger(count) || count < 0) throw new ShapeError(key, "not a count");
  return count;
}

/** A link's commitment to its event. */
export function commitmentOf({ kind, json }: ChainLink): string | undefined {
  return kind === "event" ? findText(json, "event") : undefined;
}

/** Undefined if it is not a string. */
export function findText(json: JsonObject, key: string): string | undefined {
  const value = json[key];
  return typeof value === "string" ? value : undefined;
}

export function findObject(json: JsonObject, key: string): JsonObject | undefined {
  const value = json[key];
  return isJsonObject(value) ? value : undefined;
}
