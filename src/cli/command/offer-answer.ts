/** Finds a pending decision for a command, offers a reply to it, and says why one was not used. */
import { settleOverdue } from "../../core/agent/index.ts";
import { resolveTools, rungsOf, type ToolSettings } from "../../settings/config/index.ts";
import {
  type AnswerEvent,
  deciderOf,
  describeDecider,
  type Directory,
  explainRefusal,
  isForKnown,
  noPeopleHint,
  type RefusalCode,
  type ReplyOrCancel,
  STRANGER_CODES,
  timestampToMilliseconds,
  type VoteCount,
} from "../../record/conversation/index.ts";
import {
  describeAnswer,
  describeChoices,
  describePending,
  describeSubject,
} from "../../surfaces/render/index.ts";
import {
  answerInquiry,
  findAnswerable,
  findPendingIn,
  type PendingDecision,
} from "../../assemble/index.ts";
import type { AnswerResult, AnswerWait } from "../../stores/index.ts";
import {
  assertNever,
  isJpError,
  JpError,
  jsonLine,
  neutralize,
  oneLine,
  shellWord,
} from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import { ExitStatus, INTERRUPTED } from "../exit-status.ts";
import type { PersonHere } from "../person-here.ts";
import { trustedConfig } from "../trust.ts";
import { findElsewhere } from "./pending.ts";

/** Throws `inquiry_not_found`, `ambiguous_id`, `already_answered`. */
export async function findHere(wanted: string, context: CommandContext): Promise<PendingDecision> {
  try {
    const onProblem = (problem: string) => warn(problem, context.output);
    return await findPendingIn(context.workspace.conversations, wanted, onProblem);
  } catch (error) {
    if (!isJpError(error) || error.code !== "inquiry_not_found") throw error;
    const late = await findLate(wanted, context);
    if (late !== undefined) throw answeredError(wanted, late);
    const elsewhere = await findElsewhere(wanted, "answer", context);
    throw new JpError(error.code, error.message, {
      hint: elsewhere ?? "To list what is waiting: jp inquiry ls --pending",
    });
  }
}

/** The answer already on record, if a full ID names its conversation. */
async function findLate(wanted: string, context: CommandContext): Promise<AnswerEvent | undefined> {
  const found = await findAnswerable(context.workspace.conversations, wanted).catch(
    () => undefined, // Not found, as the caller already knows.
  );
  return found !== undefined && "type" in found ? found.event : undefined;
}

/** Throws `overdue`. */
export async function assertInTime(row: PendingDecision, context: CommandContext): Promise<void> {
  const { deadline } = row;
  if (deadline === undefined) return;
  if (timestampToMilliseconds(deadline) > context.clock.now().getTime()) return;
  throw await overdueError(row, context);
}

export interface AnsweringContext extends CommandContext {
  readonly userName: string | undefined;
  readonly directory: Directory;
  readonly keepsOpen: boolean;
}

/** After this long, tells the user which process their answer is waiting for. */
const PATIENCE_MS = 2000;

type Accepted = Extract<AnswerResult, { readonly type: "recorded" | "counted" }>;

/**
 * Prints whether the reply was recorded or counted, and throws if it was neither: `invalid_answer`, `already_answered`,
 * `already_counted`, `overdue`, `decision_changed`, `inquiry_not_found`, `other_workspace`, and `ExitStatus` if it was
 * withdrawn.
 */
export async function sendReply(
  row: PendingDecision,
  reply: ReplyOrCancel,
  context: AnsweringContext,
): Promise<Accepted> {
  const { output } = context;
  const result = await offerReply(row, reply, context);
  switch (result.type) {
    case "recorded":
      output.notice(describeReply(row, reply));
      return result;
    case "counted":
      output.notice(`Counted for ${oneLine(row.id)}: ${others(result)}.`);
      return result;
    default: {
      const error = await notRecordedError(row, result, context);
      const isStranger = result.type === "refused" && STRANGER_CODES.has(result.code);
      throw isStranger ? strangerError(row, result.code, context) : error;
    }
  }
}

/** Ctrl-C withdraws the answer, as long as no one has taken it. Throws `ExitStatus` if it was withdrawn. */
async function offerReply(
  row: PendingDecision,
  reply: ReplyOrCancel,
  context: AnsweringContext,
): Promise<AnswerResult> {
  const { clock, host, output, userName, directory, keepsOpen, workspace } = context;
  const withdrawn = new AbortController();
  const done = new AbortController();
  const { signal } = withdrawn;
  const signals = host.onSignal(["SIGINT", "SIGTERM", "SIGHUP"], () => {
    if (signal.aborted) host.exit(INTERRUPTED);
    withdrawn.abort();
  });
  const onWait = ({ type, holder }: AnswerWait) => {
    if (type === "claimed") {
      return output.notice(`Too late to withdraw the answer: ${holder} has taken it.`);
    }
    clock.sleep(PATIENCE_MS, AbortSignal.any([signal, done.signal])).then(
      () => output.notice(`Waiting for ${holder}, which is busy. Ctrl-C withdraws the answer.`),
      () => undefined, // Answered or withdrawn before that.
    );
  };
  const named = userName !== undefined && { userName };
  const signer = directory;
  const who = { channel: "cli", ...named, auth: "os_user", directory, signer, clock } as const;
  try {
    const answer = { ...reply, ...who, signal, onWait, keepsOpen };
    return await answerInquiry(workspace.conversations, row, answer);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    output.notice(`Answer withdrawn: ${oneLine(row.id)} is still waiting.`);
    throw new ExitStatus(INTERRUPTED);
  } finally {
    signals[Symbol.dispose]();
    done.abort();
  }
}

/** Describes the reply in one line. A secret is not repeated. */
function describeReply({ id, question }: PendingDecision, reply: ReplyOrCancel): string {
  if ("isCancelled" in reply) return `Cancelled ${oneLine(id)}.`;
  const { answer } = reply;
  if (question.answerType.type === "secret") return `Answered ${oneLine(id)}.`;
  const words = typeof answer === "boolean" ? (answer ? "yes" : "no") : jsonLine(answer);
  return `Answered ${oneLine(id)}: ${words}.`;
}

/** Everything the answer is about, as a prompt would show it. */
export function decisionLines(row: PendingDecision): readonly string[] {
  const { question, request } = row;
  const { context } = question;
  const result = request?.type === "permission_request" ? request.result : undefined;
  const lines = [
    ...describeSubject(row),
    ...describeChoices(question),
    ...[context, result?.content].flatMap((text) =>
      text === undefined ? [] : neutralize(text.trimEnd()).split("\n"),
    ),
  ];
  return [describePending(row), ...lines.map((line) => `    ${line}`.trimEnd())];
}

/** Such as `1 of 2 people have said the same`. */
function others({ count, quorum }: VoteCount): string {
  return `${count} of ${quorum} people have said the same`;
}

export async function notRecordedError(
  row: PendingDecision,
  result: Exclude<AnswerResult, { readonly type: "recorded" | "counted" }>,
  context: CommandContext,
): Promise<JpError> {
  const id = oneLine(row.id);
  switch (result.type) {
    case "taken":
      return answeredError(row.id, result.event);
    case "repeated":
      return new JpError("already_counted", `You have already answered ${id}: ${others(result)}.`);
    case "overdue":
      return overdueError(row, context);
    case "refused":
      return new JpError("invalid_answer", `${id}: ${oneLine(result.reason)}.`);
    case "not_pending":
      return new JpError("inquiry_not_found", `${id} is no longer waiting.`);
    case "changed":
      return changedError(row);
    case "other_workspace": {
      const { workspace } = result;
      const there = `jp --workspace ${shellWord(workspace)} inquiry answer`;
      return new JpError(
        "other_workspace",
        `${id} is waiting in another folder, whose workspace has the same ID. Your answer was not used.`,
        { hint: `To answer it there: ${there} ${shellWord(`${row.conversation}/${row.id}`)}` },
      );
    }
    default:
      return assertNever(result);
  }
}

/** The pending decision is no longer the one that was shown. */
export function changedError({ id, conversation }: PendingDecision): JpError {
  return new JpError(
    "decision_changed",
    `${oneLine(id)} has changed since you looked at it. Your answer was not used.`,
    {
      hint:
        `To look at it again:     jp inquiry show ${shellWord(`${conversation}/${id}`)}\n` +
        "To list what is waiting: jp inquiry ls --pending",
    },
  );
}

function answeredError(id: string, event: AnswerEvent): JpError {
  const decider = deciderOf(event);
  const by = decider === undefined ? "" : ` by ${oneLine(describeDecider(decider))}`;
  return new JpError("already_answered", `${oneLine(id)} was already answered${by}.`);
}

export function strangerError(row: PendingDecision, code: RefusalCode, here: PersonHere): JpError {
  const reason = explainRefusal(code, row);
  return new JpError("invalid_answer", `${oneLine(`${row.id}: ${reason}`)}.`, {
    hint: hintFor(code, row, here),
  });
}

function hintFor(
  code: RefusalCode,
  row: PendingDecision,
  { userName, directory }: PersonHere,
): string {
  if (code === "no_people") return noPeopleHint(row);
  const isByName = !isForKnown(row) && directory.list().length === 0;
  return isByName ? describeUser(row, userName) : describeHere(directory);
}

function describeUser({ for: person }: PendingDecision, userName: string | undefined): string {
  const named = shellWord(oneLine(person ?? "NAME"));
  const wayOut = `If that is you: jp config set --in user user.name ${named}`;
  return userName === undefined ? wayOut : `You are ${oneLine(userName)} (user.name). ${wayOut}`;
}

/** A name in the config proves nothing here. */
function describeHere(directory: Directory): string {
  const person = directory.findHere();
  if (person === undefined) return "No one has this OS user. To list people: jp serve people ls";
  const roles = person.roles.length === 0 ? "no roles" : `the roles ${person.roles.join(", ")}`;
  return `You are ${oneLine(person.name)}, by your OS user, with ${oneLine(roles)}.`;
}

/** No answer is accepted any more, so the error says what continuing the turn would do. */
async function overdueError(row: PendingDecision, context: CommandContext): Promise<JpError> {
  const { id, conversation, tool, request, question } = row;
  const { config } = await trustedConfig(context, { id: conversation });
  const settings = resolveTools(config).get(tool);
  const questionId = request?.type === "inquiry_request" ? request.questionId : undefined;
  const end = settleOverdue({
    question: { ...question, id: questionId ?? "" },
    ...(settings !== undefined && { settings }),
    whom: row,
  });
  const outcome = hasNext(settings, row)
    ? "asks whoever is next"
    : end === undefined
      ? "asks you again"
      : end.outcome === "answered"
        ? `answers it with ${describeAnswer(end)}`
        : "closes it as timed out";
  return new JpError("overdue", `${oneLine(id)} is overdue: its deadline has passed.`, {
    hint: `Continuing the turn ${outcome}: jp query --continue-turn --id ${conversation}`,
  });
}

/** Judges by the config alone, without checking which of its rules apply to the call. */
function hasNext(settings: ToolSettings | undefined, { request }: PendingDecision): boolean {
  if (settings === undefined || request === undefined) return false;
  const { rung = 0 } = request;
  if (request.type === "inquiry_request") {
    const { target = settings.target } = settings.questions.get(request.questionId ?? "") ?? {};
    const isLast = target !== undefined && "lastly" in target && !request.question.exclusive;
    return rungsOf(target ?? {}).length + (isLast ? 1 : 0) > rung + 1;
  }
  const { run, result } = settings.policy;
  const targets = [settings, ...run, ...result].map(({ target }) => target ?? {});
  return targets.some((target) => rungsOf(target).length > rung + 1);
}

const YES = new Set(["yes", "y", "true"]);
const NO = new Set(["no", "n", "false"]);

/** Undefined if the word is neither a yes nor a no. */
export function truthIn(word: string): boolean | undefined {
  const folded = word.toLowerCase();
  return YES.has(folded) ? true : NO.has(folded) ? false : undefined;
}
