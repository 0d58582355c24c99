/**
 * The dialogue for screen readers and simple terminals: prints lines that never change afterwards, and reads each
 * answer as a line.
 */
import { neutralize, oneLine } from "../../util/index.ts";
import { plain, wrapVerbatim, wrapWords } from "../render/index.ts";
import { passageLines } from "./context.ts";
import {
  asContext,
  Dialogue,
  type EnteredMessage,
  HOLD_MS,
  type MessageRequest,
  type NoAnswer,
  type Passage,
  type Prompt,
} from "./dialogue.ts";
import { endsInBreak } from "./input-line.ts";
import { emptyInput } from "./input-state.ts";
import {
  type Line,
  type LineTerminal,
  openLineTerminal,
  type ReadLineOptions,
} from "./line-terminal.ts";
import type { PrintedQuestion } from "./plain-questions.ts";
import { answerLine, type ClosedQuestion } from "./question-rows.ts";
import { findNotice, NOT_SENT, typeAtNotice } from "./taken-prompt.ts";
import { bufferOf } from "./text-buffer.ts";
import { type Entered, enterNote } from "./text-entry.ts";

const PROMPT = "Answer: ";
const SECRET_PROMPT = "Secret: ";
/** Ends a multi-line text; doubled, it is a line of the text. */
const END_LINE = ".";
const TOO_EARLY = "That was typed before this question could be read, so it does not count.";
const DISMISSES = "Press Enter to continue. The line that you type now is not sent.";
const DISMISSES_SECRET = "Press Enter to continue. What you type now is hidden, and not sent.";
const MESSAGE_PROMPT = "Message: ";
const MESSAGE_HELP =
  "Type your message and press Enter. End a line with a backslash to continue on the next one, or type /lines to write several.";
const COMMAND_HELP = "/help lists the commands, /quit leaves.";
const ADD_OR_SEND = "Press Enter to send this, or type more.";
const CLEARS = "Ctrl-C clears it.";

export class PlainDialogue extends Dialogue {
  #opened: LineTerminal | undefined;
  #ringsBell = false;

  /** Always starts a new line, because the cursor position is unknown. */
  async start(): Promise<void> {
    this.#say("");
    await this.#readNotice();
  }

  notify(): void {
    this.#ringsBell = this.options.notification?.bell ?? false;
  }

  /** Prints all of it: the user can scroll back. */
  printAbove(...passages: readonly Passage[]): void {
    for (const passage of passages) {
      if (passage.type === "notice") this.#sayWords(passage.text);
      else this.#say(...passageLines([passage], { columns: this.#columns, rows: 0, paint: plain }));
    }
  }

  print(text: string): void {
    this.#say(...neutralize(text.trimEnd()).split("\n"));
  }

  printClosed({ message, summary, isCancelled = false }: ClosedQuestion): void {
    this.#opened?.restore(); // Having read the answer, the user may press Ctrl-C to stop what follows.
    const shown = oneLine(summary);
    const end = shown.charAt(0).toUpperCase() + shown.slice(1);
    this.#sayWords(isCancelled ? `${end}: ${message}` : `Answered: ${message} ${shown}`);
  }

  /** Repeats until a line is a valid answer. */
  async ask<State, Ending>(prompt: Prompt<State, Ending>): Promise<Ending | NoAnswer> {
    const question = prompt.forms.plain(prompt.state);
    const { help = [], isSecret = false } = question;
    if (!this.signal.aborted) this.noteSeen({ isSecret });
    this.#sayHeader();
    this.#sayQuestion(question);
    for (;;) {
      const line = await this.#readAnswer(question);
      if (line.type !== "line") return line;
      const command = isSecret ? "" : line.text.trim();
      if (command === "/cancel") return { type: "cancelled" };
      if (command === "?") this.#sayWords(...help, commandsOf(question, this.note));
      else if (command === "/note" && this.note !== undefined) {
        await enterNote(this);
        this.#sayQuestion(question);
      } else if (command === "/lines" && question.readLines !== undefined) {
        const typed = await this.#readLines();
        if (typed.type !== "entered") return typed;
        const { ending, state } = question.readLines(typed.text);
        prompt.state = state;
        return ending;
      } else {
        const reading = question.readLine(line.text);
        if (reading.type === "end") {
          prompt.state = reading.state ?? prompt.state;
          return reading.ending;
        }
        this.#sayWords(...reading.lines);
      }
    }
  }

  /** Pasted lines need another Enter. */
  async enterMessage(request: MessageRequest): Promise<EnteredMessage> {
    await this.#readNotice();
    const { buffer: given } = this.withUnsent(request.state);
    const { isFirst = false, hasCommands = false, hasWayBack = false, onOpen } = request;
    if (isFirst) this.#sayWords(`${MESSAGE_HELP} ${hasCommands ? COMMAND_HELP : "Ctrl-D leaves."}`);
    const mode = request.mode?.();
    if (mode !== undefined && !isFirst) this.#say(`Mode: ${mode.name}.`);
    let isClosed = false;
    // A session's first prompt follows the text printed above it.
    let prompt = isFirst && onOpen !== undefined ? "" : MESSAGE_PROMPT;
    let isAsked = prompt !== "";
    onOpen?.({
      print: (lines) => {
        if (isClosed) return false;
        isAsked = true;
        this.#sayWords(...lines);
        this.#open().write(MESSAGE_PROMPT);
        return true;
      },
    });
    let { text } = given;
    const addOrSend = hasWayBack ? ADD_OR_SEND : `${ADD_OR_SEND} ${CLEARS}`;
    if (text !== "") {
      this.#say("Your draft:", ...neutralize(text).split("\n"));
      this.#sayWords(addOrSend);
    }
    const endWith = (ending: EnteredMessage["ending"]) => {
      isClosed = true;
      return { state: emptyInput(text), ending };
    };
    for (let isLeaving = false; ;) {
      request.onTyped?.(text);
      const line = await this.#read(prompt, { takesPaste: true });
      if (line.type === "aborted") {
        if (isAsked) this.#open().write("\n");
        return endWith(line);
      }
      prompt = MESSAGE_PROMPT;
      isAsked = true;
      if (line.type === "cancelled") {
        const { isInterrupt = false, isEndOfInput = false } = line;
        const isLeft = hasWayBack || (isLeaving && text === "");
        if (isEndOfInput || (isInterrupt && isLeft)) return endWith({ type: "left" });
        if (!isInterrupt) continue;
        this.#say(text === "" ? "Press Ctrl-C again to leave." : "Cleared.");
        isLeaving = text === "";
        text = "";
        continue;
      }
      isLeaving = false;
      const added = line.text === "/lines" ? await this.#readLines() : line;
      if (added.type === "aborted") return endWith(added);
      if (added.type === "cancelled") continue;
      const isOpen = added.type === "line" && added.text.includes("\n");
      const isBroken = endsInBreak(added.text);
      text = [text, isBroken ? added.text.slice(0, -1) : added.text].filter(Boolean).join("\n");
      if (isOpen) this.#sayWords(addOrSend);
      else if (!isBroken && text.trim() !== "") return endWith({ type: "sent", text });
    }
  }

  printUnsent(text: string): void {
    this.#open().write(`${NOT_SENT} ${neutralize(text)}\n`);
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  /** The first line after a prompt was taken away is not sent: it was meant for that prompt. */
  async #readNotice(): Promise<void> {
    const { device } = this.options;
    const notice = findNotice(device);
    if (notice === undefined || this.signal.aborted) return;
    const { isSecret } = notice;
    this.#sayWords(notice.message, isSecret ? DISMISSES_SECRET : DISMISSES);
    const line = await this.#read(`${NOT_SENT} `, { isContinuation: true, isSecret });
    if (line.type === "aborted") return;
    const isKept = line.type === "line" && !isSecret;
    if (isKept) typeAtNotice(device, bufferOf(line.text));
    this.endNotice();
  }

  #sayQuestion(question: PrintedQuestion): void {
    const { note = "" } = this;
    const { lines, hint, isSecret = false } = question;
    this.#say(...lines.flatMap((line) => wrapVerbatim(line, this.#columns)));
    if (note !== "") this.#sayWords(`Note: ${oneLine(note)}`);
    this.#sayWords(hint, ...(isSecret ? [] : [commandsOf(question, this.note)]));
  }

  async #readLines(): Promise<Entered | NoAnswer> {
    this.#sayWords("Type as many lines as you like. End with a line that is only a period.");
    const lines: string[] = [];
    for (;;) {
      const line = await this.#readReply("", { isContinuation: true });
      if (line.type !== "line") return line;
      if (line.text === END_LINE) return { type: "entered", text: joinTypedLines(lines) };
      lines.push(line.text);
    }
  }

  /** Asks again if the line came too early, meant for the previous question. */
  async #readAnswer(question: PrintedQuestion): Promise<Line> {
    const isReplacement = this.takeReplacement();
    const openedAt = this.now().getTime();
    const prompt = question.isSecret === true ? SECRET_PROMPT : PROMPT;
    const line = await this.#readReply(prompt, question);
    const isTooEarly = isReplacement && this.now().getTime() - openedAt < HOLD_MS;
    if (line.type !== "line" || !isTooEarly) return line;
    this.#sayWords(TOO_EARLY);
    return await this.#readAnswer(question);
  }

  /** Reports if the question is withdrawn meanwhile. */
  async #readReply(prompt: string, wanted?: ReadLineOptions): Promise<Line> {
    const line = await this.#read(prompt, wanted);
    if (line.type === "aborted") this.#opened?.write("This question was withdrawn.\n");
    return line;
  }

  async #read(prompt: string, wanted?: ReadLineOptions): Promise<Line> {
    if (this.signal.aborted) return { type: "aborted" };
    const terminal = this.#open();
    const line = terminal.readLine(this.signal, wanted);
    terminal.write(prompt + (this.#ringsBell ? "\u0007" : ""));
    this.#ringsBell = false;
    return await line;
  }

  /** Prints the question's context or, at the end of a form, all answers. */
  #sayHeader(): void {
    const { answered, context, style, isReview = false } = this.header ?? { answered: [] };
    this.header = undefined;
    if (context !== undefined) this.printAbove(asContext(context, style));
    if (!isReview) return;
    this.#sayWords("Your answers:", ...answered.map(answerLine));
  }

  /** Like `#say`, with word wrap. */
  #sayWords(...lines: readonly string[]): void {
    this.#say(...lines.flatMap((line) => wrapWords(line, this.#columns)));
  }

  #say(...lines: readonly string[]): void {
    if (this.signal.aborted) return;
    this.#open().write(lines.map((line) => `${line}\n`).join(""));
  }

  get #columns(): number {
    return Math.max(20, this.#open().columns - 1);
  }

  #open(): LineTerminal {
    this.#opened ??= openLineTerminal(this.options.device);
    return this.#opened;
  }
}

function commandsOf(
  { commands = [], cancelHint = "/cancel" }: PrintedQuestion,
  note: string | undefined,
): string {
  const all = [...commands, ...(note === undefined ? [] : ["/note to add a note"]), cancelHint];
  return `? for help, ${all.join(", ")}.`;
}

function joinTypedLines(lines: readonly string[]): string {
  return lines.map((line) => (line === END_LINE.repeat(2) ? END_LINE : line)).join("\n");
}
