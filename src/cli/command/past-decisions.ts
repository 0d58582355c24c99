/** The decisions about calls that a person has made at prompts, read from the record of a workspace, for rules that could have made them. */
import {
  type AnswerEvent,
  deciderOf,
  isMadeIn,
  isMadeWith,
  isPortable,
  timestampToMilliseconds,
  toolIdentity,
} from "../../record/conversation/index.ts";
import { checkArguments } from "../../reach/executor/index.ts";
import { type CallOfTool, identityOfCall, type Verdict } from "../../core/policy/index.ts";
import { findTool, type Tools } from "../../assemble/index.ts";
import { readOwnRuns } from "../../stores/index.ts";
import { messageOf } from "../../util/index.ts";
import type { InquiryRow } from "../../surfaces/render/index.ts";
import type { CommandContext } from "../context.ts";
import { parseTime, readEntries } from "../conversations.ts";
import { readInquiriesOf } from "./inquiry.ts";
import { OwnDecisions } from "./own-decisions.ts";

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
export class ReadDecisions {
  readonly own = new DecisionCount();
  /** Decisions that may be someone else's. */
  readonly foreign = new DecisionCount();
  /** Tools that are not available, and why. */
  readonly missing = new Map<string, string>();
}

/** How many decisions, in how many conversations. */
class DecisionCount {
  readonly #conversations = new Set<string>();
  decisions = 0;

  get conversations(): number {
    return this.#conversations.size;
  }

  add({ conversation }: InquiryRow): void {
    this.decisions += 1;
    this.#conversations.add(conversation);
  }
}

/**
 * The user's own decisions, in the order of time within a conversation, the oldest conversation first. Notes in `read` what it
 * comes across.
 */
export async function* readDecisions(
  { from = "8w", until }: RecordFlags,
  { context, tools, read }: { context: CommandContext; tools: Tools; read: ReadDecisions },
): AsyncGenerator<DecidedCall> {
  const now = context.clock.now();
  const start = parseTime(from, now).getTime();
  const end = until === undefined ? Number.POSITIVE_INFINITY : parseTime(until, now).getTime();
  const opened = new Map<string, Promise<CallOfTool["tool"] | undefined>>();
  const open = (name: string) => {
    const known = opened.get(name) ?? openTool(name, tools, read);
    opened.set(name, known);
    return known;
  };
  for await (const { row, isOwn } of readRows(start, context)) {
    const isApproved = findAnswer(row);
    const time = timestampToMilliseconds(row.askedAt);
    if (isApproved === undefined || time < start || time >= end || isCopied(row)) continue;
    const decided = (await isOwn()) ? await toDecided(row, isApproved, open) : "foreign";
    if (decided === "foreign") read.foreign.add(row);
    if (decided === "foreign" || decided === undefined) continue;
    read.own.add(row);
    yield decided;
  }
}

/** Every decision on record, and whether it is the user's own. Conversations that end before the start are left out. */
async function* readRows(start: number, context: CommandContext) {
  const { workspace, environment } = context;
  const all = await workspace.conversations.list({ which: "all" });
  const recent = all.filter(
    ({ lastEventAt }) => lastEventAt === undefined || timestampToMilliseconds(lastEventAt) >= start,
  );
  const runs = readOwnRuns(environment, workspace.root);
  for (const { id } of recent.toSorted((left, right) => (left.id < right.id ? -1 : 1))) {
    const own = new OwnDecisions(id, runs.get(id) ?? [], context);
    const entries = own.reading(readEntries(id, context));
    for await (const row of readInquiriesOf({ id }, entries, context)) {
      yield { row, isOwn: () => own.take(row) };
    }
  }
}

/** Decisions that a fork has copied count in the original. */
function isCopied({ request, conversation, toolCallId = "", tool = "" }: InquiryRow): boolean {
  const { subject } = request ?? {};
  return subject !== undefined && !isMadeIn(subject, { conversation, toolCallId, tool });
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

/** Undefined if the tool is gone, or no longer takes these arguments. `foreign` if the record has another call than was decided about. */
async function toDecided(
  row: InquiryRow,
  isApproved: boolean,
  open: (name: string) => Promise<CallOfTool["tool"] | undefined>,
): Promise<DecidedCall | "foreign" | undefined> {
  const { tool: name, arguments: args, request: { subject, origin } = {} } = row;
  if (name === undefined || args === undefined) return undefined;
  if (subject === undefined) return "foreign";
  const tool = await open(name);
  if (tool === undefined) return undefined;
  const checked = await checkArguments(tool.description, args);
  if (!checked.ok) return undefined;
  // The record of a question has the model's arguments; the decision was about these with defaults.
  const isSame = [args, checked.arguments].some((each) => isMadeWith(subject, each));
  if (!isSame) return "foreign";
  const call = { tool, arguments: checked.arguments };
  const identity = await identityOfCall(call);
  const before = toolIdentity(subject, origin);
  const isShared = isPortable(subject);
  const now = isShared ? await identityOfCall(call, { isShared }) : identity;
  return { row, call, isApproved, identity, isSameTool: before === now };
}
