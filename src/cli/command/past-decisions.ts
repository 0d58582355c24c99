/** The decisions about calls that a person has made at prompts, read from the record of a workspace, for rules that could have made them. */
import {
  type AnswerEvent,
  deciderOf,
  timestampToMilliseconds,
  isPortable,
  toolIdentity,
} from "../../conversation/index.ts";
import { checkArguments } from "../../executor/index.ts";
import { type CallOfTool, identityOfCall, type Verdict } from "../../policy/index.ts";
import { findTool, type Tools } from "../../runtime/index.ts";
import { messageOf } from "../../util/index.ts";
import type { InquiryRow } from "../../render/index.ts";
import type { CommandContext } from "../context.ts";
import { parseTime } from "../conversations.ts";
import { readInquiries } from "./inquiry.ts";

export interface RecordFlags {
  readonly from?: string;
  readonly until?: string;
  readonly format?: "text" | "json";
}

/** A call that a person has decided about. */
export interface DecidedCall {
  readonly row: InquiryRow;
  readonly call: CallOfTool;
  readonly isApproved: boolean;
  readonly identity: string;
  /** The tool is the one that was decided about. */
  readonly isSameTool: boolean;
}

/** What was read, and what could not be used. */
export interface ReadDecisions {
  readonly conversations: Set<string>;
  count: number;
  /** Conversations that no terminal of this user has used. */
  foreign: number;
  /** Tools that are not available, and why. */
  readonly missing: Map<string, string>;
}

/** In the order of time within a conversation, the oldest conversation first. Notes in `read` what it comes across. */
export async function* readDecisions(
  { from = "8w", until }: RecordFlags,
  { context, tools, read }: { context: CommandContext; tools: Tools; read: ReadDecisions },
): AsyncGenerator<DecidedCall> {
  const now = context.clock.now();
  const start = parseTime(from, now).getTime();
  const end = until === undefined ? Number.POSITIVE_INFINITY : parseTime(until, now).getTime();
  const conversation = await findOwn(context, start, read);
  if (conversation.length === 0) return;
  const opened = new Map<string, Promise<CallOfTool["tool"] | undefined>>();
  const open = (name: string) => {
    const known = opened.get(name) ?? openTool(name, tools, read);
    opened.set(name, known);
    return known;
  };
  for await (const row of readInquiries({ conversation }, context)) {
    const isApproved = findAnswer(row);
    const time = timestampToMilliseconds(row.askedAt);
    if (isApproved === undefined || time < start || time >= end) continue;
    const decided = await toDecided(row, isApproved, open);
    if (decided === undefined) continue;
    read.count += 1;
    read.conversations.add(row.conversation);
    yield decided;
  }
}

/** What would have happened without a prompt. Undefined if the person would have been asked all the same. */
export function outcomeOf(
  { row }: DecidedCall,
  { mode, answers }: Verdict,
): "run" | "skip" | undefined {
  if (mode === "skip") return "skip";
  const { request } = row;
  const id = request?.type === "inquiry_request" ? request.questionId : undefined;
  const isAnswered = id === undefined || answers?.includes(id) === true;
  return mode === "unattended" && isAnswered ? "run" : undefined;
}

/** A clone may bring conversations with decisions that this user has never made. It cannot bring the list of those that they used. */
async function findOwn(
  { workspace }: CommandContext,
  start: number,
  read: ReadDecisions,
): Promise<readonly string[]> {
  const visited = await workspace.session.visited();
  const all = await workspace.conversations.list({ which: "all" });
  const recent = all.filter(
    ({ lastEventAt }) => lastEventAt === undefined || timestampToMilliseconds(lastEventAt) >= start,
  );
  const own = recent.filter(({ id, place }) => place === "local" || visited.has(id));
  read.foreign = recent.length - own.length;
  return own.map(({ id }) => id);
}

/** Whether a person has approved a call, or refused it as it was. Undefined if they have not decided. */
function findAnswer({ kind, response, request, madeVoid }: InquiryRow): boolean | undefined {
  if (response === undefined || madeVoid !== undefined) return undefined;
  if (deciderOf(response)?.kind !== "user") return undefined;
  if (kind === "permission") return answerOf(response);
  if (kind !== "question" || request?.type !== "inquiry_request") return undefined;
  // What rules also answer. Overwriting and deleting are asked about each time.
  const isOwn = request.origin?.type === "builtin" && request.source.source === "tool";
  const isAnswered = OWN_QUESTIONS.has(request.questionId ?? "");
  return isOwn && isAnswered ? answerOf(response) : undefined;
}

const OWN_QUESTIONS: ReadonlySet<string> = new Set(["create_file", "apply_changes"]);

function answerOf(response: AnswerEvent): boolean | undefined {
  if (response.type === "permission_decision") {
    const { decision, cause } = response;
    if (cause !== undefined) return undefined; // They closed the prompt, for example.
    return decision === "approved"; // Whoever edits the arguments does not want the call as it was.
  }
  const { outcome } = response;
  return outcome === "answered" && typeof response.answer === "boolean"
    ? response.answer
    : undefined;
}

async function openTool(
  name: string,
  tools: Tools,
  { missing }: ReadDecisions,
): Promise<CallOfTool["tool"] | undefined> {
  try {
    const opened = await tools.open(name, AbortSignal.timeout(TIMEOUT_MS));
    return { ...opened, settings: findTool(tools.settings, name) };
  } catch (error) {
    missing.set(name, messageOf(error));
    return undefined;
  }
}

/** For a server that does not start. */
const TIMEOUT_MS = 60_000;

async function toDecided(
  row: InquiryRow,
  isApproved: boolean,
  open: (name: string) => Promise<CallOfTool["tool"] | undefined>,
): Promise<DecidedCall | undefined> {
  const { tool: name, arguments: args, request } = row;
  if (name === undefined || args === undefined) return undefined;
  const tool = await open(name);
  if (tool === undefined) return undefined;
  const checked = await checkArguments(tool.description, args);
  if (!checked.ok) return undefined;
  const call = { tool, arguments: checked.arguments };
  const identity = await identityOfCall(call);
  const { subject, origin } = request ?? {};
  const before = subject && toolIdentity(subject, origin);
  const isShared = subject !== undefined && isPortable(subject);
  const now = isShared ? await identityOfCall(call, { isShared }) : identity;
  return { row, call, isApproved, identity, isSameTool: before === now };
}
