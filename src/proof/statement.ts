/** What an export says: in-toto statements, version 1, with predicates of jp. `docs/proof.md` describes them. */
import { type ChainLink, parseLink } from "../record/conversation/index.ts";
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
  anchorToJson,
  digestOfDocument,
  digestOfHead,
  parseAnchor,
} from "./anchor.ts";

const STATEMENT = "https://in-toto.io/Statement/v1";
const PREFIX = "urn:jp-ts:evidence:";
const SUFFIX = ":v1";
export const EXPORT_VERSION = 1;

/** One line of an export. */
export type Statement = Place & (StatementContent | Unknown);

/** What a statement says, wherever it is. */
export type StatementContent = Header | Entry | End;

/** Where in which export. */
export interface Place {
  /** Random. The same in all statements of one export. */
  readonly export: string;
  /** Counted from 0. */
  readonly index: number;
}

/** Between the first and the last. */
type Entry =
  | LinkStatement
  | HeadStatement
  | Content
  | Finding
  | KeyStatement
  | Approval
  | AnchorStatement;

/** The first one. */
export interface Header {
  readonly type: "export";
  readonly version: number;
  /** Such as `jp 1.0.0`. */
  readonly tool: string;
  /** By the clock of the machine. */
  readonly at: string;
  /** The 32 bytes of the key, in base64. */
  readonly key: string;
  readonly hasContent: boolean;
  /** Which conversations were asked for. Empty for all. */
  readonly filters: JsonObject;
}

/** A link of a conversation's chain. */
export interface LinkStatement {
  readonly type: "link";
  readonly conversation: string;
  readonly link: ChainLink;
}

/** A head of a conversation's chain that was anchored. It follows the links, and its anchor follows it. */
export interface HeadStatement {
  readonly type: "head";
  readonly conversation: string;
  /** How many links there were. */
  readonly length: number;
  readonly head: string;
}

/** An anchor of heads before it, and of others that the export does not show. */
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

/** A key with which a person has signed. It comes before the first signature. */
export interface KeyStatement {
  readonly type: "key";
  readonly person: string;
  readonly key: PublicPart;
}

/** A person's own signature of what they have decided. */
export interface Approval {
  readonly type: "approval";
  readonly conversation: string;
  /** Of the link. */
  readonly seq: number;
  /** As in the record. */
  readonly signature: JsonObject;
  /** What was signed as the answer. Absent if that is content, and not in the export. */
  readonly answer?: Json;
}

/** Something in which record and chain differ. */
export interface Finding {
  readonly type: "finding";
  readonly conversation: string;
  readonly code: FindingCode | (string & {});
  /** Of the link, the line or the event. Codes, names and numbers. */
  readonly about: JsonObject;
}

export type FindingCode =
  /** A line of the chain's file cannot be read. */
  | "unreadable_line"
  /** The event of a link is not in the record, or no longer as it was. */
  | "event_missing"
  /** The salt of a link is lost, so that no one can say which event it is about. */
  | "salt_missing"
  /** There is no chain, but the record has this. */
  | "no_chain"
  /** In the record before the first event that has a link. */
  | "before_chain"
  /** In the record between events that have links. */
  | "link_missing"
  /** In the record after the last event that has a link: its process is still running, or was killed. */
  | "link_pending"
  /** A head was anchored that the chain does not have. */
  | "head_missing"
  /** The chain's file cannot be read at all. */
  | "unreadable_chain"
  /** A person has signed it, and is no longer known, or has removed the key. */
  | "key_missing"
  /** The record, or a part of it, cannot be read. */
  | "unreadable_record";

/** The last one. */
export interface End {
  readonly type: "end";
  /** How many statements there are, with this one. */
  readonly count: number;
  readonly conversations: readonly ConversationEnd[];
  /** SHA-256 over the digests of all payloads before this one, in order, in hexadecimal digits. */
  readonly payloads: string;
}

export interface ConversationEnd {
  readonly conversation: string;
  /** How many links. */
  readonly length: number;
  /** The digest of the last one. Empty if there is none. */
  readonly head: string;
}

/** Of a newer version. */
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

/** `isAbout`: whether its subject is what it says. Throws `SyntaxError`, `ShapeError`. */
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

/** What a link says of the event that it commits to. */
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
