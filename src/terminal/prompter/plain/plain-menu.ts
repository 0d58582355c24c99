/** A few things to choose from, each with a letter or a number of its own. */
import { oneLine, truncate } from "../../../render/index.ts";
import type { Chosen } from "../dialogue.ts";
import { type KeyMenu, keysOf } from "../key-menu.ts";
import { again, listWords, type PlainQuestion, read, type Reading } from "./plain-question.ts";

export function plainMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
): PlainQuestion<Chosen<Choice>> {
  const keys = keysOf(menu);
  const typed = `Type ${listWords(keys.map(spoken))}, then Enter.`;
  const alone = menu.default === undefined ? "" : ` Enter alone takes ${spoken(menu.default)}.`;
  return {
    lines: [menu.message],
    hint: typed + alone,
    cancelling: `/cancel to ${menu.escape}`,
    help: keys.map((key) => `${spoken(key)}: ${menu.choices[key] ?? ""}`),
    read: (line) => readKey(menu, line.trim()),
  };
}

const WORDS: Readonly<Record<string, string>> = { yes: "y", no: "n" };

function readKey<Choice extends string>(
  menu: KeyMenu<Choice>,
  typed: string,
): Reading<Chosen<Choice>> {
  const keys = keysOf(menu);
  const key = WORDS[typed.toLowerCase()] ?? typed;
  const choice = key === "" ? menu.default : keys.find((own) => own === key);
  if (choice !== undefined) return read({ type: "chosen", choice });
  const wanted = `Type ${listWords(keys.map(spoken))}.`;
  return again(key === "" ? wanted : `"${truncate(oneLine(key), 40)}" is no choice. ${wanted}`);
}

/** Small and capital letters sound the same. */
function spoken(key: string): string {
  return /^[A-Z]$/.test(key) ? `capital ${key}` : key;
}
