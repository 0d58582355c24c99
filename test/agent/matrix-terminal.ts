/** The terminal, drawn and in plain lines, as surfaces on which people decide. */
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import { VirtualTerminal } from "../support/virtual-terminal.ts";
import {
  EDITED_ARGUMENTS,
  EDITED_RESULT,
  type Kind,
  KINDS,
  NOTE,
  OWN_WORDS,
  type ReplyName,
  type Scene,
  TOO_LONG_MS,
} from "./matrix-scene.ts";
import {
  each,
  type Exception,
  LEFT,
  resumeWith,
  type Surface,
  user,
  VOTES,
} from "./matrix-surface.ts";
import { decides, refused, TABLE } from "./matrix-table.ts";

/** What is typed at a prompt, once it shows this. What has no key cannot be said. */
interface Keys extends Partial<Readonly<Record<ReplyName, string>>> {
  readonly shown: string;
  readonly yes: string;
  /** After the key that opens the editor. */
  readonly text?: readonly [shown: string, keys: string];
}

type Keyboard = Readonly<Record<Kind, Keys>>;

const CTRL_C = "\u0003";
/** Of up to three lines. */
const CLEAR = "\u0015\u007f\u0015\u007f\u0015";
const ARGUMENTS = JSON.stringify(EDITED_ARGUMENTS);

const DRAWN_YES_OR_NO: Keys = {
  shown: "y yes",
  yes: "y\r",
  no: "n\r",
  no_with_note: `\t${NOTE}\r`,
  other: `${OWN_WORDS}\r`,
};

const DRAWN: Keyboard = {
  boolean: { ...DRAWN_YES_OR_NO, remembered: "a\r" },
  acting: DRAWN_YES_OR_NO,
  select: { shown: "Enter select", yes: "\r", no: "no\r", other: `${OWN_WORDS}\r` },
  several: { shown: "Enter submit", yes: " \r", no: "\r" },
  text: { shown: "Enter submit", yes: "soon\r", no: "no\r", other: `${OWN_WORDS}\r` },
  secret: { shown: "input is hidden", yes: "s3cret\r", no: "no\r", other: `${OWN_WORDS}\r` },
  permission: {
    ...DRAWN_YES_OR_NO,
    remembered: "a\r",
    edited: "e\r",
    text: ["Edit arguments:", `${CLEAR}${ARGUMENTS}\r`],
  },
  delivery: {
    ...DRAWN_YES_OR_NO,
    edited: "e\r",
    text: ["Edit the result:", `${CLEAR}${EDITED_RESULT}\r`],
  },
  in_doubt: { shown: "Enter select", yes: "run\r", no: "skip\r", other: `${OWN_WORDS}\r` },
};

const PLAIN_YES_OR_NO: Keys = {
  shown: "Type yes",
  yes: "yes\r",
  no: "no\r",
  no_with_note: `/why ${NOTE}\r`,
  other: `${OWN_WORDS}\r`,
};

const PLAIN: Keyboard = {
  boolean: { ...PLAIN_YES_OR_NO, remembered: "a\r" },
  acting: PLAIN_YES_OR_NO,
  select: { shown: "Type a number", yes: "live\r", no: "=no\r", other: `=${OWN_WORDS}\r` },
  several: { shown: "Type numbers", yes: "live\r", no: "\r" },
  text: { shown: "Type your answer", yes: "soon\r", no: "no\r", other: `${OWN_WORDS}\r` },
  secret: { shown: "Your input is hidden", yes: "s3cret\r", no: "no\r", other: `${OWN_WORDS}\r` },
  permission: {
    ...PLAIN_YES_OR_NO,
    remembered: "a\r",
    edited: "e\r",
    text: ["Edit arguments:", `${ARGUMENTS}\r`],
  },
  delivery: { ...PLAIN_YES_OR_NO, edited: "e\r", text: ["Edit the result:", `${EDITED_RESULT}\r`] },
  in_doubt: { shown: "Type a number", yes: "run\r", no: "skip\r", other: `=${OWN_WORDS}\r` },
};

const YES_OR_NO: ReadonlySet<Kind> = new Set(["boolean", "acting", "permission", "delivery"]);
const SAID_NO = { note: OWN_WORDS, redirects: true } as const;

const EXCEPTIONS: readonly Exception[] = [
  { kinds: ["secret"], replies: VOTES, cell: refused("backend_error") },
  LEFT,
  // It answers what it shows.
  { kinds: KINDS, replies: ["wrong_digest"], cell: (kind) => TABLE[kind].yes },
  // There is no key for it.
  { kinds: KINDS, replies: ["yes_with_note"], cell: refused("waits") },
  {
    kinds: KINDS.filter((kind) => kind !== "boolean" && kind !== "permission"),
    replies: ["remembered"],
    cell: refused("waits"),
  },
  {
    kinds: KINDS.filter((kind) => !YES_OR_NO.has(kind)),
    replies: ["no_with_note", "edited"],
    cell: refused("waits"),
  },
  { kinds: ["boolean", "acting"], replies: ["edited"], cell: refused("waits") },
  { kinds: ["several"], replies: ["other"], cell: refused("waits") },
  // Words that are no key say no, and what to do instead.
  {
    kinds: ["boolean", "acting"],
    replies: ["other"],
    cell: decides({ answer: false, ...SAID_NO }),
  },
  {
    kinds: ["permission", "delivery"],
    replies: ["other"],
    cell: decides({ decision: "denied", ...SAID_NO }),
  },
  // Where anything can be typed, a no is a word like any other.
  { kinds: ["select"], replies: ["no"], cell: decides({ answer: "no", isOther: true }) },
  { kinds: ["several"], replies: ["no"], cell: decides({ answer: [] }) },
  { kinds: ["text"], replies: ["no"], cell: decides({ answer: "no" }) },
  { kinds: ["secret"], replies: ["no"], cell: TABLE.secret.yes },
];

class DecidingTerminal extends VirtualTerminal {
  readonly prompter: TerminalPrompter;
  readonly #isPlain: boolean;

  constructor(isPlain: boolean) {
    super({ columns: 100, rows: 40, variables: { NO_COLOR: "1" }, readsLines: isPlain });
    this.#isPlain = isPlain;
    this.prompter = new TerminalPrompter({ device: this.device, isPlain });
  }

  /** False if nothing is asked. */
  async isAsked(shown: string): Promise<boolean> {
    // In plain mode, a line is read only once the prompt says so.
    const isOpen = (lines: readonly string[]) =>
      !this.#isPlain || /^(?:Answer|Secret):$/.test(lines.at(-1) ?? "");
    const isShown = (lines: readonly string[]) => lines.join("\n").includes(shown) && isOpen(lines);
    return this.untilShown(isShown).then(
      () => true,
      () => false, // The turn has ended first.
    );
  }

  /** Whoever waits for something on the screen waits no more. */
  close(): void {
    this.endWith(0);
  }
}

function terminal(name: string, keyboard: Keyboard): Surface {
  const isPlain = keyboard === PLAIN;
  return {
    name,
    by: user("terminal", "os_user"),
    exceptions: EXCEPTIONS,
    ...each(async (scene) => {
      const screen = new DecidingTerminal(isPlain);
      const { prompter } = screen;
      const turn = resumeWith(scene, { prompter, userName: "ada" }).finally(() => screen.close());
      await type(screen, scene, keyboard[scene.kind]);
      return await turn;
    }),
  };
}

async function type(
  screen: DecidingTerminal,
  { reply, clock }: Scene,
  { shown, text, ...keys }: Keys,
): Promise<void> {
  if (!(await screen.isAsked(shown))) return;
  if (reply === "late") return clock.advance(TOO_LONG_MS);
  const own = OWN_KEYS.has(reply) ? keys[reply] : keys.yes;
  if (own !== undefined) {
    screen.type(own);
    if (reply !== "edited" || text === undefined) return;
    await screen.isAsked(text[0]);
    return screen.type(text[1]);
  }
  // The person leaves it for later.
  screen.type(CTRL_C);
  await screen.isAsked("leave it for later");
  screen.type(reply === "cancelled" ? "c\r" : "l\r");
}

/** Everything else is a yes, at another time or by another person. */
const OWN_KEYS: ReadonlySet<ReplyName> = new Set([
  "no",
  "no_with_note",
  "yes_with_note",
  "remembered",
  "other",
  "edited",
  "cancelled",
]);

export const drawnSurface = terminal("the terminal", DRAWN);
export const plainSurface = terminal("the terminal in plain lines", PLAIN);
