/** A question that is answered by one key. */
import { wrapWords } from "../render/index.ts";
import { assertNever } from "../util/index.ts";
import type { Chosen } from "./dialogue.ts";
import type { Key } from "./key.ts";
import {
  type Aside,
  type Asides,
  findAside,
  footRows,
  type QuestionRows,
  questionRows,
} from "./question-rows.ts";
import { bufferOf } from "./text-buffer.ts";
import { type Canvas, end, type Step, wait, type Widget } from "./widget.ts";

export interface KeyMenu<Choice extends string> {
  readonly message: string;
  /** Each key, and what it does. */
  readonly choices: Readonly<Partial<Record<Choice, string>>>;
  /** What Enter takes; without it Enter shows the help. */
  readonly default?: NoInfer<Choice> | undefined;
  /** What Escape does. */
  readonly escape: string;
}

export interface KeyMenuState {
  readonly isHelpShown: boolean;
}

export type KeyMenuEnding<Choice extends string> =
  | Chosen<Choice>
  | Aside
  | { readonly type: "cancelled" };

export const closedHelp: KeyMenuState = { isHelpShown: false };

export function keyMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
  asides: Asides,
): Widget<KeyMenuState, KeyMenuEnding<Choice>> {
  return {
    update: (_state, key) => chooseByKey(menu, asides, key),
    view: ({ isHelpShown }, canvas) => {
      const foot = footRows(asides, { readKey: "v" }, canvas);
      const help = isHelpShown ? helpRows(menu, asides, canvas) : [];
      const below = [...help, ...foot];
      const room = { ...canvas, rows: canvas.rows - below.length };
      const { rows, cursor, isCut } = menuRows(menu, room);
      return { rows: [...rows, ...below], cursor, isCut };
    },
  };
}

function chooseByKey<Choice extends string>(
  menu: KeyMenu<Choice>,
  asides: Asides,
  key: Key,
): Step<KeyMenuState, KeyMenuEnding<Choice>> {
  const aside = findAside(asides, key);
  if (aside !== undefined) return end(aside);
  switch (key.type) {
    case "text": {
      const choice = keysOf(menu).find((own) => own === key.text);
      if (choice !== undefined) return end({ type: "chosen", choice });
      if (key.text === "v" && asides.hasMore) return end({ type: "read_more" });
      return wait({ isHelpShown: true });
    }
    case "named":
      if (key.name === "ctrl-d") return end({ type: "cancelled" });
      if ((key.name === "enter" || key.name === "new-line") && menu.default !== undefined) {
        return end({ type: "chosen", choice: menu.default });
      }
      return wait({ isHelpShown: true });
    // What was copied from somewhere is no decision.
    case "paste":
      return wait({ isHelpShown: true });
    default:
      return assertNever(key);
  }
}

function menuRows<Choice extends string>(menu: KeyMenu<Choice>, canvas: Canvas): QuestionRows {
  const keys = `[${[...keysOf(menu), "?"].join(",")}]`;
  const suffix = menu.default === undefined ? keys : `${keys} (${menu.default})`;
  return questionRows({ message: menu.message, suffix }, bufferOf(""), canvas);
}

function helpRows<Choice extends string>(
  menu: KeyMenu<Choice>,
  { note }: Asides,
  { columns }: Canvas,
): readonly string[] {
  const lines = [
    ...keysOf(menu).map((key) => [key, menu.choices[key] ?? ""]),
    ...(note === undefined ? [] : [["Tab", "add a note to the answer"]]),
    ["?", "this help"],
    ["Esc", menu.escape],
  ];
  return lines.flatMap(([key = "", does = ""]) =>
    wrapWords(does, columns - 7).map(
      (row, index) => `  ${(index === 0 ? key : "").padEnd(3)}  ${row}`,
    ),
  );
}

/** An object names its numbers first; among keys they come last. */
export function keysOf<Choice extends string>({ choices }: KeyMenu<Choice>): readonly Choice[] {
  const keys = Object.keys(choices) as Choice[]; // A record has no other keys than its own.
  return [...keys.filter((key) => !isNumber(key)), ...keys.filter(isNumber)];
}

function isNumber(key: string): boolean {
  return /^[0-9]$/.test(key);
}
