/** Several IDs of `jp inquiry answer`: all are printed before one yes or no is sent to each, which is judged alone. */
import {
  findLoneReason,
  type InquiryId,
  isSameWhom,
  type LoneReason,
} from "../../record/conversation/index.ts";
import {
  directoryOf,
  findForeignNotice,
  findPendingIn,
  type PendingDecision,
} from "../../assemble/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import { wrapCode } from "../../surfaces/render/index.ts";
import type { TerminalPrompter } from "../../surfaces/terminal/index.ts";
import { isJpError, type JpError, oneLine, shellWord } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, INTERRUPTED, reportError, usageError } from "../exit-status.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import { assertInTime, decisionLines, findHere, sendReply, truthIn } from "./offer-answer.ts";
import type { ANSWER } from "./options.ts";
import { continueTurn } from "./query/query.ts";

/**
 * Whether the words after the first ID are more IDs and an answer. If the first question takes words, they are its answer
 * unless each of them is the whole ID of something that waits.
 */
export async function namesSeveral(
  row: PendingDecision,
  words: readonly string[],
  { workspace }: CommandContext,
): Promise<boolean> {
  if (row.question.answerType.type === "boolean") return true;
  if (truthIn(words.at(-1) ?? "") === undefined) return false;
  for (const word of words.slice(0, -1)) {
    const found = await findPendingIn(workspace.conversations, word).catch(() => undefined); // Not an ID.
    if (found === undefined || ![found.id, fullIdOf(found)].includes(word)) return false;
  }
  return true;
}

interface Several {
  readonly first: PendingDecision;
  /** The other IDs and the answer. */
  readonly words: readonly string[];
  readonly options: Call<typeof ANSWER>["options"];
  readonly context: CommandContext;
}

/**
 * Throws `usage`, `inquiry_not_found`, `ambiguous_id`, `already_answered` before anything is sent, and `ExitStatus` if an answer was not
 * used.
 */
export async function answerSeveral({ first, words, options, context }: Several): Promise<void> {
  const { output, workspace } = context;
  const answer = truthIn(words.at(-1) ?? "");
  if (options.digest !== undefined) {
    throw usageError("--digest takes one ID: every decision has its own digest.");
  }
  if (answer === undefined) {
    throw usageError("Several IDs take one yes or no.", "For example: jp inquiry answer ID ID yes");
  }
  const rows = await findAll(first, words.slice(0, -1), context);
  assertTogether(rows);
  const { conversation: id } = first;
  const isContinued = options.continue === true;
  if (isContinued && rows.some(({ conversation }) => conversation !== id)) {
    throw usageError("--continue takes IDs of one conversation.");
  }
  const { config } = await trustedConfig(context, {});
  const prompter = findQuietPrompter(context, config, {});
  await showAll(rows, { answer, prompter, context });
  const who = { userName: config.user?.name, directory: await directoryOf(context, config) };
  const answering = { ...context, ...who, keepsOpen: false };
  const reply = { answer, ...(options.note !== undefined && { note: options.note }) };
  const notices = new Set<string>();
  let refused = 0;
  for (const row of rows) {
    try {
      await assertInTime(row, context);
      await sendReply(row, reply, answering);
      if (isContinued) continue;
      notices.add((await findForeignNotice(workspace.conversations, row)) ?? "");
    } catch (error) {
      if (!isJpError(error)) throw error; // Ctrl-C: the others are not sent.
      refused += 1;
      reportError(error, context.host);
    }
  }
  for (const notice of notices) if (notice !== "") warn(notice, output);
  if (refused > 0) {
    output.notice(`${rows.length - refused} of ${rows.length} answers were used.`);
    throw new ExitStatus(1);
  }
  if (isContinued) await continueTurn(context, { id, defer: prompter?.canAsk() !== true });
}

/** Each decision once. */
async function findAll(
  first: PendingDecision,
  ids: readonly string[],
  context: CommandContext,
): Promise<readonly PendingDecision[]> {
  const rows = new Map([[fullIdOf(first), first]]);
  for (const id of ids) {
    const row = await findHere(id, context);
    rows.set(fullIdOf(row), row);
  }
  return [...rows.values()];
}

function fullIdOf({ conversation, id }: PendingDecision): string {
  return `${conversation}/${id}`;
}

const LONE_REASONS: Readonly<Record<LoneReason, string>> = {
  not_boolean: "it does not take yes or no",
  terms: "it has terms of its own, such as a quorum or a signature",
  changed: "it is asked again because something has changed",
  unconfined: "it runs outside of the sandbox, or with more than the sandbox allows",
};

/** Throws `usage` before anything is printed. */
function assertTogether(rows: readonly PendingDecision[]): void {
  const [first] = rows;
  if (rows.length < 2) return;
  for (const row of rows) {
    const reason = findLoneReason(row);
    const why =
      reason === undefined
        ? first !== undefined && !isSameWhom(row, first) && "it is for other people than the first"
        : LONE_REASONS[reason];
    if (why !== false) throw aloneError(row, why);
  }
}

function aloneError(row: PendingDecision, why: string): JpError {
  return usageError(
    `${oneLine(row.id)} is answered alone: ${why}. Nothing was answered.`,
    `To answer it: jp inquiry answer ${shellWord(oneLine(row.id))}`,
  );
}

interface Showing {
  readonly answer: boolean;
  readonly prompter: TerminalPrompter | undefined;
  readonly context: CommandContext;
}

/**
 * Prints every line of all of them. If one that acts does not fit on the screen, a yes counts only after all were read to
 * the end. Throws `usage` if no terminal is available for that, and `ExitStatus` if the person says no.
 */
async function showAll(
  rows: readonly PendingDecision[],
  { answer, prompter, context }: Showing,
): Promise<void> {
  const { output } = context;
  const lines = rows.flatMap(decisionLines);
  const long = answer
    ? rows.find((row) => row.acts && !fits(decisionLines(row), context))
    : undefined;
  if (long === undefined) {
    for (const line of lines) output.notice(line);
    return;
  }
  if (prompter?.canAsk() !== true) {
    throw aloneError(long, "it has to be read to the end, and no terminal is available");
  }
  const question = booleanQuestion("answers", `Answer all ${rows.length} with yes?`, {
    acts: true,
    persistence: "none",
  });
  let isInterrupted = false;
  const result = await prompter.ask({
    inquiryId: "answers" as InquiryId, // Not recorded.
    question,
    above: lines.join("\n"),
    signal: new AbortController().signal,
    onInterrupt: () => {
      isInterrupted = true;
    },
  });
  if (result.type === "answered" && result.answer === true) return;
  output.notice("Nothing was answered.");
  throw new ExitStatus(isInterrupted ? INTERRUPTED : 1);
}

const DEFAULT_ROWS = 24;

function fits(lines: readonly string[], { host, output }: CommandContext): boolean {
  const { isTTY, rows } = host.stderr;
  const all = lines.flatMap((line) => wrapCode(line, output.noticeWidth));
  return all.length < (isTTY && rows > 0 ? rows : DEFAULT_ROWS);
}
