/**
 * The subject of a decision: what is decided, as data. Its digest is recorded with the request and with the answer, so
 * that a yes counts only for what was shown.
 */
import type { ToolOrigin, ToolSource } from "../tool/index.ts";
import {
  canonicalJson,
  canonicalObject,
  type Json,
  type JsonObject,
  sha256,
} from "../../util/index.ts";
import type { ConversationId } from "./conversation-id.ts";
import type { InquiryRequest, SubjectDigest, ToolResult } from "./event.ts";
import { inquiryQuestionToJson } from "./inquiry-codec.ts";
import { blocksToJson } from "./call-codec.ts";
import { type ForWhom, isForSome, whomToJson } from "./whom.ts";

/**
 * The formats of subjects. Digests of different versions cannot be compared. In portable versions, programs and files have
 * the same names on every machine: see `ToolSource.isPortable`. In the others, they have their real paths. Earlier versions
 * had other files: see `ToolSource.earlier`.
 */
const VERSIONS = {
  usual: { current: 3, earlier: 1 },
  portable: { current: 4, earlier: 2 },
} as const;

/** After a save by the Rust original. */
const UNKNOWN_VERSION = 0;

/** Whether programs and files have the same names in it on every machine. */
export function isPortable({ version }: SubjectDigest): boolean {
  const { current, earlier } = VERSIONS.portable;
  return version === current || version === earlier;
}

/** A call as it would run right now. */
export interface CallSubject {
  readonly conversation: ConversationId;
  readonly toolCallId: string;
  readonly tool: string;
  readonly source: ToolSource;
  /** Exactly as the call will run, with defaults applied. */
  readonly arguments: JsonObject;
}

/**
 * For a permission to run the call, and for a call in doubt: both let the same thing run. `recorded`: to compare with this
 * one, so in its version, if that can still be made.
 */
export function digestCall(
  call: CallSubject,
  whom: ForWhom = {},
  recorded?: SubjectDigest,
): SubjectDigest {
  return digestLike(recorded, call.source, (version) =>
    digest("call", { ...callParts(call, version), ...whomPart(whom) }, version),
  );
}

/** Whether it is the digest of a decision about the call as it is now, in whatever version. */
export function isDigestOf(
  decided: string | undefined,
  call: CallSubject,
  whom: ForWhom = {},
): boolean {
  if (decided === undefined) return false;
  const recorded = { digest: decided, version: UNKNOWN_VERSION, parts: {} };
  return digestCall(call, whom, recorded).digest === decided;
}

type Asked = Pick<InquiryRequest, "question" | "for" | "forAny" | "terms" | "state">;

/** For a question of the call. Uses its recorded fields. `recorded`: as for `digestCall`. */
export function digestQuestion(
  call: CallSubject,
  { question, state, ...whom }: Asked,
  recorded?: SubjectDigest,
): SubjectDigest {
  const { text, context, answer_type, default: suggested } = inquiryQuestionToJson(question);
  const asked = { text, context, answer_type, default: suggested, ...whomToJson(whom) };
  // A server's state identifies what its question is about.
  const { binding = state } = question;
  return digestLike(recorded, call.source, (version) =>
    digest("question", { ...callParts(call, version), question: asked, binding }, version),
  );
}

/** Who decides about a delivery, and the digest on record to compare with: see `digestCall`. */
interface DeliveryDecision {
  readonly whom?: ForWhom | undefined;
  readonly recorded?: SubjectDigest | undefined;
}

/** For the delivery of a result. The call has run, so it can no longer change. */
export function digestDelivery(
  { conversation, toolCallId, tool }: Omit<CallSubject, "source" | "arguments">,
  { content, isError, blocks }: ToolResult,
  { whom = {}, recorded }: DeliveryDecision = {},
): SubjectDigest {
  const result = { content, is_error: isError, ...blocksToJson({ ...(blocks && { blocks }) }) };
  const call = { conversation, id: toolCallId, tool };
  return digestLike(recorded, {}, (version) =>
    digest("delivery", { call, result, ...whomPart(whom) }, version),
  );
}

/** Empty if anyone may decide, as in older records. */
function whomPart(whom: ForWhom): Parts {
  return isForSome(whom) ? { whom: whomToJson(whom) } : {};
}

/** Whether it was made for a call of this conversation. A fork has the digests of its original. */
export function isMadeIn(
  { parts }: SubjectDigest,
  { conversation, toolCallId, tool }: Omit<CallSubject, "source" | "arguments">,
): boolean {
  return parts["call"] === partDigest({ conversation, id: toolCallId, tool });
}

/** Whether it was made for a call with exactly these arguments. */
export function isMadeWith({ parts }: SubjectDigest, args: JsonObject): boolean {
  return parts["arguments"] === partDigest(args);
}

/**
 * The parts that differ, in alphabetical order. `version` and `digest` stand for all of them: the digest has another
 * version, or the Rust original has dropped the parts.
 */
export function changedParts(before: SubjectDigest, now: SubjectDigest): readonly string[] {
  if (before.digest === now.digest) return [];
  if (before.version !== now.version && before.version !== UNKNOWN_VERSION) return ["version"];
  if (Object.keys(before.parts).length === 0) return ["digest"];
  const names = new Set([...Object.keys(before.parts), ...Object.keys(now.parts)]);
  return [...names].filter((name) => before.parts[name] !== now.parts[name]).toSorted();
}

/** The parts of a subject that identify the tool. */
const TOOL_PARTS = ["source", "program", "file", "definition"] as const;

/**
 * The identity of a subject's tool: it changes with its program, its files or its server's description. For a tool that
 * ships with jp, the program depends on the arguments, and is not part of its identity.
 */
export function toolIdentity({ parts }: SubjectDigest, origin: ToolOrigin | undefined): string {
  const own = origin?.type === "builtin" ? TOOL_PARTS.slice(0, 1) : TOOL_PARTS;
  return JSON.stringify(own.map((part) => parts[part] ?? ""));
}

/** The identities of the call's tool: as new subjects have it, and as earlier ones do, if they can still be compared. */
export function toolIdentities(call: CallSubject): readonly string[] {
  const { origin } = call.source;
  const earlier = Object.values(VERSIONS).map(({ earlier: version }) => ({ ...NONE, version }));
  const digests = [undefined, ...earlier].map((recorded) => digestCall(call, {}, recorded));
  return [...new Set(digests.map((each) => toolIdentity(each, origin)))];
}

const NONE = { digest: "", parts: {} };

type Parts = Readonly<Record<string, unknown>>;

function callParts(
  { conversation, toolCallId, tool, source, ...call }: CallSubject,
  version: number,
): Parts {
  const { origin, identity, definition, folder, earlier } = source;
  const isEarlier = version === VERSIONS.usual.earlier || version === VERSIONS.portable.earlier;
  const { program, file } = isEarlier && typeof earlier === "object" ? earlier : source;
  return {
    call: { conversation, id: toolCallId, tool },
    source: { origin: withoutConfinement(origin), identity },
    confinement: confinementOf(source),
    program,
    file,
    definition,
    folder,
    arguments: call.arguments,
  };
}

/** Confinement differs between calls of one tool. */
function withoutConfinement(origin: ToolOrigin): ToolOrigin {
  return origin.type === "builtin" ? { type: origin.type } : origin;
}

function confinementOf({ origin, confined }: ToolSource): Json | undefined {
  if (origin.type !== "builtin" || origin.confinement === undefined) return undefined;
  const { type: _type, ...shown } = origin;
  return { ...shown, ...(confined !== undefined && { confined }) };
}

/** In the version of the recorded digest, unless a file above 1 MB was not identified by its content then. */
function digestLike(
  recorded: SubjectDigest | undefined,
  { isPortable: isShared, earlier: named }: Pick<ToolSource, "isPortable" | "earlier">,
  make: (version: number) => SubjectDigest,
): SubjectDigest {
  const { current, earlier } = isShared === true ? VERSIONS.portable : VERSIONS.usual;
  if (recorded === undefined || recorded.version === current || named === "incomparable") {
    return make(current);
  }
  const before = make(earlier);
  const isBefore = recorded.version === UNKNOWN_VERSION && recorded.digest === before.digest;
  return recorded.version === earlier || isBefore ? before : make(current);
}

const PART_DIGITS = 16;

function digest(kind: string, parts: Parts, version: number): SubjectDigest {
  const present = Object.entries(parts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, canonicalJson(value as Json)] as const); // Data all the way down.
  const subject = canonicalObject([
    ["version", canonicalJson(version)],
    ["kind", canonicalJson(kind)],
    ...present,
  ]);
  const shown = present.filter(([name, json]) => name !== "folder" || json !== USUAL_FOLDER);
  return {
    digest: sha256(subject),
    version,
    parts: Object.fromEntries(shown.map(([name, json]) => [name, partDigestOf(json)])),
  };
}

const USUAL_FOLDER = canonicalJson(".");

function partDigest(part: Json): string {
  return partDigestOf(canonicalJson(part));
}

function partDigestOf(canonical: string): string {
  return sha256(canonical).slice(0, PART_DIGITS);
}
