/** `jp inquiry ls` and `show`: the decisions on record, with who asked and who decided. */
import {
  askerAbout,
  type ConversationId,
  deciderOf,
  describeWhom,
  inquiriesIn,
  isForSome,
  isPassedOn,
  type StreamEntry,
  timestampToMilliseconds,
  TurnCounter,
} from "../../record/conversation/index.ts";
import {
  callText,
  type DecisionJson,
  decisionToJson,
  describeChanged,
  describeVotes,
  describeEnd,
  describeEscalation,
  describeEdited,
  describeSource,
  describeSubject,
  type InquiryRow,
  type InquiryState,
  inquiryState,
  matchesInquiryFilter,
  relativeTime,
  type StyleName,
  truncate,
  wrapCode,
  wrapProse,
} from "../../surfaces/render/index.ts";
import { isOpen, listPending } from "../../assemble/index.ts";
import type { Output } from "../../surfaces/terminal/index.ts";
import type { InquirySource, SelectOption } from "../../record/tool/index.ts";
import { firstLine, JpError, jsonLine, loadModule, neutralize, oneLine } from "../../util/index.ts";
import { type CommandContext, printFields, warn } from "../context.ts";
import { readEntries, resolveTargets } from "../conversations.ts";
import type { Call } from "../define.ts";
import { usageError } from "../exit-status.ts";
import type { LIST_INQUIRIES, SHOW_INQUIRY } from "./options.ts";
import type { FlagsOf } from "../options.ts";

/** The conversations to read. */
type InquiryScope = Pick<FlagsOf<typeof SHOW_INQUIRY>, "conversation">;

export async function listInquiries(call: Call<typeof LIST_INQUIRIES>): Promise<void> {
  const { options, context } = call;
  if (options.pending === true)
    return (await loadModule(() => import("./pending.ts"))).printPending(call);
  if (options.all === true) throw usageError("--all requires --pending.");
  if (options.mine === true) throw usageError("--mine requires --pending.");
  const { output } = context;
  const toJson = createToJson(context);
  let count = 0;
  let conversation: string | undefined;
  for await (const row of readInquiries(options, context)) {
    if (!matchesInquiryFilter(row, options)) continue;
    count += 1;
    if (options.format === "json") {
      output.print(jsonLine(await toJson(row)));
      continue;
    }
    if (row.conversation !== conversation) output.print(output.paint("bold", row.conversation));
    conversation = row.conversation;
    for (const line of inquiryLines(row, context)) output.print(line);
  }
  if (count > 0 || options.format === "json") return;
  const { outcome, by, kind } = options;
  const isFiltered = [outcome, by, kind, options.conversation].some(Boolean);
  output.notice(isFiltered ? "No matching questions." : "No questions yet.");
}

/** The format of `jp inquiry ls --pending`. */
export function createToJson({
  workspace,
}: CommandContext): (row: InquiryRow) => Promise<DecisionJson> {
  const { root, conversations } = workspace;
  return async (row) => {
    const isLive = row.isPending === true && (await isOpen(conversations, row.conversation));
    return decisionToJson(row, { ...row, workspace: root, isLive });
  };
}

const STYLES: Readonly<Record<InquiryState, StyleName>> = {
  answered: "green",
  redacted: "green",
  approved: "green",
  edited: "green",
  cancelled: "yellow",
  denied: "yellow",
  void: "yellow",
  pending: "red",
  unanswered: "yellow",
};

const INDENT = "    ";
/** With fewer columns left, the question moves to its own line. */
const MIN_QUESTION_WIDTH = 20;

/** Who asked what, then the outcome. */
function inquiryLines(row: InquiryRow, { output, clock }: CommandContext): string[] {
  const { paint, lineWidth } = output;
  const { id, kind, turn, tool, source, edited, askedAt } = row;
  const ago = relativeTime(timestampToMilliseconds(askedAt), clock.now().getTime());
  const who = oneLine(kind === "question" || tool === undefined ? describeSource(source) : tool);
  const room = lineWidth - `  turn ${turn + 1}  ${who}: `.length;
  const head = `  ${paint("dim", `turn ${turn + 1}`)}  ${paint("cyan", who)}:`;
  const question = firstLine(row.question.text);
  const end = oneLine(describeEnd(row, clock.now()));
  const result = `${paint(STYLES[inquiryState(row)], end)}${paint("dim", `, ${ago}  ${oneLine(id)}`)}`;
  const width = lineWidth - INDENT.length;
  return [
    ...(room < MIN_QUESTION_WIDTH
      ? [head, INDENT + truncate(question, width)]
      : [`${head} ${truncate(question, room)}`]),
    ...callLines(row).flatMap((line) => wrapCode(INDENT + line, lineWidth)),
    ...(edited === undefined
      ? []
      : wrapProse(`ran with ${describeEdited(edited)}`, width).map((line) => INDENT + line)),
    ...wrapProse(result, width).map((line) => INDENT + line),
  ];
}

/** The call the decision is about. Empty for a question. */
function callLines({ kind, tool, arguments: args }: InquiryRow): readonly string[] {
  if (kind === "question" || tool === undefined || args === undefined) return [];
  return describeSubject({ tool, arguments: args });
}

export async function showInquiry({
  args,
  options,
  context,
}: Call<typeof SHOW_INQUIRY>): Promise<void> {
  const [wanted = ""] = args;
  const { output } = context;
  const rows = await findRows(wanted, options, context);
  const toJson = createToJson(context);
  for (const [index, row] of rows.entries()) {
    if (options.format === "json") {
      output.print(jsonLine(await toJson(row)));
    } else {
      if (index > 0) output.print("");
      printInquiry(row, context);
    }
  }
}

/** Throws `inquiry_not_found`, `ambiguous_id`. */
async function findRows(
  wanted: string,
  flags: InquiryScope,
  context: CommandContext,
): Promise<readonly InquiryRow[]> {
  const matches = new Matches(wanted);
  for await (const row of readInquiries(flags, context)) matches.add(row);
  if (matches.isEmpty) for (const row of await readDoubts(flags, context)) matches.add(row);
  if (!matches.isEmpty) return matches.get();
  const { findElsewhere } = await loadModule(() => import("./pending.ts"));
  const elsewhere = await findElsewhere(wanted, "show", context);
  throw new JpError("inquiry_not_found", `Question ${oneLine(wanted)} not found.`, {
    hint: elsewhere ?? "`jp inquiry ls` lists all questions.",
  });
}

/**
 * The decisions that an ID may stand for: its own, those about the call with this ID, or those whose ID starts with
 * it.
 */
class Matches {
  readonly #wanted: string;
  readonly #named: InquiryRow[] = [];
  readonly #aboutCall: InquiryRow[] = [];
  readonly #starting: InquiryRow[] = [];

  constructor(wanted: string) {
    this.#wanted = wanted;
  }

  get isEmpty(): boolean {
    return [this.#named, this.#aboutCall, this.#starting].every(({ length }) => length === 0);
  }

  add(row: InquiryRow): void {
    const wanted = this.#wanted;
    const { conversation, toolCallId } = row;
    const names = [row.id, `${conversation}/${row.id}`].flatMap((id) => [id, oneLine(id)]);
    const calls = toolCallId === undefined ? [] : [toolCallId, `${conversation}/${toolCallId}`];
    if (names.includes(wanted)) this.#named.push(row);
    else if (calls.includes(wanted)) this.#aboutCall.push(row);
    else if (wanted !== "" && names.some((name) => name.startsWith(wanted))) {
      this.#starting.push(row);
    }
  }

  /** Returns several only if they share the ID or the call. Throws `ambiguous_id`. */
  get(): readonly InquiryRow[] {
    const named = [this.#named, this.#aboutCall].find(({ length }) => length > 0);
    if (named !== undefined) return named;
    // Decisions made by config are hidden by default, so the user hardly means those.
    const listed = this.#starting.filter((row) => matchesInquiryFilter(row, {}));
    const starting = listed.length > 0 ? listed : this.#starting;
    if (new Set(starting.map(({ id }) => id)).size <= 1) return starting;
    const candidates = starting.map((row) => `  ${row.conversation}/${oneLine(row.id)}`);
    const unique = [...new Set(candidates)];
    const more = unique.length - MAX_CANDIDATES;
    throw new JpError(
      "ambiguous_id",
      [
        `${oneLine(this.#wanted)} is ambiguous:`,
        ...unique.slice(-MAX_CANDIDATES),
        ...(more > 0 ? [`  and ${more} older`] : []),
      ].join("\n"),
    );
  }
}

const MAX_CANDIDATES = 10;

/** Calls in doubt that no one has been asked about yet, so the record has no request for them. */
async function readDoubts(
  { conversation }: InquiryScope,
  context: CommandContext,
): Promise<readonly InquiryRow[]> {
  const pending = await listPending(context.workspace.conversations, {
    onProblem: (problem) => warn(problem, context.output),
  });
  const doubts = pending.filter(({ request }) => request === undefined);
  const ids =
    conversation && new Set((await resolveTargets(context, conversation)).map(({ id }) => id));
  const wanted = doubts.filter((item) => ids?.has(item.conversation) !== false);
  const rows = wanted.map(async (item): Promise<InquiryRow> => {
    const turn = await lastTurnIn(item.conversation, context);
    return { ...item, turn, source: askerAbout(item.kind, item.tool), isPending: true };
  });
  return Promise.all(rows);
}

/** Starts at 0. */
async function lastTurnIn(id: ConversationId, context: CommandContext): Promise<number> {
  const counter = new TurnCounter();
  let turn = 0;
  for await (const entries of readEntries(id, context)) {
    for (const { eventType } of entries) if (eventType) turn = counter.next(eventType);
  }
  return turn;
}

function printInquiry(row: InquiryRow, { output, clock }: CommandContext): void {
  const { conversation, turn, kind, tool, request, response, escalation, edited, changed } = row;
  const { question, deadline } = row;
  const asked = request?.type === "inquiry_request" ? request : undefined;
  const decider = response && deciderOf(response);
  const fields = {
    ID: row.id,
    Conversation: `${conversation}, turn ${turn + 1}`,
    Kind: kind === "in_doubt" ? "call in doubt" : kind,
    "Asked by": askerOf(row.source),
    Tool: tool,
    "Tool call": row.toolCallId,
    "Ran with": edited === undefined ? undefined : describeEdited(edited),
    "Question id": asked?.questionId,
    Question: firstLine(question.text),
    "Answer type": answerTypeOf(row),
    Default: question.default === undefined ? undefined : jsonLine(question.default),
    "Asked at": request && `${row.askedAt} UTC`,
    Deadline: deadline && `${deadline} UTC`,
    For: isForSome(request ?? {}) ? describeWhom(request ?? {}) : undefined,
    "So far": row.votes && describeVotes(row.votes),
    "Asked first": escalation && describeEscalation(escalation),
    Changed: isPassedOn(changed ?? [])
      ? "who is asked, because no one answered in time"
      : changed && `since it was decided: ${describeChanged(changed)}`,
    Outcome: describeEnd(row, clock.now()),
    ...(decider?.kind === "remembered" && { "Remembered from": decider.from }),
    "Closed at": response && `${response.timestamp} UTC`,
    Digest: request?.subject?.digest,
  };
  printFields(fields, output);
  const call = describeSubject({ ...request, tool, arguments: row.arguments, request });
  if (call.length > 0) printBlock("Call", call.join("\n"), output);
  if (kind !== "question" && tool !== undefined && edited?.arguments !== undefined) {
    printBlock("Ran with", callText({ name: tool, arguments: edited.arguments }), output);
  }
  if (question.answerType.type === "select") printOptions(question.answerType.options, output);
  // Older tools put the context into the text.
  const context = question.context ?? question.text.trim().split("\n").slice(1).join("\n");
  if (context.trim() !== "") printBlock("Context", neutralize(context.trimEnd()), output);
  const result = request?.type === "permission_request" ? request.result : undefined;
  if (result === undefined) return;
  const name = result.isError ? "Result (an error)" : "Result";
  printBlock(name, neutralize(result.content.trimEnd()), output);
}

/** The text must be safe to print. */
function printBlock(name: string, text: string, output: Output): void {
  output.print(output.paint("bold", name));
  for (const line of text.split("\n")) output.print(`  ${line}`.trimEnd());
}

function printOptions(options: readonly SelectOption[], output: Output): void {
  output.print(output.paint("bold", "Options"));
  for (const { value, description } of options) {
    const about = description === undefined ? "" : `: ${description}`;
    output.print(`  ${oneLine(`${jsonLine(value)}${about}`)}`);
  }
}

function askerOf(source: InquirySource): string {
  return "name" in source ? `${describeSource(source)} (${source.source})` : source.source;
}

function answerTypeOf({ kind, question, acts }: InquiryRow): string {
  const { answerType, exclusive, persistence } = question;
  const isAsked = kind === "question";
  const notes = [
    ...(exclusive ? ["only a person may answer"] : []),
    ...(isAsked && persistence === "none" ? ["asked every time"] : []),
    ...(acts ? ["a yes runs or changes something"] : []),
  ];
  return [answerType.type, ...notes].join("; ");
}

/** The decisions of these conversations, or of all, oldest conversation first, without loading whole records. */
export async function* readInquiries(
  { conversation }: InquiryScope,
  context: CommandContext,
): AsyncGenerator<InquiryRow> {
  const { workspace } = context;
  const summaries =
    conversation === undefined
      ? await workspace.conversations.list({ which: "all" })
      : await resolveTargets(context, conversation);
  const sorted = summaries.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  for (const { id, metadata } of sorted) {
    yield* readInquiriesOf({ id, title: metadata?.title }, readEntries(id, context), context);
  }
}

/** The decisions of one conversation, read from the given entries. */
export async function* readInquiriesOf(
  { id, title }: { readonly id: ConversationId; readonly title?: string | undefined },
  pieces: AsyncIterable<readonly StreamEntry[]>,
  { output }: Pick<CommandContext, "output">,
): AsyncGenerator<InquiryRow> {
  const onUnreadable = ({ message }: Error) =>
    warn(`${id}: cannot read an inquiry: ${message}`, output);
  for await (const inquiry of inquiriesIn(pieces, onUnreadable)) {
    yield { conversation: id, title, ...inquiry };
  }
}
