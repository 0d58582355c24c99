/** Has a person choose from what a question offers, or say something of their own. */
import { isDeepStrictEqual } from "node:util";
import { jsonLine, oneLine } from "../../render/index.ts";
import { isOther, type SelectOption, type SelectType } from "../../tool/index.ts";
import { assertNever, isJsonArray, type Json } from "../../util/index.ts";
import type { Answered, OpenQuestion } from "./answer-question.ts";
import type { Dialogue } from "./dialogue.ts";
import type { ListedOption, SelectState } from "./select-rows.ts";
import type { Closed } from "./widget.ts";

export async function answerSelect(
  { question, message, earlier }: OpenQuestion,
  answerType: SelectType,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const { allowsOther, isMultiple = false } = answerType;
  const suggested = suggestions(
    answerType,
    earlier === undefined ? question.default : earlier.answer,
  );
  // Texts of the person's own are options like the others, once they are there.
  let options = addOptions(
    answerType.options,
    suggested.filter((one) => isOther(answerType, one)),
  );
  let state = markOptions({ filter: "", active: 0, marked: [] }, options, suggested);
  for (;;) {
    const list = { message, options: options.map(toListed), allowsOther, isMultiple };
    const selected = await dialogue.select(list, state);
    state = selected.state;
    const { ending } = selected;
    switch (ending.type) {
      case "cancelled":
      case "aborted":
        return ending;
      case "chosen": {
        const values = ending.indexes.map((index) => options[index]?.value ?? null);
        return isMultiple ? answerSeveral(values) : answerOne(values[0] ?? null);
      }
      case "other": {
        const text = ending.isWhole
          ? ending.text
          : await enterOther(message, ending.text, dialogue);
        if (text === "") break;
        if (!isMultiple) return answerOne(text);
        options = addOptions(options, [text]);
        state = markOptions({ ...state, filter: "" }, options, [text]);
        break;
      }
      default:
        return assertNever(ending);
    }
  }
}

/** Where several can be chosen, several can be suggested. */
function suggestions({ isMultiple = false }: SelectType, value: Json | undefined): readonly Json[] {
  if (value === undefined) return [];
  if (!isMultiple) return [value];
  return isJsonArray(value) ? value : [];
}

function addOptions(
  options: readonly SelectOption[],
  texts: readonly Json[],
): readonly SelectOption[] {
  const unknown = texts.filter((text) => findOption(options, text) === undefined);
  return [...options, ...unknown.map((value) => ({ value }))];
}

/** The first of them is where the person begins. */
function markOptions(
  state: SelectState,
  options: readonly SelectOption[],
  values: readonly Json[],
): SelectState {
  const found = values.flatMap((value) => findOption(options, value) ?? []);
  const marked = [...new Set([...state.marked, ...found])];
  return { ...state, active: found[0] ?? state.active, marked };
}

function findOption(options: readonly SelectOption[], value: Json): number | undefined {
  const index = options.findIndex((option) => isDeepStrictEqual(option.value, value));
  return index === -1 ? undefined : index;
}

function toListed({ value, description, preview }: SelectOption): ListedOption {
  return {
    label: toLabel(value),
    ...(description !== undefined && { description: oneLine(description) }),
    ...(preview !== undefined && { preview }),
  };
}

/** Empty if nothing came of it. */
async function enterOther(message: string, text: string, dialogue: Dialogue): Promise<string> {
  const request = { message: `${message} Other:`, text, escape: "goes back" };
  const entered = await dialogue.enterText(request);
  return entered.type === "entered" ? entered.text.trim() : "";
}

function answerOne(answer: Json): Answered {
  return { type: "answered", answer, isRemembered: false, said: toLabel(answer) };
}

function answerSeveral(answer: readonly Json[]): Answered {
  const said = answer.length === 0 ? "none" : answer.map(toLabel).join(", ");
  return { type: "answered", answer, isRemembered: false, said };
}

function toLabel(value: Json): string {
  return typeof value === "string" ? oneLine(value) : jsonLine(value);
}
