/** A question that is answered by one key. */
import { assertNever } from "../../util/index.ts";
import type { Key } from "./key.ts";
import { hintRow, questionRows } from "./question-line.ts";
import { wrapWords } from "./layout.ts";
import { bufferOf } from "./text-buffer.ts";
import {
  type Canvas,
  end,
  type Frame,
  type ReadMore,
  type Step,
  wait,
  type Widget,
} from "./widget.ts";

export interface KeyMenu<Choice extends string> {
  readonly message: string;
  /** Each key, and what it does. */
  readonly choices: Readonly<Partial<Record<Choice, string>>>;
  /** What Enter takes; without it Enter shows the help. */
  readonly default?: NoInfer<Choice> | undefined;
  /** What Escape does. */
  readonly escape: string;
  /** There is more above the question than is shown. */
  readonly hasMore?: boolean;
}

export interface KeyMenuState {
  readonly isHelpShown: boolean;
}

export type KeyMenuEnding<Choice extends string> =
  | { readonly type: "chosen"; readonly choice: Choice }
  | ReadMore
  | { readonly type: "cancelled" };

export const closedHelp: KeyMenuState = { isHelpShown: false };

export function keyMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
): Widget<KeyMenuState, KeyMenuEnding<Choice>> {
  return {
    update: (_state, key) => chooseByKey(menu, key),
    view: (state, canvas) => viewMenu(menu, state, canvas),
  };
}

function chooseByKey<Choice extends string>(
  menu: KeyMenu<Choice>,
  key: Key,
): Step<KeyMenuState, KeyMenuEnding<Choice>> {
  switch (key.type) {
    case "text": {
      const choice = keysOf(menu).find((own) => own === key.text);
      if (choice !== undefined) return end({ type: "chosen", choice });
      if (key.text === "v" && menu.hasMore === true) return end({ type: "read_more" });
      return wait({ isHelpShown: true });
    }
    case "named":
      if (key.name === "ctrl-d") return end({ type: "cancelled" });
      if (key.name === "ctrl-o" && menu.hasMore === true) return end({ type: "read_more" });
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

function viewMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
  { isHelpShown }: KeyMenuState,
  canvas: Canvas,
): Frame {
  const keys = `[${[...keysOf(menu), "?"].join(",")}]`;
  const note = menu.default === undefined ? keys : `${keys} (${menu.default})`;
  const { rows, cursor } = questionRows({ message: menu.message, note }, bufferOf(""), canvas);
  const help = isHelpShown ? helpRows(menu, canvas) : [];
  const hint = menu.hasMore === true ? [hintRow(["v shows all"], canvas)] : [];
  return { rows: [...rows, ...help, ...hint], cursor };
}

function helpRows<Choice extends string>(
  menu: KeyMenu<Choice>,
  { columns }: Canvas,
): readonly string[] {
  const lines = [
    ...keysOf(menu).map((key) => [key, menu.choices[key] ?? ""]),
    ["?", "this help"],
    ["Esc", menu.escape],
  ];
  return lines.flatMap(([key = "", does = ""]) =>
    wrapWords(does, columns - 7).map(
      (row, index) => `  ${(index === 0 ? key : "").padEnd(3)}  ${row}`,
    ),
  );
}

function keysOf<Choice extends string>({ choices }: KeyMenu<Choice>): readonly Choice[] {
  return Object.keys(choices) as Choice[]; // A record has no other keys than its own.
}
