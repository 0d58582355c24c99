/** `jp inquiry answer`: answers a pending decision, on whichever terminal it was asked. */
import { type PersonHere, whyNotHere } from "../person-here.ts";
import {
  type Prompter,
  type PromptRequest,
  settleOverdue,
  signingOf,
} from "../../core/agent/index.ts";
import { resolveTools, rungsOf, type ToolSettings } from "../../settings/config/index.ts";
import {
  type AnswerEvent,
  askerAbout,
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
  whomOf,
  type VoteCount,
} from "../../record/conversation/index.ts";
import {
  describeAnswer,
  describeChoices,
  describePending,
  describeSource,
  describeSubject,
} from "../../surfaces/render/index.ts";
import {
  answerInquiry,
  directoryOf,
  findAnswerable,
  findForeignNotice,
  findPendingIn,
  loadRecordingParts,
  type PendingDecision,
  untilAnswered,
} from "../../assemble/index.ts";
import type { AnswerResult, AnswerWait } from "../../stores/index.ts";
import { type AnswerType, explainMisfit } from "../../record/tool/index.ts";
import {
  assertNever,
  findJson,
  isJpError,
  JpError,
  type Json,
  jsonLine,
  neutralize,
  oneLine,
  shellWord,
} from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, INTERRUPTED, usageError, WAITING } from "../exit-status.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import { findElsewhere } from "./pending.ts";
import { continueTurn } from "./query/query.ts";
import type { ANSWER } from "./options.ts";
import type { FlagsOf } from "../options.ts";

/**
 * Throws `inquiry_not_found`, `ambiguous_id`, `invalid_answer`, `already_answered`, `overdue`, `decision_changed`,
 * `other_workspace`.
 */
export async function answerFromCommandLine({
  args,
  options,
  context,
}: Call<typeof ANSWER>): Promise<void> {
  const [wanted = "", ...words] = args;
  if (options.cancel === true && words.length > 0) throw usageError("--cancel takes no value.");
  const pinned = parseDigest(options.digest);
  const row = await findHere(wanted, context);
  if (pinned !== undefined && row.digest?.startsWith(pinned) !== true) throw changedError(row);
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
  const directory = await directoryOf(context, config);
  const who = { userName: config.user?.name, directory };
  // An answer given on the command line is judged on its own: the user of the machine may always say no.
  if (options.cancel !== true && words.length === 0) assertForUser(row, who);
  const prompter = findQuietPrompter(context, config, {});
  const isContinued = options.continue === true;
  // Without a terminal, everything else stays pending.
  const asked = isContinued ? { defer: prompter?.canAsk() !== true } : { onlyCall: row.toolCallId };
  if (isSecret && !row.isLive) {
    // Only the process that runs the turn may hold a secret. Its prompt is not mixed up with others.
    requireTerminal(prompter, row);
    return continueTurn(context, { id, ...asked });
  }
  const reply = await findReply(row, { ...options, words, prompter }, { ...context, directory });
  if (reply === undefined) {
    context.output.notice(`${oneLine(row.id)} is still waiting.`);
    throw new ExitStatus(WAITING);
  }
  const answering = { ...context, ...who, keepsOpen: isContinued };
  const result = await offerReply(row, reply, answering);
  if (result.type === "counted") {
    context.output.notice(`Counted for ${oneLine(row.id)}: ${others(result)}.`);
    return;
  }
  if (result.type !== "recorded") {
    const error = await notRecordedError(row, result, context);
    const isStranger = result.type === "refused" && STRANGER_CODES.has(result.code);
    throw isStranger ? strangerError(row, result.code, who) : error;
  }
  context.output.notice(describeReply(row, reply));
  if (!isContinued) {
    const notice = await findForeignNotice(context.workspace.conversations, row);
    if (notice !== undefined) warn(notice, context.output);
    return;
  }
  await using opened = result.conversation;
  await continueTurn(context, { id, ...asked, opened });
}

const MIN_DIGITS = 16;

/** Throws `usage`. */
function parseDigest(digits: string | undefined): string | undefined {
  if (digits === undefined) return undefined;
  const digest = digits.toLowerCase();
  if (/^[0-9a-f]{16,64}$/.test(digest)) return digest;
  throw usageError(
    `--digest takes ${MIN_DIGITS} to 64 hexadecimal digits.`,
    "`jp inquiry show` and `jp inquiry ls --pending --format json` print the digest.",
  );
}

/** The pending decision is no longer the one that was shown. */
function changedError({ id, conversation }: PendingDecision): JpError {
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

/** Describes the reply in one line. A secret is not repeated. */
function describeReply({ id, question }: PendingDecision, reply: ReplyOrCancel): string {
  if ("isCancelled" in reply) return `Cancelled ${oneLine(id)}.`;
  const { answer } = reply;
  if (question.answerType.type === "secret") return `Answered ${oneLine(id)}.`;
  const words = typeof answer === "boolean" ? (answer ? "yes" : "no") : jsonLine(answer);
  return `Answered ${oneLine(id)}: ${words}.`;
}

/** Checked before prompting, because the answer would be refused. Throws `invalid_answer`. */
function assertForUser(row: PendingDecision, here: PersonHere): void {
  const code = whyNotHere(row, here);
  if (code !== undefined) throw strangerError(row, code, here);
}

function strangerError(row: PendingDecision, code: RefusalCode, here: PersonHere): JpError {
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

async function findHere(wanted: string, context: CommandContext): Promise<PendingDecision> {
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

function answeredError(id: string, event: AnswerEvent): JpError {
  const decider = deciderOf(event);
  const by = decider === undefined ? "" : ` by ${oneLine(describeDecider(decider))}`;
  return new JpError("already_answered", `${oneLine(id)} was already answered${by}.`);
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

interface AnsweringContext extends CommandContext {
  readonly userName: string | undefined;
  readonly directory: Directory;
  readonly keepsOpen: boolean;
}

/** After this long, tells the user which process their answer is waiting for. */
const PATIENCE_MS = 2000;

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

/** Such as `1 of 2 people have said the same`. */
function others({ count, quorum }: VoteCount): string {
  return `${count} of ${quorum} people have said the same`;
}

async function notRecordedError(
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

interface GivenFlags extends FlagsOf<typeof ANSWER> {
  /** The value, if one is given. */
  readonly words: readonly string[];
  readonly prompter: Prompter | undefined;
}

/** Undefined if the person does not answer. Throws `invalid_answer`, `usage`, and if someone else answers. */
async function findReply(
  row: PendingDecision,
  { cancel = false, words, note, prompter }: GivenFlags,
  context: CommandContext & { readonly directory: Directory },
): Promise<ReplyOrCancel | undefined> {
  const noted = note === undefined ? {} : { note };
  if (cancel || words.length > 0) {
    const reply = cancel ? CANCELLED : { answer: parseValue(row, words), ...noted };
    printDecision(row, context);
    return reply;
  }
  const terminal = requireTerminal(prompter, row);
  await loadRecordingParts(); // Answering may take a while.
  if (row.kind === "permission") {
    context.output.notice("To edit the arguments first, continue the turn:");
    context.output.notice(`  jp query --continue-turn --id ${row.conversation}`);
  }
  const reply = await askUntilAnswered(row, terminal, context);
  return reply === undefined || "isCancelled" in reply ? reply : { ...noted, ...reply };
}

const CANCELLED = { isCancelled: true } as const;

/** Everything the answer is about, as a prompt would show it. */
function printDecision(row: PendingDecision, { output }: CommandContext): void {
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
  output.notice(describePending(row));
  for (const line of lines) output.notice(`    ${line}`.trimEnd());
}

/** Closes the prompt and throws if someone else answers meanwhile. */
async function askUntilAnswered(
  row: PendingDecision,
  prompter: Prompter,
  context: CommandContext & { readonly directory: Directory },
): Promise<ReplyOrCancel | undefined> {
  const { clock, workspace, directory } = context;
  const done = new AbortController();
  const elsewhere = new AbortController();
  const watching = untilAnswered(workspace.conversations, row, { clock, signal: done.signal }).then(
    (event) => {
      elsewhere.abort();
      return { event };
    },
    () => undefined, // Answered here, or unreadable, which answering will report.
  );
  const asked = ask(row, prompter, { signal: elsewhere.signal, directory });
  const reply = await asked.finally(() => done.abort());
  const ended = await watching;
  if (reply !== undefined || ended === undefined) return reply;
  const { event } = ended;
  const result = event === undefined ? NOT_PENDING : ({ type: "taken", event } as const);
  throw await notRecordedError(row, result, context);
}

const NOT_PENDING = { type: "not_pending" } as const;

/** Throws `usage`. */
function requireTerminal(
  prompter: Prompter | undefined,
  { id, question }: PendingDecision,
): Prompter {
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

/** The possible readings of the words. Several options are separated by commas, or given as a JSON list. */
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

/** Options may be any JSON value. */
function spellings(text: string): readonly Json[] {
  const json = findJson(text);
  return json === undefined ? [text] : [text, json];
}

interface Shown {
  readonly signal: AbortSignal;
  readonly directory: Directory;
}

/** Asks as a turn would. Undefined if the person defers it. */
async function ask(
  row: PendingDecision,
  prompter: Prompter,
  shown: Shown,
): Promise<ReplyOrCancel | undefined> {
  const result = await prompter.ask(toPrompt(row, shown));
  if (result.type === "cancelled") return CANCELLED;
  return result.type === "answered" ? result : undefined;
}

/** Without a `check`: only the process that runs the tool can check arguments, so they cannot be edited here. */
function toPrompt(row: PendingDecision, { signal, directory }: Shown): PromptRequest {
  const { kind, tool, request, question } = row;
  const asked = request?.type === "inquiry_request" ? request : undefined;
  const source = asked?.source ?? askerAbout(kind, tool);
  const base = {
    inquiryId: row.id,
    conversation: row.conversation,
    toolCallId: row.toolCallId,
    tool,
    ...(row.origin !== undefined && { origin: row.origin }),
    ...(row.folder !== undefined && { folder: row.folder }),
    arguments: row.arguments ?? {},
    source,
    label: describeSource(source),
    signal,
    allowsLater: true,
    ...whomOf(row),
    ...signingOf(row, directory),
    acts: row.acts,
    ...(row.changed !== undefined && { changed: row.changed }),
    digest: row.digest ?? "",
    question,
  };
  const canRemember = row.takes?.turn !== undefined;
  switch (kind) {
    case "question": {
      return { ...base, kind, questionId: asked?.questionId ?? row.id, canRemember };
    }
    case "permission":
      return { ...base, kind, canRemember, isEditing: false };
    case "delivery": {
      const { content = "", isError = false } =
        (request?.type === "permission_request" ? request.result : undefined) ?? {};
      return { ...base, kind, canRemember: false, isEditing: false, content, isError };
    }
    case "in_doubt":
      return { ...base, kind, canRemember: false };
    default:
      return assertNever(kind);
  }
}
