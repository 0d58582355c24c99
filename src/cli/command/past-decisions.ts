/**
 * The decisions people made about calls at prompts, read from a workspace's records, to find rules that could have
 * made them.
 */
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
import { type CallOfTool, identitiesOfCall, type Verdict } from "../../core/policy/index.ts";
import { findTool, type Tools } from "../../assemble/index.ts";
import { readOwnRuns } from "../../stores/index.ts";
import { messageOf } from "../../util/index.ts";
import type { InquiryRow } from "../../surfaces/render/index.ts";
import type { CommandContext } from "../context.ts";
import { parseTime, readEntries } from "../conversations.ts";
import { readInquiriesOf } from "./inquiry.ts";
import { OwnDecisions } from "./own-decisions.ts";
import type { PAST } from "./tool/options.ts";
import type { FlagsOf } from "../options.ts";

/** A call and a person's decision about it. */
export interface DecidedCall {
  readonly row: InquiryRow;
  readonly call: CallOfTool;
  readonly isApproved: boolean;
  readonly identity: string;
  /** The tool has not changed since the decision. */
  readonly isSameTool: boolean;
}

/** Counts of the decisions read, and what could not be used. */
export class ReadDecisions {
  readonly own = new DecisionCount();
  /** Decisions that may be someone else's. */
  readonly foreign = new DecisionCount();
  /** Unavailable tools, and why. */
  readonly missing = new Map<string, string>();
}

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
 * The user's own decisions, oldest conversation first, in chronological order within each. Records skipped ones in
 * `read`.
 */
export async function* readDecisions(
  { from, until }: FlagsOf<typeof PAST>,
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

/** Every recorded decision, and whether it is the user's own. Skips conversations that end before the start. */
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

/** Decisions copied by a fork count in the original. */
function isCopied({ request, conversation, toolCallId = "", tool = "" }: InquiryRow): boolean {
  const { subject } = request ?? {};
  return subject !== undefined && !isMadeIn(subject, { conversation, toolCallId, tool });
}

/** The outcome without a prompt. Undefined if the person would still have been asked. */
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

/** Whether a person approved the call, or refused it as it was. Undefined if they did not decide. */
function findAnswer({ kind, response, request, madeVoid }: InquiryRow): boolean | undefined {
  if (response === undefined || madeVoid !== undefined) return undefined;
  if (deciderOf(response)?.kind !== "user") return undefined;
  if (kind === "permission") return answerOf(response);
  if (kind !== "question" || request?.type !== "inquiry_request") return undefined;
  // Only questions that rules can answer. Overwriting and deleting always ask.
  const isOwn = request.origin?.type === "builtin" && request.source.source === "tool";
  const isAnswered = OWN_QUESTIONS.has(request.questionId ?? "");
  return isOwn && isAnswered ? answerOf(response) : undefined;
}

const OWN_QUESTIONS: ReadonlySet<string> = new Set(["create_file", "apply_changes"]);

function answerOf(response: AnswerEvent): boolean | undefined {
  if (response.type === "permission_decision") {
    const { decision, cause } = response;
    if (cause !== undefined) return undefined; // For example, they closed the prompt.
    return decision === "approved"; // Editing the arguments rejects the call as it was.
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

/** For servers that do not start. */
const TIMEOUT_MS = 60_000;

/**
 * Undefined if the tool is gone or no longer takes these arguments. `foreign` if the recorded call is not the one
 * that was decided about.
 */
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
  // A question's record has the model's arguments, but the decision was about the arguments with defaults.
  const isSame = [args, checked.arguments].some((each) => isMadeWith(subject, each));
  if (!isSame) return "foreign";
  const call = { tool, arguments: checked.arguments };
  const own = await identitiesOfCall(call);
  const [identity = ""] = own;
  const before = toolIdentity(subject, origin);
  const isShared = isPortable(subject);
  const now = isShared ? await identitiesOfCall(call, { isShared }) : own;
  return { row, call, isApproved, identity, isSameTool: now.includes(before) };
}
