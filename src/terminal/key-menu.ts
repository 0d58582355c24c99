/** The widget for a question answered by pressing one key. */
import { wrapWords } from "../render/index.ts";
import { assertNever } from "../util/index.ts";
import type { Chosen, KeyMenu } from "./dialogue.ts";
import type { Key } from "./key.ts";
import {
  findSideAction,
  footerRows,
  questionRows,
  type SideAction,
  type SideActions,
} from "./question-rows.ts";
import { bufferOf } from "./text-buffer.ts";
import type { Canvas, Step, Widget } from "./widget.ts";

export interface KeyMenuState {
  readonly isHelpShown: boolean;
}

export type KeyMenuEnding<Choice extends string> =
  | Chosen<Choice>
  | SideAction
  | { readonly type: "cancelled" };

export const helpHidden: KeyMenuState = { isHelpShown: false };

export function keyMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
  sideActions: SideActions,
): Widget<KeyMenuState, KeyMenuEnding<Choice>> {
  return {
    update: (_state, key) => chooseByKey(menu, sideActions, key),
    view: ({ isHelpShown }, canvas) => {
      const footer = footerRows(sideActions, { readKey: "v" }, canvas);
      const help = isHelpShown ? helpRows(menu, sideActions, canvas) : [];
      const below = [...help, ...footer];
      const room = { ...canvas, rows: canvas.rows - below.length };
      const keys = `[${[...keysOf(menu), "?"].join(",")}]`;
      const suffix = menu.default === undefined ? keys : `${keys} (${menu.default})`;
      const question = questionRows({ message: menu.message, suffix }, bufferOf(""), room);
      const { rows, cursor, isCut } = question;
      return { rows: [...rows, ...below], cursor, isCut };
    },
  };
}

function chooseByKey<Choice extends string>(
  menu: KeyMenu<Choice>,
  sideActions: SideActions,
  key: Key,
): Step<KeyMenuState, KeyMenuEnding<Choice>> {
  const sideAction = findSideAction(sideActions, key);
  if (sideAction !== undefined) return { ending: sideAction };
  switch (key.type) {
    case "text": {
      const choice = keysOf(menu).find((own) => own === key.text);
      if (choice !== undefined) return { ending: { type: "chosen", choice } };
      if (key.text === "v" && sideActions.hasMore) return { ending: { type: "read_more" } };
      return { state: { isHelpShown: true } };
    }
    case "named":
      if (key.name === "ctrl-d") return { ending: { type: "cancelled" } };
      if ((key.name === "enter" || key.name === "new-line") && menu.default !== undefined) {
        return { ending: { type: "chosen", choice: menu.default } };
      }
      return { state: { isHelpShown: true } };
    // Pasted text is not a decision.
    case "paste":
      return { state: { isHelpShown: true } };
    default:
      return assertNever(key);
  }
}

function helpRows<Choice extends string>(
  menu: KeyMenu<Choice>,
  { note }: SideActions,
  { columns }: Canvas,
): readonly string[] {
  const lines = [
    ...keysOf(menu).map((key) => [key, menu.choices[key] ?? ""]),
    ...(note === undefined ? [] : [["Tab", "add a note to the answer"]]),
    ["?", "show this help"],
    ["Esc", menu.escape],
  ];
  return lines.flatMap(([key = "", does = ""]) =>
    wrapWords(does, columns - 7).map(
      (row, index) => `  ${(index === 0 ? key : "").padEnd(3)}  ${row}`,
    ),
  );
}

/** Letters first: an object lists its numeric keys before all others. */
export function keysOf<Choice extends string>({ choices }: KeyMenu<Choice>): readonly Choice[] {
  const keys = Object.keys(choices) as Choice[]; // A record has only its own keys.
  return [...keys.filter((key) => !isNumber(key)), ...keys.filter(isNumber)];
}

function isNumber(key: string): boolean {
  return /^[0-9]$/.test(key);
}
