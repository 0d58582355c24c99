/** `jp undo` restores what the last turn changed; `jp diff` shows what a conversation has changed. */
import { closeTurn } from "../../core/agent/index.ts";
import {
  type ConversationEvent,
  type ConversationId,
  endOf,
  findRequest,
  type InquiryId,
  isReplaced,
  lastTurnOf,
  type RecordedTurn,
  type Timestamp,
  timestampFromDate,
  turnsOf,
  type UndoneFile,
} from "../../record/conversation/index.ts";
import { unifiedDiff } from "../../reach/executor/index.ts";
import { formatPath, parseText } from "../../reach/files/index.ts";
import { type Cell, renderContext, renderTable, wrapProse } from "../../surfaces/render/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import type { TerminalPrompter } from "../../surfaces/terminal/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import {
  applyUndo,
  compareWithStart,
  type KeptTurn,
  planUndo,
  readStep,
  SNAPSHOT_LIMITS,
  STORE_LIMITS,
  type UndoPlan,
  type UndoStep,
  UndoStore,
} from "../../reach/undo/index.ts";
import { firstLine, formatSize, JpError, neutralize, oneLine } from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import { resolveTarget, resolveTargetForReading } from "../conversations.ts";
import type { Call } from "../define.ts";
import { ExitStatus, usageError } from "../exit-status.ts";
import { findQuietPrompter } from "../prompter.ts";
import { trustedConfig } from "../trust.ts";
import type { DIFF, UNDO } from "./options.ts";
import type { FlagsOf } from "../options.ts";

export async function undo({ args, options, context }: Call<typeof UNDO>): Promise<void> {
  const { id } = await resolveTarget(context, args[0]);
  const { config } = await trustedConfig(context, { id });
  const prompter = findQuietPrompter(context, config, {});
  const isUndone = await undoIn(id, options, { context, prompter });
  if (!isUndone) throw new ExitStatus(1);
}

interface UndoContext {
  readonly context: CommandContext;
  /** Absent in a non-interactive run. */
  readonly prompter: TerminalPrompter | undefined;
}

/**
 * Shows the diff, asks, and restores. False if the user declines. Throws `nothing_to_undo`, `undo_conflict`, `usage`
 * if it cannot ask, and what the conversation store throws.
 */
export async function undoIn(
  id: ConversationId,
  flags: FlagsOf<typeof UNDO>,
  { context, prompter }: UndoContext,
): Promise<boolean> {
  const { workspace, output, clock, environment } = context;
  const store = openStore(context);
  await using conversation = await workspace.conversations.open(id);
  await conversation.stream.load?.();
  const turns = turnsOf(conversation.stream.entries);
  const target =
    flags.withMessage === true
      ? await findMessage(store, { id, turns }, environment)
      : await findChanged(store, id, environment);
  const { plan, turn } = target;
  await showTarget(target, { store, turns, context });
  output.flush(); // Before the prompt.
  const conflicts = plan?.steps.filter(({ conflict }) => conflict !== undefined) ?? [];
  if (conflicts.length > 0 && flags.force !== true) throw conflictError(conflicts);
  const question = questionOf(target, turns, flags);
  if (flags.yes !== true && !(await confirm(question, prompter))) {
    output.notice("Nothing was undone.");
    return false;
  }
  const files = plan?.steps.flatMap(toUndoneFile) ?? [];
  const record = () =>
    recordUndo(conversation, clock, {
      type: "turn_undo",
      timestamp: timestampFromDate(clock.now()),
      turn,
      files,
      ...(flags.withMessage === true && { hidesTurn: true }),
      ...(conflicts.length > 0 && { isForced: true }),
    });
  if (store === undefined || plan === undefined) await record();
  else await applyUndo(store, plan, { isForced: flags.force === true, onStart: record });
  report(files, flags, output);
  return true;
}

/** A turn to undo, and what it would restore. */
interface Target {
  /** It, or a later turn without changes to restore, has run commands. */
  readonly hasCommands: boolean;
  /** When the turn started. */
  readonly turn: Timestamp;
  readonly plan: UndoPlan | undefined;
}

type Environment = CommandContext["environment"];

/** Undefined if no changes were ever kept. */
function openStore({ workspace }: CommandContext): UndoStore | undefined {
  const folder = workspace.findUserFolder();
  return folder === undefined ? undefined : new UndoStore({ folder, root: workspace.root });
}

/** The last turn with something left to restore. */
async function findChanged(
  store: UndoStore | undefined,
  id: ConversationId,
  { variables }: Environment,
): Promise<Target & { readonly plan: UndoPlan }> {
  const kept = store?.listTurns(id).filter(({ isUndone }) => !isUndone) ?? [];
  let hasCommands = false;
  for (const turn of kept.toReversed()) {
    if (store === undefined) break;
    const plan = await planUndo(store, turn, { variables });
    hasCommands ||= turn.hasCommands;
    const isEmpty = plan.steps.length + plan.lost.length + plan.turn.unkept.length === 0;
    if (!isEmpty || turn.isBeingUndone || turn.isDamaged) {
      return { turn: turn.turn as Timestamp, plan, hasCommands }; // Written by us.
    }
  }
  const [damaged] = store?.findDamaged(id) ?? [];
  if (damaged !== undefined) throw damagedError(damaged);
  throw nothingError({ hasCommands, hasDropped: store?.hasDropped(id) === true });
}

/** The last turn visible to models. */
async function findMessage(
  store: UndoStore | undefined,
  { id, turns }: { readonly id: ConversationId; readonly turns: readonly RecordedTurn[] },
  { variables }: Environment,
): Promise<Target> {
  const last = turns.findLast(
    ({ events }, position) => events[0]?.type === "turn_start" && !isReplaced(turns, position),
  );
  const turn = last?.events[0]?.timestamp;
  if (turn === undefined) throw new JpError("nothing_to_undo", "There is no message to undo.");
  const isKept = (kept: KeptTurn) => kept.turn === turn && !kept.isUndone;
  const kept = store?.listTurns(id).find(isKept);
  if (store === undefined || kept === undefined) {
    return { turn, plan: undefined, hasCommands: false };
  }
  const { hasCommands } = kept;
  return { turn, plan: await planUndo(store, kept, { variables }), hasCommands };
}

function damagedError(file: string): JpError {
  return new JpError("undo_damaged", `The journal of a turn is damaged: ${file}`, {
    hint: "It cannot be read, so the changes of that turn cannot be undone.",
  });
}

interface NothingReason {
  readonly hasCommands: boolean;
  readonly hasDropped: boolean;
}

function nothingError({ hasCommands, hasDropped }: NothingReason): JpError {
  if (hasCommands) {
    const message = "No file that jp keeps has changed, so there is nothing to restore.";
    return new JpError("nothing_to_undo", message, { hint: NOT_KEPT });
  }
  const { turns, bytes } = STORE_LIMITS;
  const limits = `jp keeps the last ${turns} turns of a workspace, up to ${formatSize(bytes)}.`;
  const message = hasDropped
    ? "Nothing to undo: older changes of this conversation are no longer kept."
    : "Nothing to undo: jp has kept no changes of this conversation.";
  const hint = hasDropped
    ? limits
    : "jp keeps what its own tools change, unless undo.keep is false in your config.";
  return new JpError("nothing_to_undo", message, { hint });
}

const NOT_KEPT =
  "Files that Git ignores, submodules and nested repositories are not kept. Changes that commands made there stay.";

function conflictError(conflicts: readonly UndoStep[]): JpError {
  const rows = conflicts.map(({ path, conflict }) => {
    const reason = conflict === "unknown" ? " (jp was stopped while a command ran)" : "";
    return `  ${neutralize(formatPath(path))}${reason}`;
  });
  const count = conflicts.length === 1 ? "1 file has" : `${conflicts.length} files have`;
  return new JpError("undo_conflict", `${count} changed since:\n${rows.join("\n")}`, {
    hint: "Nothing was undone. --force (in a session: /undo force) replaces these changes too.",
  });
}

interface ShowContext {
  readonly store: UndoStore | undefined;
  readonly turns: readonly RecordedTurn[];
  readonly context: CommandContext;
}

async function showTarget(
  { turn, plan, hasCommands }: Target,
  { store, turns, context }: ShowContext,
): Promise<void> {
  const { output } = context;
  const notice = (text: string) => {
    for (const row of wrapProse(text, output.noticeWidth)) output.notice(row);
  };
  const found = turns.find(({ events }) => events[0]?.timestamp === turn);
  const request = found && findRequest(found.events);
  if (found !== undefined) {
    const asked = request === undefined ? "" : `: ${oneLine(firstLine(request.content))}`;
    notice(`Turn ${found.index + 1}${asked}`);
  }
  if (store === undefined || plan === undefined) return;
  // The effect of the undo: from now to before.
  await printSteps(store, plan.steps.map(swapped), context);
  for (const name of plan.lost) {
    output.notice(`Not kept, so it cannot be restored: ${neutralize(formatPath(name))}`);
  }
  for (const reason of new Set(plan.turn.unkept)) {
    notice(`Commands of this turn cannot be undone: ${UNKEPT[reason] ?? oneLine(reason)}`);
  }
  const { isDamaged, file } = plan.turn;
  const damaged = [...(isDamaged ? [file] : []), ...store.findDamaged(plan.turn.conversation)];
  for (const one of damaged) notice(`Changes may be missing: a journal is damaged (${one}).`);
  if (hasCommands) notice(NOT_KEPT);
}

const UNKEPT: Readonly<Record<string, string>> = {
  not_git: "the workspace is in no Git repository.",
  git_failed: "git could not list the files.",
  index_damaged: "Git's index is damaged. Only files that Git listed earlier in the turn are kept.",
  too_large: `the workspace has more than ${SNAPSHOT_LIMITS.files} files or ${formatSize(SNAPSHOT_LIMITS.bytes)}.`,
};

function questionOf(
  { turn, plan }: Target,
  turns: readonly RecordedTurn[],
  { withMessage, force }: FlagsOf<typeof UNDO>,
): string {
  const count = plan?.steps.flatMap(toUndoneFile).length ?? 0;
  const files = count === 1 ? "1 file" : `${count} files`;
  const number = turns.findIndex(({ events }) => events[0]?.timestamp === turn) + 1;
  const forced = force === true ? ", and replace what has changed since" : "";
  if (withMessage !== true) return `Restore ${files}${forced}?`;
  return count === 0
    ? `Go back to before turn ${number}?`
    : `Restore ${files}${forced}, and go back to before turn ${number}?`;
}

/** Throws `usage` if no terminal is available. */
async function confirm(text: string, prompter: TerminalPrompter | undefined): Promise<boolean> {
  if (prompter?.canAsk() !== true) {
    throw usageError(
      "Cannot ask for confirmation: no terminal is available.",
      "Use --yes to undo without confirmation.",
    );
  }
  const question = booleanQuestion("undo", text, { default: false, persistence: "none" });
  const { signal } = new AbortController();
  const result = await prompter.ask({ inquiryId: "undo" as InquiryId, question, signal }); // Not recorded.
  return result.type === "answered" && result.answer === true;
}

/** Closes an incomplete turn, which must not continue with files it does not expect. */
async function recordUndo(
  conversation: ConversationWriter,
  clock: CommandContext["clock"],
  event: Extract<ConversationEvent, { type: "turn_undo" }>,
): Promise<void> {
  const last = lastTurnOf(endOf(conversation.stream));
  const closing = last.length === 0 ? [] : closeTurn(last, clock, "user");
  await conversation.append(...closing, event);
}

/** Leaves out folders: they come and go with their files. */
function toUndoneFile({ path, before, now }: UndoStep): readonly UndoneFile[] {
  if (before.kind === "folder" || (before.kind === "absent" && now.kind === "folder")) return [];
  const shown = path.isWellFormed() ? path : formatPath(path); // The record is UTF-8.
  return [{ path: shown, change: before.kind === "absent" ? "removed" : "restored" }];
}

function report(
  files: readonly UndoneFile[],
  { withMessage }: FlagsOf<typeof UNDO>,
  output: CommandContext["output"],
): void {
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  if (files.length > 0 || withMessage !== true) output.notice(`Restored ${count}.`);
  const told =
    withMessage === true
      ? "Models no longer see the message and its turn. Both stay on record."
      : "The model is told with your next message.";
  output.notice(told);
}

export async function diff({ args, options, context }: Call<typeof DIFF>): Promise<void> {
  const { id } = await resolveTargetForReading(context, args[0]);
  await diffOf(id, options, context);
}

/** Prints what the conversation has changed since it began. */
export async function diffOf(
  id: ConversationId,
  { stat = false }: FlagsOf<typeof DIFF>,
  context: CommandContext,
): Promise<void> {
  const store = openStore(context);
  const kept = store?.listTurns(id).filter(({ isUndone }) => !isUndone) ?? [];
  const { variables } = context.environment;
  const steps = store === undefined ? [] : await compareWithStart(store, kept, { variables });
  if (store === undefined || steps.length === 0) {
    return context.output.notice("This conversation has changed no files that jp has kept.");
  }
  if (store.hasDropped(id)) context.output.notice("(Older changes are no longer kept.)");
  await (stat ? printStat : printSteps)(store, steps, context);
}

interface ShownStep extends Pick<UndoStep, "path" | "before" | "now"> {
  /** `before` is the current state. */
  readonly isSwapped?: boolean;
}

function swapped({ path, before, now }: UndoStep): ShownStep {
  return { path, before: now, now: before, isSwapped: true };
}

async function printSteps(
  store: UndoStore,
  steps: readonly ShownStep[],
  { output, host }: CommandContext,
): Promise<void> {
  const isTerminal = host.isTerminal();
  for (const step of steps) {
    const text = await describeStep(store, step);
    if (text === "") continue;
    const rows = isTerminal
      ? renderContext(text, { paint: output.paint, width: output.lineWidth, style: "verbatim" })
      : text.replace(/\n$/, "").split("\n");
    for (const row of rows) output.print(row);
  }
}

/** One line per file, and the sum. */
async function printStat(
  store: UndoStore,
  steps: readonly ShownStep[],
  { output }: CommandContext,
): Promise<void> {
  const { paint, lineWidth: width } = output;
  const rows: Cell[][] = [];
  const sum = { added: 0, removed: 0 };
  for (const step of steps) {
    const text = await describeStep(store, step);
    if (text === "") continue;
    const { added, removed, note } = countLines(text);
    sum.added += added;
    sum.removed += removed;
    const name = oneLine(formatPath(step.path));
    rows.push([{ text: name, style: "cyan" }, ...countCells({ added, removed }), { text: note }]);
  }
  const files = rows.length === 1 ? "1 file" : `${rows.length} files`;
  const right = { align: "right" } as const;
  const columns = [
    { title: "FILE", shrinks: true },
    { title: "ADDED", ...right },
    { title: "REMOVED", ...right },
    { title: "" },
  ];
  const all = [...rows, [{ text: files }, ...countCells(sum), { text: "" }]];
  for (const line of renderTable({ columns, rows: all, paint, width })) output.print(line);
}

function countCells({ added, removed }: Record<"added" | "removed", number>): readonly Cell[] {
  return [
    { text: added === 0 ? "" : `+${added}`, style: "green" },
    { text: removed === 0 ? "" : `-${removed}`, style: "red" },
  ];
}

/** From a description of `describeStep`. */
function countLines(text: string) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith("@@"));
  const changed = start === -1 ? [] : lines.slice(start);
  const count = (mark: string) => changed.filter((line) => line.startsWith(mark)).length;
  const [, empty] = /^Empty file .*: (new|deleted)$/m.exec(text) ?? [];
  const other = text.startsWith("Mode of ") ? "mode" : "link";
  const kind = /^Binary file /m.test(text) ? "binary" : empty && `${empty}, empty`;
  return {
    added: count("+"),
    removed: count("-"),
    note: start === -1 ? (kind ?? other) : "",
  };
}

/** A unified diff, or a one-line description if there are no lines to compare. Empty for folders. */
async function describeStep(store: UndoStore, step: ShownStep): Promise<string> {
  const { path, before, now, isSwapped = false } = step;
  const name = formatPath(path);
  if ([before, now].every(({ kind }) => kind === "folder" || kind === "absent")) return "";
  const notes = noteLines(name, step);
  if (before.kind !== "file" && now.kind !== "file") return notes.join("");
  const read = await readStep(store, isSwapped ? { path, before: now, now: before } : step);
  const [from, to] = isSwapped ? [read.now, read.before] : [read.before, read.now];
  const [old, fresh] = [from && parseText(from), to && parseText(to)];
  if ((from !== undefined && old === undefined) || (to !== undefined && fresh === undefined)) {
    const sizes = [from, to].map((bytes) =>
      bytes === undefined ? "none" : formatSize(bytes.length),
    );
    return [...notes, `Binary file ${name}: ${sizes.join(" → ")}\n`].join("");
  }
  const text = await unifiedDiff({ path: name, before: old?.body, after: fresh?.body });
  const isEmpty = text === "" && (from === undefined || to === undefined);
  const about = from === undefined ? "new" : "deleted";
  return [...notes, isEmpty ? `Empty file ${name}: ${about}\n` : text].join("");
}

/** Mode and link changes, one line each. */
function noteLines(name: string, { before, now }: ShownStep): readonly string[] {
  const modes =
    before.kind === "file" && now.kind === "file" && before.mode !== now.mode
      ? [`Mode of ${name}: ${before.mode.toString(8)} → ${now.mode.toString(8)}\n`]
      : [];
  const isLinked = before.kind === "link" || now.kind === "link";
  return [...modes, ...(isLinked ? [`${name}: ${nameState(before)} → ${nameState(now)}\n`] : [])];
}

function nameState(state: UndoStep["now"]): string {
  return state.kind === "link" ? `link to ${formatPath(state.target)}` : state.kind;
}
