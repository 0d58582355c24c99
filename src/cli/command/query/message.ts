/** Reads the message from the command line, a file, standard input, or the editor. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import type { PartialConfig } from "../../../settings/config/index.ts";
import {
  attachmentCode,
  loadRecordingParts,
  machineOf,
  namingPlace,
  type NewStart,
  type WrittenMessage,
} from "../../../assemble/index.ts";
import type { OpenMessage, TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { JpError, loadModule, systemErrorCode } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { wantsPlainText } from "../../host.ts";
import { type EditedText, editText, findEditor } from "../../editor.ts";
import { findQuietPrompter, type InteractionFlags } from "../../prompter.ts";
import { completeFile } from "../session/completion.ts";
import { InputHistory } from "../session/history.ts";

/** The sources of a turn's message. */
export interface MessageSource extends InteractionFlags {
  readonly words: readonly string[];
  readonly start: NewStart;
  /** `true`: always open the editor. `false`: never. */
  readonly edit?: boolean | undefined;
  /** The command can proceed without a message. */
  readonly isOptional?: boolean | undefined;
}

export interface QueryMessage extends WrittenMessage {
  /** The file that was edited. */
  readonly draft?: EditedText;
}

/** Undefined if left empty. Throws `usage` if there is no message, `file_not_read`, and what the editor throws. */
export async function readMessage(
  { words, start, edit, isOptional = false, nonInteractive }: MessageSource,
  context: CommandContext,
  config: PartialConfig,
): Promise<QueryMessage | undefined> {
  const { host } = context;
  // A message without a reply is edited first.
  const isEarlierEdited = start.type === "new" && start.text !== undefined;
  const before = (start.type === "replay" ? start.request.content : start.text) ?? "";
  const piped = host.hasPipedInput() ? (await text(host.stdin)).replace(/\r?\n$/, "") : "";
  const said = await readWords(isEarlierEdited ? [] : words, context);
  const join = (first: string) =>
    [before, first, piped].filter((part) => part.trim() !== "").join("\n\n");
  const isEdited =
    isEarlierEdited || (edit ?? (join(said.text) === "" && host.stdin.isTTY === true));
  const given = {
    text: join(said.typed ?? said.text),
    isTyped: piped === "",
    // The user typed the earlier message too, so its mentions are attached.
    before: isEarlierEdited && start.isForeign !== true ? "" : before,
  };
  const message = isEdited
    ? await editMessage(given, { context, config, nonInteractive })
    : { ...said, text: join(said.text) };
  if (message.text.trim() !== "") return message;
  await message.draft?.discard();
  if (!isEdited && !isOptional) throw noMessageError();
  return undefined;
}

function noMessageError(): JpError {
  return usageError(
    "The message is empty: nothing to ask.",
    'Pass words (jp query "Why?"), a file (jp query @question.md), or pipe text in.',
  );
}

/** Keeps the text from the editor until the turn takes it. Disposing prints where the file is, unless it was discarded. */
export class DraftKeeper implements Disposable {
  readonly #context: CommandContext;
  #draft: EditedText | undefined;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  keep({ draft }: QueryMessage): void {
    this.#draft = draft;
  }

  async discard(): Promise<void> {
    const draft = this.#draft;
    this.#draft = undefined;
    await draft?.discard();
  }

  [Symbol.dispose](): void {
    if (this.#draft === undefined) return;
    this.#context.output.notice(`Your draft is saved in ${this.#draft.file}`);
  }
}

/** A message, and what was typed if that differs. */
interface SaidMessage extends QueryMessage {
  readonly typed?: string;
}

/** A single word `@file` is replaced by the content of the file. */
async function readWords(words: readonly string[], context: CommandContext): Promise<SaidMessage> {
  const [first = ""] = words;
  const isOneWord = !/\s/.test(first) || existsSync(path.resolve(context.cwd, first.slice(1)));
  if (words.length !== 1 || !/^@[^\s@]/.test(first) || !isOneWord) {
    const typed = words.join(" ");
    return { ...(await withMentions(typed, context)), typed };
  }
  const hint =
    "A message that is just @name is read from that file. Add more words to send it as it is.";
  const said = await readTextFile(path.resolve(context.cwd, first.slice(1)), hint);
  return { text: said.replace(/\r?\n$/, "") };
}

/**
 * Finds `@path` mentions in a typed message. Text may be pasted from elsewhere, so files with keys are not attached
 * this way. Mentions already in the text `before` the edit are attached already, or were meant as text.
 */
export async function withMentions(
  typed: string,
  context: CommandContext,
  before = "",
): Promise<QueryMessage> {
  if (!typed.includes("@")) return { text: typed };
  const { findMentions } = await attachmentCode();
  const place = namingPlace(context);
  const { text: sent, paths, secretPaths } = findMentions(typed, place);
  const { paths: known, secretPaths: knownSecrets } = findMentions(before, place);
  for (const file of secretPaths.filter((one) => !knownSecrets.includes(one))) {
    const reason = "is not attached, because it may contain passwords or keys";
    warn(`@${file} ${reason}. To attach it: -a, or /attach in a session.`, context.output);
  }
  return { text: sent, mentions: paths.filter((file) => !known.includes(file)) };
}

/** Reads a file named on the command line. Throws `file_not_read`. */
export async function readTextFile(file: string, hint?: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const reason = systemErrorCode(cause) ?? "";
    throw new JpError("file_not_read", `${file} could not be read: ${reason}.`, {
      cause,
      ...(hint !== undefined && { hint }),
    });
  }
}

interface GivenText {
  readonly text: string;
  /** Piped text is not the user's, so its mentions are not attached. */
  readonly isTyped: boolean;
  /** The part that was sent earlier. */
  readonly before: string;
}

interface Editing extends InteractionFlags {
  readonly context: CommandContext;
  readonly config: PartialConfig;
}

/** Preloads what sending a message needs, so that an upgrade meanwhile does not lose the message. Never throws. */
export async function loadMessageParts(): Promise<void> {
  const attachments = attachmentCode().then(({ preloadAttachments }) => preloadAttachments());
  await Promise.allSettled([attachments, loadRecordingParts()]);
}

/** In the user's editor; without one, at a prompt. */
async function editMessage(
  given: GivenText,
  { context, config, nonInteractive }: Editing,
): Promise<QueryMessage> {
  await loadMessageParts();
  const prompter = findQuietPrompter(context, config, { nonInteractive });
  const { editor } = config;
  const hasEditor = findEditor(context.environment.variables, editor) !== undefined;
  if (!hasEditor && prompter?.canAsk() === true) {
    const isPlain = wantsPlainText(context, config);
    return enterMessage(given, { prompter, context, isPlain });
  }
  const draft = await editText({ name: "QUERY_MESSAGE.md", text: given.text }, context, editor);
  const edited = draft.text.trim();
  const { isTyped, before } = given;
  return { ...(isTyped ? await withMentions(edited, context, before) : { text: edited }), draft };
}

interface Entering {
  readonly prompter: TerminalPrompter;
  readonly context: CommandContext;
  readonly isPlain: boolean;
}

/** Empty if the user closes the prompt. */
async function enterMessage(
  { text: state, isTyped, before }: GivenText,
  { prompter, context, isPlain }: Entering,
): Promise<QueryMessage> {
  const { environment, cwd } = context;
  const history = await InputHistory.load(environment);
  const { FileSearch } = await loadModule(() => import("../session/file-search.ts"));
  const listing = new AbortController();
  let open: OpenMessage | undefined;
  const search = new FileSearch({
    root: machineOf(context).root,
    folder: cwd,
    clock: context.clock,
    signal: listing.signal,
    onListed: () => void open?.print([]),
  });
  const { ending } = await prompter.enterMessage({
    state,
    isFirst: true,
    history: () => history.entries,
    complete: ({ text: typed, cursor }) =>
      completeFile(typed.slice(0, cursor), { folder: cwd, search }),
    signal: new AbortController().signal,
    // In plain mode, nothing is redrawn.
    ...(!isPlain && { onOpen: (opened) => (open = opened) }),
  });
  listing.abort();
  if (ending.type !== "sent") return { text: "" };
  await history.add(ending.text);
  const entered = ending.text.trim();
  return isTyped ? await withMentions(entered, context, before) : { text: entered };
}
