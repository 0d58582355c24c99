/** Keys, pastes, resizes and answers from elsewhere at a decision, compared with a model of what a person meant. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import * as fc from "fast-check";
import { expect } from "vitest";
import { decisionLine, undecided } from "../../src/surfaces/terminal/decision-line.ts";
import type { KeyMenu } from "../../src/surfaces/terminal/key-menu.ts";
import { decodeInput, decodeLoneEscape } from "../../src/surfaces/terminal/key.ts";
import { ShownWidget } from "../../src/surfaces/terminal/show-widget.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { fuzz } from "./fuzz.ts";

type Choice = "y" | "a" | "Y" | "n" | "N" | "e";

const HOLD_MS = 250;
const KEYS: ReadonlySet<string> = new Set(["y", "a", "Y", "n", "N", "e"]);
/** They cover more than the question, and decide only with Enter. */
const WIDE_KEYS: ReadonlySet<string> = new Set(["a", "Y", "N"]);
const MENU: KeyMenu<Choice> = {
  message: "Apply it?",
  choices: [
    { key: "y", label: "yes" },
    { key: "a", label: "yes to all", covers: "yes to all" },
    { key: "Y", covers: "yes to all" },
    { key: "n", label: "no" },
    { key: "N", help: "no to all", covers: "no to all" },
    { key: "e", help: "edit" },
  ],
  noKey: "n",
  escape: "cancel",
};

/** Bytes that arrive at once, and the time since the last ones. */
interface Arrival {
  readonly afterMs: number;
  readonly bytes: string;
}

type Happening =
  | ({ readonly type: "keys" } & Arrival)
  | { readonly type: "resize"; readonly columns: number; readonly rows: number }
  /** Someone else answers it, and the next one takes its place. */
  | { readonly type: "elsewhere"; readonly afterMs: number };

const ENTER = "\r";
const BACKSPACE = "\u007f";
const CLEAR = "\u0015";
const ESCAPE = "\u001b";
const TAB = "\t";
const PASTE_END = "\u001b[201~";
const paste = (text: string) => `\u001b[200~${text}${PASTE_END}`;

const letter = fc.constantFrom("y", "a", "Y", "n", "N", "e", "?", "x", "o", " ", "é");
const word = fc.constantFrom("y", "yes", "no", "n use sed", "wait", "Yes, but", "actually", "all");
const delay = fc.constantFrom(0, 5, 100, 249, 250, 400);

const anyBytes = fc.oneof(
  { weight: 6, arbitrary: letter },
  { weight: 4, arbitrary: fc.constantFrom(ENTER, BACKSPACE, CLEAR, ESCAPE, TAB, "\u001b[C") },
  { weight: 2, arbitrary: word },
  { weight: 1, arbitrary: word.map((text) => text + ENTER) },
  { weight: 1, arbitrary: letter.map((key) => key + ENTER) },
  { weight: 1, arbitrary: word.map(paste) },
  { weight: 1, arbitrary: letter.map((key) => PASTE_END + key) },
  { weight: 1, arbitrary: fc.tuple(word, word).map((lines) => lines.join(ENTER)) },
  { weight: 1, arbitrary: word.map((text) => ENTER + text) },
);

const anyHappening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ type: fc.constant("keys" as const), afterMs: delay, bytes: anyBytes }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("resize" as const),
      columns: fc.integer({ min: 1, max: 100 }),
      rows: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("elsewhere" as const), afterMs: delay }) },
);

/** What the person has told the prompt: nothing, or how it ends. */
type Meant =
  | undefined
  | { readonly choice: string }
  | { readonly text: string; readonly isMessage: boolean }
  | "cancelled";

/** What a person means by what they type, said without any regard to how it is drawn or decoded. */
class PersonModel {
  words = "";
  /** A single key with nothing before it, which nothing has followed yet. */
  held: string | undefined;
  /** `menu`: nothing was said. `no`: it is a no. `why`: it is a no, and the words only say why. */
  mood: "menu" | "no" | "why" = "menu";
  #hasPasted = false;
  #isUntouched = true;
  #isUnsure = false;
  readonly #suggested: string | undefined;

  constructor(suggested: string | undefined) {
    this.#suggested = suggested;
  }

  /** A quarter of a second in which nothing came. */
  pause(): Meant {
    const { held } = this;
    if (held !== undefined && WIDE_KEYS.has(held)) return undefined;
    this.held = undefined;
    if (held === "n") this.mood = "no";
    if (held === undefined || held === "n" || held === "?") return undefined;
    return { choice: held };
  }

  type(bytes: string): Meant {
    const wasUntouched = this.#isUntouched;
    const wasUnsure = this.#isUnsure;
    this.#isUntouched = false;
    this.#isUnsure = false;
    switch (bytes) {
      case ENTER:
        return this.#enter(wasUntouched);
      case BACKSPACE:
        if (this.held === undefined) this.words = this.words.slice(0, -1);
        this.held = undefined;
        if (this.words === "") this.#hasPasted = false;
        return undefined;
      case CLEAR:
        this.held = undefined;
        this.words = this.words.slice(0, this.words.lastIndexOf("\n") + 1);
        if (this.words === "") this.#hasPasted = false;
        return undefined;
      case ESCAPE:
        return this.#escape(wasUnsure);
      case TAB:
        this.held = undefined;
        this.mood = this.mood === "why" ? "no" : "why";
        return undefined;
      case "\u001b[C": {
        const { held = "" } = this;
        this.words = held + this.words; // It is no longer alone.
        this.held = undefined;
        return undefined;
      }
      default:
        return this.#typeText(bytes);
    }
  }

  #typeText(bytes: string): Meant {
    const isPasted = bytes.includes("\u001b[20");
    const text = bytes.replaceAll(/\u001b\[20[01]~/g, "");
    const isAlone = this.words === "" && this.held === undefined && this.mood === "menu";
    const isKey = isAlone && !isPasted && !this.#hasPasted;
    const key = text.slice(0, 1);
    const rest = text.slice(1);
    if (isKey && (KEYS.has(key) || key === "?") && (rest === "" || rest === ENTER)) {
      this.held = key;
      return rest === "" ? undefined : this.#enter(false);
    }
    const isTyped = text.length === 1 || (text.length === 2 && rest === ENTER);
    if (isPasted || !isTyped) this.#hasPasted = true;
    const isSent = text.endsWith(ENTER) && !isPasted;
    this.words += (this.held ?? "") + (isSent ? text.slice(0, -1) : text).replaceAll("\r", "\n");
    this.held = undefined;
    return isSent ? this.#enter(false) : undefined;
  }

  #enter(wasUntouched: boolean): Meant {
    const { held, mood } = this;
    this.held = undefined;
    if (held === "?") return undefined;
    if (held !== undefined) return { choice: held };
    const said = this.words.trim();
    if (said === "") {
      if (mood === "no") return { choice: "n" };
      if (mood === "why") this.mood = "menu";
      return mood === "menu" && wasUntouched && this.#suggested !== undefined
        ? { choice: this.#suggested }
        : undefined;
    }
    if (mood === "why") return { text: said, isMessage: false };
    if (/^n(o)?$/i.test(said)) return { choice: "n" };
    if (/^y(es)?$/i.test(said)) return undefined;
    const text = said.replace(/^n\s+/, "");
    return text.length < 2 ? undefined : { text, isMessage: true };
  }

  #escape(wasUnsure: boolean): Meant {
    const hasWords = this.words.trim() !== "";
    if (hasWords && this.held === undefined && !wasUnsure) {
      this.#isUnsure = true;
      return undefined;
    }
    if (this.held === undefined && this.words === "" && this.mood === "menu") return "cancelled";
    this.held = undefined;
    this.words = "";
    this.mood = "menu";
    this.#hasPasted = false;
    return undefined;
  }
}

/** Lets everything happen that waits for promises only. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

/** A prompt, and the model of it. */
class Round {
  readonly #terminal: FakeTerminal;
  readonly #clock: FakeClock;
  readonly #withdrawn = new AbortController();
  readonly model: PersonModel;
  readonly shown;
  /** Keys before this were meant for the prompt before. */
  readonly #ignoresUntil: number;
  ending: unknown;

  constructor(
    terminal: FakeTerminal,
    clock: FakeClock,
    { suggested, isReplacement }: { suggested: "y" | undefined; isReplacement: boolean },
  ) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.model = new PersonModel(suggested);
    this.#ignoresUntil = isReplacement ? clock.now().getTime() + HOLD_MS : 0;
    // On a small screen, what a key covers would have to be read first.
    const read = new Set(MENU.choices.flatMap(({ covers }) => covers ?? []));
    const widget = decisionLine({ ...MENU, default: suggested }, { hasMore: false, read });
    const { signal } = this.#withdrawn;
    this.shown = new ShownWidget(widget, undecided, { terminal, signal, clock, isReplacement });
    void this.shown.ended.then((ending) => (this.ending = ending));
  }

  /** Lets the time pass, then the bytes arrive. Returns what the person meant by it. */
  async arrive({ afterMs, bytes }: Arrival): Promise<Meant> {
    const meant = await this.wait(afterMs);
    if (meant !== undefined) return meant;
    const isIgnored = this.#clock.now().getTime() < this.#ignoresUntil;
    const { sent, rest } = decodeInput(bytes);
    this.#terminal.send([...sent, ...decodeLoneEscape(rest)]);
    await settle();
    return isIgnored ? undefined : this.model.type(bytes);
  }

  async wait(milliseconds: number): Promise<Meant> {
    this.#clock.advance(milliseconds);
    await settle();
    return milliseconds >= HOLD_MS ? this.model.pause() : undefined;
  }

  withdraw(): void {
    this.#withdrawn.abort();
  }
}

function asMeant(ending: unknown): Meant {
  if (ending === undefined) return undefined;
  const { type, choice, text, isMessage } = ending as {
    readonly type: string;
    readonly choice?: string;
    readonly text?: string;
    readonly isMessage?: boolean;
  };
  if (choice !== undefined) return { choice };
  if (text !== undefined) return { text, isMessage: isMessage === true };
  return type === "cancelled" ? type : undefined;
}

fuzz(
  "nothing is decided, said or lost but what the person meant",
  20_000,
  fc.asyncProperty(
    fc.array(anyHappening, { minLength: 1, maxLength: 14 }),
    fc.constantFrom("y" as const, undefined),
    async (happenings, suggested) => {
      const terminal = new FakeTerminal({ columns: 80, rows: 24 });
      const clock = new FakeClock();
      let round = new Round(terminal, clock, { suggested, isReplacement: false });
      for (const happening of happenings) {
        let meant: Meant;
        if (happening.type === "resize") terminal.resize(happening);
        else if (happening.type === "keys") meant = await round.arrive(happening);
        else {
          meant = await round.wait(happening.afterMs);
          if (meant === undefined) {
            round.withdraw();
            await settle();
            expect(round.ending).toEqual({ type: "aborted" });
            round = new Round(terminal, clock, { suggested, isReplacement: true });
          }
        }
        expect(asMeant(round.ending)).toEqual(meant);
        if (meant !== undefined) return;
        const { line, isHeld } = round.shown.state;
        expect([line.text, isHeld]).toEqual([
          round.model.held ?? round.model.words,
          round.model.held !== undefined,
        ]);
      }
      round.withdraw();
    },
  ),
);
