/** `jp inquiry answer`: answers something that waits, on whichever terminal it was asked. */
import { settleOverdue } from "../../agent/index.ts";
import { resolveTools } from "../../config/index.ts";
import {
  deciderOf,
  describeDecider,
  explainPerson,
  type ReplyOrCancel,
  timestampToMilliseconds,
} from "../../conversation/index.ts";
import { describeAnswer, oneLine, type PendingRow, shellWord } from "../../render/index.ts";
import type { TerminalPrompter } from "../../terminal/index.ts";
import {
  answerInquiry,
  findPending,
  listPending,
  type PendingDecision,
  untilAnswered,
} from "../../runtime/index.ts";
import type { AnswerResult, AnswerWait } from "../../storage/index.ts";
import { type AnswerType, explainMisfit } from "../../tool/index.ts";
import { assertNever, JpError, findJson, isJpError, type Json } from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, INTERRUPTED, usageError, WAITING } from "../exit-status.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import { listEverywhere } from "./pending.ts";
import { query } from "./query/query.ts";

export interface AnswerFlags {
  readonly note?: string;
  readonly continue?: boolean;
  readonly cancel?: boolean;
}

/** Throws `inquiry_not_found`, `ambiguous_id`, `invalid_answer`, `already_answered`, `overdue`. */
export async function answerPending({ args, options, context }: Call<AnswerFlags>): Promise<void> {
  const [wanted = "", ...words] = args;
  if (options.cancel === true && words.length > 0) throw usageError("--cancel takes no value.");
  const row = await findHere(wanted, context);
  const { conversation: id, question, deadline } = row;
  if (deadline !== undefined && timestampToMilliseconds(deadline) <= context.clock.now().getTime())
    throw await overdueError(row, context);
  const isSecret = question.answerType.type === "secret" && options.cancel !== true;
  if (isSecret && words.length > 0) {
    throw usageError(
      "A secret cannot be given on the command line.",
      `Answer it at a prompt: jp inquiry answer ${shellWord(wanted)}`,
    );
  }
  const { config } = await trustedConfig(context, {});
  if (options.cancel !== true) assertForUser(row, config.user?.name);
  const prompter = findQuietPrompter(context, config, {});
  const isContinued = options.continue === true;
  // Without a terminal, whatever else waits goes on waiting.
  const asked = isContinued ? { defer: prompter?.canAsk() !== true } : { onlyCall: row.toolCallId };
  // The turn may be over by then, and must not ask for a new message.
  const continued = { id, continueTurn: true, edit: false, ...asked };
  if (isSecret && !row.isLive) {
    // Only the process that runs the turn may keep a secret. Its prompt is not mixed up with others.
    requireTerminal(prompter, row);
    return query({ args: [], options: continued, context });
  }
  const reply = await findReply(row, { ...options, words, prompter }, context);
  if (reply === undefined) {
    context.output.notice(`${oneLine(row.id)} is still waiting.`);
    throw new ExitStatus(WAITING);
  }
  const answering = { ...context, userName: config.user?.name, keepsOpen: isContinued };
  const result = await offerReply(row, reply, answering);
  if (result.type !== "recorded") throw await notRecordedError(row, result, context);
  const verb = "isCancelled" in reply ? "Cancelled" : "Answered";
  context.output.notice(`${verb} ${oneLine(row.id)}.`);
  if (!isContinued) return;
  await using opened = result.conversation;
  const flags = { ...continued, ...(opened !== undefined && { opened }) };
  await query({ args: [], options: flags, context });
}

/** Before the person is asked: the answer would be refused. Throws `invalid_answer`. */
function assertForUser(row: PendingDecision, userName: string | undefined): void {
  const reason = explainPerson(row.for, userName);
  if (reason === undefined) return;
  throw new JpError("invalid_answer", `${oneLine(`${row.id}: ${reason}`)}.`, {
    hint:
      userName === undefined
        ? `If that is you: jp config set --in user user.name ${shellWord(oneLine(row.for ?? ""))}`
        : `You are ${oneLine(userName)} (user.name).`,
  });
}

async function findHere(wanted: string, context: CommandContext): Promise<PendingDecision> {
  try {
    return findPending(await listPending(context.workspace.conversations), wanted);
  } catch (error) {
    if (!isJpError(error) || error.code !== "inquiry_not_found") throw error;
    throw new JpError(error.code, error.message, { hint: await hintFor(wanted, context) });
  }
}

async function hintFor(wanted: string, context: CommandContext): Promise<string> {
  const rows = wanted === "" ? [] : await listEverywhere(context, () => undefined);
  const found = rows.filter((row) => isNamed(row, wanted));
  const [first] = found;
  if (first === undefined) return "To list what is waiting: jp inquiry ls --pending";
  const { workspace } = first;
  if (found.some((row) => row.workspace !== workspace))
    return "It matches several in other workspaces. To list them: jp inquiry ls --pending --all";
  const command = `jp --workspace ${shellWord(workspace)} inquiry answer ${shellWord(wanted)}`;
  return `It is waiting in another workspace. To answer it: ${command}`;
}

function isNamed({ conversation, id }: PendingRow, wanted: string): boolean {
  return id.startsWith(wanted) || `${conversation}/${id}`.startsWith(wanted);
}

/** Says what becomes of it: it is too late for any answer. */
async function overdueError(row: PendingDecision, context: CommandContext): Promise<JpError> {
  const { id, conversation, tool, request, question } = row;
  const { config } = await trustedConfig(context, { id: conversation });
  const settings = resolveTools(config).get(tool);
  const questionId = request?.type === "inquiry_request" ? request.questionId : undefined;
  const end = settleOverdue({
    question: { ...question, id: questionId ?? "" },
    ...(settings !== undefined && { settings }),
  });
  const outcome =
    end === undefined
      ? "asks you again"
      : end.outcome === "answered"
        ? `answers it with ${describeAnswer(end)}`
        : "closes it as timed out";
  return new JpError("overdue", `${oneLine(id)} is overdue: its deadline has passed.`, {
    hint: `Continuing the turn ${outcome}: jp query --continue-turn --id ${conversation}`,
  });
}

interface AnsweringContext extends CommandContext {
  readonly userName: string | undefined;
  readonly keepsOpen: boolean;
}

/** An answer that another process keeps waiting longer than this is worth a word. */
const PATIENCE_MS = 2000;

/** Ctrl-C withdraws the answer, as long as no one has taken it. Throws `ExitStatus` if it was withdrawn. */
async function offerReply(
  row: PendingDecision,
  reply: ReplyOrCancel,
  context: AnsweringContext,
): Promise<AnswerResult> {
  const { clock, host, output, userName, keepsOpen, workspace } = context;
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
      () => undefined, // It was quicker than that.
    );
  };
  const who = { channel: "cli", ...(userName !== undefined && { userName }), clock };
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

async function notRecordedError(
  row: PendingDecision,
  result: Exclude<AnswerResult, { readonly type: "recorded" }>,
  context: CommandContext,
): Promise<JpError> {
  const id = oneLine(row.id);
  switch (result.type) {
    case "taken": {
      const decider = deciderOf(result.event);
      const by = decider === undefined ? "" : ` by ${oneLine(describeDecider(decider))}`;
      return new JpError("already_answered", `${id} was already answered${by}.`);
    }
    case "overdue":
      return overdueError(row, context);
    case "refused":
      return new JpError("invalid_answer", `${id}: ${oneLine(result.reason)}.`);
    case "changed":
      return new JpError("invalid_answer", `${id} has changed since you answered it.`, {
        hint: `To see it as it is now: jp inquiry answer ${shellWord(row.id)}`,
      });
    case "not_pending":
      return new JpError("inquiry_not_found", `${id} is no longer waiting.`);
    default:
      return assertNever(result);
  }
}

interface GivenFlags extends AnswerFlags {
  /** The value, if one is given. */
  readonly words: readonly string[];
  readonly prompter: TerminalPrompter | undefined;
}

/** Undefined if the person does not answer. Throws `invalid_answer`, `usage`, and if someone else answers. */
async function findReply(
  row: PendingDecision,
  { cancel = false, words, note, prompter }: GivenFlags,
  context: CommandContext,
): Promise<ReplyOrCancel | undefined> {
  const noted = note === undefined ? {} : { note };
  if (cancel) return { isCancelled: true };
  if (words.length > 0) return { answer: parseValue(row, words), ...noted };
  const reply = await askUntilAnswered(row, requireTerminal(prompter, row), context);
  return reply === undefined || "isCancelled" in reply ? reply : { ...noted, ...reply };
}

/** Closes the prompt and throws if someone else answers meanwhile. */
async function askUntilAnswered(
  row: PendingDecision,
  prompter: TerminalPrompter,
  context: CommandContext,
): Promise<ReplyOrCancel | undefined> {
  const { clock, workspace } = context;
  const done = new AbortController();
  const elsewhere = new AbortController();
  const watching = untilAnswered(workspace.conversations, row, { clock, signal: done.signal }).then(
    (event) => {
      elsewhere.abort();
      return { event };
    },
    () => undefined, // Answered here; or it cannot be read, which the answer will find out.
  );
  const reply = await askPerson(row, prompter, elsewhere.signal).finally(() => done.abort());
  const ended = await watching;
  if (reply !== undefined || ended === undefined) return reply;
  const { event } = ended;
  const result = event === undefined ? NOT_PENDING : ({ type: "taken", event } as const);
  throw await notRecordedError(row, result, context);
}

const NOT_PENDING = { type: "not_pending" } as const;

/** Throws `usage`. */
function requireTerminal(
  prompter: TerminalPrompter | undefined,
  { id, question }: PendingDecision,
): TerminalPrompter {
  if (prompter?.canAsk() === true) return prompter;
  const isSecret = question.answerType.type === "secret";
  throw usageError(
    "No terminal is available.",
    isSecret ? undefined : `Pass the answer: jp inquiry answer ${shellWord(id)} VALUE`,
  );
}

const YES = new Set(["yes", "y", "true"]);
const NO = new Set(["no", "n", "false"]);

/** Throws `invalid_answer`. */
function parseValue({ id, kind, question }: PendingDecision, words: readonly string[]): Json {
  const { answerType } = question;
  const word = words.join(" ").toLowerCase();
  const truth = YES.has(word) ? true : NO.has(word) ? false : undefined;
  if (kind === "in_doubt" && truth !== undefined) return truth ? "run" : "skip";
  const answers =
    answerType.type === "boolean"
      ? truth === undefined
        ? []
        : [truth]
      : meanings(answerType, words);
  const answer = answers.find((each) => explainMisfit(answerType, each) === undefined);
  if (answer !== undefined) return answer;
  const problem =
    answerType.type === "boolean"
      ? "expected yes or no"
      : (explainMisfit(answerType, answers.at(-1) ?? "") ?? "");
  throw new JpError("invalid_answer", `${oneLine(id)}: the answer does not fit: ${problem}.`);
}

/** What the words may stand for. Several options are separated by commas, or a JSON list. */
function meanings(answerType: AnswerType, words: readonly string[]): readonly Json[] {
  const text = words.join(" ");
  if (answerType.type !== "select") return [text];
  if (answerType.isMultiple !== true) return spellings(text);
  const { isMultiple: _, ...one } = answerType;
  const chosen = text.split(",").map((each) => {
    const option = each.trim();
    return spellings(option).find((value) => explainMisfit(one, value) === undefined) ?? option;
  });
  return [...spellings(text), chosen];
}

/** Options may be any JSON. */
function spellings(text: string): readonly Json[] {
  const json = findJson(text);
  return json === undefined ? [text] : [text, json];
}

/** Asks with the same widgets as a turn. Undefined if the person leaves it for later. */
async function askPerson(
  row: PendingDecision,
  prompter: TerminalPrompter,
  signal: AbortSignal,
): Promise<ReplyOrCancel | undefined> {
  const result = await prompter.ask(toRequest(row, signal));
  if (result.type === "cancelled") return { isCancelled: true };
  return result.type === "answered" ? result : undefined;
}

/** Arguments can be edited only where the call runs, which checks them. */
function toRequest(
  row: PendingDecision,
  signal: AbortSignal,
): Parameters<TerminalPrompter["ask"]>[0] {
  const { id: inquiryId, kind, tool, question, request, origin, folder, changed, acts } = row;
  const base = {
    inquiryId,
    question,
    tool,
    ...(origin !== undefined && { origin }),
    ...(folder !== undefined && { folder }),
    arguments: row.arguments ?? {},
    acts,
    ...(changed !== undefined && { changed }),
    canRemember: kind === "permission" || question.persistence === "turn",
    allowsLater: true,
    signal,
  };
  switch (kind) {
    case "question": {
      const { questionId = "" } = request?.type === "inquiry_request" ? request : {};
      return { ...base, kind, questionId };
    }
    case "permission":
      return { ...base, kind, isEditing: false };
    case "delivery": {
      const { result } = request?.type === "permission_request" ? request : {};
      return { ...base, kind, content: "", isError: false, ...result, isEditing: false };
    }
    case "in_doubt":
      return { ...base, kind };
    default:
      return assertNever(kind);
  }
}
