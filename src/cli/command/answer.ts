/** `jp inquiry answer`: answers a pending decision, on whichever terminal it was asked. */
import { type PersonHere, whyNotHere } from "../person-here.ts";
import { type Prompter, type PromptRequest, signingOf } from "../../core/agent/index.ts";
import {
  askerAbout,
  type Directory,
  type ReplyOrCancel,
  whomOf,
} from "../../record/conversation/index.ts";
import { describeSource } from "../../surfaces/render/index.ts";
import {
  directoryOf,
  findForeignNotice,
  loadRecordingParts,
  type PendingDecision,
  untilAnswered,
} from "../../assemble/index.ts";
import { type AnswerType, explainMisfit } from "../../record/tool/index.ts";
import {
  assertNever,
  findJson,
  JpError,
  type Json,
  loadModule,
  oneLine,
  shellWord,
} from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, usageError, WAITING } from "../exit-status.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import {
  assertInTime,
  changedError,
  decisionLines,
  findHere,
  notRecordedError,
  sendReply,
  strangerError,
  truthIn,
} from "./offer-answer.ts";
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
  if (words.length > 1) {
    const several = await loadModule(() => import("./answer-several.ts"));
    if (await several.namesSeveral(row, words, context)) {
      return several.answerSeveral({ first: row, words, options, context });
    }
  }
  if (pinned !== undefined && row.digest?.startsWith(pinned) !== true) throw changedError(row);
  await assertInTime(row, context);
  const { conversation: id, question } = row;
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
  const result = await sendReply(row, reply, answering);
  if (result.type === "counted") return;
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

/** Checked before prompting, because the answer would be refused. Throws `invalid_answer`. */
function assertForUser(row: PendingDecision, here: PersonHere): void {
  const code = whyNotHere(row, here);
  if (code !== undefined) throw strangerError(row, code, here);
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
    for (const line of decisionLines(row)) context.output.notice(line);
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

/** Throws `invalid_answer`. */
function parseValue({ id, kind, question }: PendingDecision, words: readonly string[]): Json {
  const { answerType } = question;
  const truth = truthIn(words.join(" "));
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
