/**
 * The dialogue for screen readers and simple terminals: prints lines that never change afterwards, and
 * reads every answer as a line.
 */
import { neutralize, oneLine, plain, wrapWords } from "../render/index.ts";
import { contextLines } from "./context.ts";
import {
  type Chosen,
  type ClosedQuestion,
  type Dialogue,
  type DialogueOptions,
  editInEditor,
  type Entered,
  enterNote,
  type FormHeader,
  type KeyMenu,
  type NoAnswer,
  type Selected,
  type SelectList,
  type SelectState,
  type TextRequest,
} from "./dialogue.ts";
import {
  type Line,
  type LineTerminal,
  openLineTerminal,
  type ReadLineOptions,
} from "./line-terminal.ts";
import { plainList } from "./plain-list.ts";
import {
  END_LINE,
  joinTypedLines,
  plainMenu,
  type PlainQuestion,
  plainText,
} from "./plain-questions.ts";

const PROMPT = "Answer: ";

export class PlainDialogue implements Dialogue {
  note: string | undefined;
  readonly #options: DialogueOptions;
  readonly #signal: AbortSignal;
  #opened: LineTerminal | undefined;
  /** Printed before the next question. */
  header: FormHeader | undefined;
  #ringsBell = false;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The cursor position is unknown here, so this always starts a new line. */
  async start(): Promise<void> {
    this.#say("");
  }

  notify(): void {
    this.#ringsBell = this.#options.notification?.bell ?? false;
  }

  /** Prints all of it, however long: the user can scroll back. */
  printContext(context: string): void {
    this.#say(...contextLines(context, { columns: this.#columns, rows: 0, paint: plain }));
  }

  printLabel(label: string): void {
    this.#say(oneLine(label));
  }

  print(text: string): void {
    this.#say(...neutralize(text.trimEnd()).split("\n"));
  }

  printClosed({ message, summary, isCancelled = false }: ClosedQuestion): void {
    const shown = oneLine(summary);
    const end = shown.charAt(0).toUpperCase() + shown.slice(1);
    this.#say(isCancelled ? `${end}: ${message}` : `Answered: ${message} ${shown}`);
  }

  async choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | NoAnswer> {
    return await this.#ask(plainMenu(menu));
  }

  async select(list: SelectList, state: SelectState): Promise<Selected> {
    const answer = await this.#ask(plainList(list, state));
    if ("type" in answer) return { state, ending: answer };
    return { state: { ...state, marked: answer.marked }, ending: answer.ending };
  }

  async enterText(request: TextRequest): Promise<Entered | NoAnswer> {
    const { editText } = this.#options;
    let { text = "", problem } = request;
    for (;;) {
      const entry = { ...request, text, problem, hasEditor: editText !== undefined };
      const ending = await this.#ask(plainText(entry));
      if (ending.type === "several_lines") return await this.#readLines();
      if (ending.type !== "editor") return ending;
      this[Symbol.dispose]();
      const { extension = ".md" } = request;
      ({ text, problem } = await editInEditor(text, {
        editText,
        extension,
        signal: this.#signal,
      }));
    }
  }

  async enterSecret(message: string): Promise<Entered | NoAnswer> {
    this.#sayHeader();
    this.#sayWords(message, "Your input is hidden. Press Enter to submit it, or Ctrl-C to cancel.");
    const line = await this.#read("Secret: ", { isSecret: true });
    return line.type === "line" ? { type: "entered", text: line.text } : line;
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  /** Repeats until a line is an answer. */
  async #ask<Ending>(question: PlainQuestion<Ending>): Promise<Ending | NoAnswer> {
    this.#sayHeader();
    this.#sayQuestion(question);
    for (;;) {
      const line = await this.#read(PROMPT);
      if (line.type !== "line") return line;
      const command = line.text.trim();
      if (command === "/cancel") return { type: "cancelled" };
      if (command === "?") this.#sayWords(...question.help, this.#commandsOf(question));
      else if (command === "/note" && this.note !== undefined) {
        await enterNote(this);
        this.#sayQuestion(question);
      } else {
        const reading = question.readLine(line.text);
        if (reading.type === "end") return reading.ending;
        this.#sayWords(...reading.lines);
      }
    }
  }

  #sayQuestion<Ending>(question: PlainQuestion<Ending>): void {
    const { note = "" } = this;
    this.#sayWords(...question.lines, ...(note === "" ? [] : [`Note: ${oneLine(note)}`]));
    this.#sayWords(question.hint, this.#commandsOf(question));
  }

  #commandsOf<Ending>({ commands = [], cancelHint }: PlainQuestion<Ending>): string {
    const all = [
      ...commands,
      ...(this.note === undefined ? [] : ["/note to add a note"]),
      cancelHint,
    ];
    return `? for help, ${all.join(", ")}.`;
  }

  async #readLines(): Promise<Entered | NoAnswer> {
    this.#sayWords("Type as many lines as you like. End with a line that is only a period.");
    const lines: string[] = [];
    for (;;) {
      const line = await this.#read("", { isContinuation: true });
      if (line.type !== "line") return line;
      if (line.text === END_LINE) return { type: "entered", text: joinTypedLines(lines) };
      lines.push(line.text);
    }
  }

  async #read(prompt: string, wanted?: ReadLineOptions): Promise<Line> {
    if (this.#signal.aborted) return { type: "aborted" };
    const terminal = this.#open();
    const line = terminal.readLine(this.#signal, wanted);
    terminal.write(prompt + (this.#ringsBell ? "\u0007" : ""));
    this.#ringsBell = false;
    const { type } = await line;
    if (type === "aborted") terminal.write("This question was withdrawn.\n");
    return await line;
  }

  /** Prints the question's context or, at the end of a form, all answers. */
  #sayHeader(): void {
    const { answered, context, isReview = false } = this.header ?? { answered: [] };
    this.header = undefined;
    if (context !== undefined) this.printContext(context);
    if (!isReview) return;
    this.#sayWords(
      "Your answers:",
      ...answered.map(({ message, summary }) => `${message} ${oneLine(summary)}`),
    );
  }

  /** Like `#say`, wrapped at words. */
  #sayWords(...lines: readonly string[]): void {
    this.#say(...lines.flatMap((line) => wrapWords(line, this.#columns)));
  }

  #say(...lines: readonly string[]): void {
    if (this.#signal.aborted) return;
    this.#open().write(lines.map((line) => `${line}\n`).join(""));
  }

  get #columns(): number {
    return Math.max(20, this.#open().columns - 1);
  }

  #open(): LineTerminal {
    this.#opened ??= openLineTerminal(this.#options.device);
    return this.#opened;
  }
}
