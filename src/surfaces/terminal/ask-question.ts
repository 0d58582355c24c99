/** Asks one question of a tool or the assistant, in the form its answer type needs. */
import { isDeepStrictEqual } from "node:util";
import {
  defaultLabel,
  type GrantChoices,
  type PromptResult,
  type QuestionRequest,
  type RequestBase,
} from "../../core/agent/index.ts";
import {
  argumentLines,
  callText,
  changeText,
  describeCall,
  describeAskedAgain,
  describeVotes,
  describeOptions,
  findFileChange,
  optionLabel,
  originLines,
  truncate,
  verbatim,
  verbatimProse,
} from "../render/index.ts";
import {
  type InquiryQuestion,
  isOther,
  type SelectOption,
  type SelectType,
} from "../../record/tool/index.ts";
import type { Grant } from "../../record/conversation/index.ts";
import { assertNever, isJsonArray, type Json, oneLine } from "../../util/index.ts";
import { askGrant, canGrant, GRANT_CHOICE } from "./ask-grant.ts";
import {
  chooseClosing,
  type Dialogue,
  type KeyChoice,
  LATER_OR_CANCEL,
  type NoAnswer,
  type SaidNo,
  type SelectState,
  type YesNoMenu,
} from "./dialogue.ts";

/** A request as the terminal shows it. */
export type Shown<Request> = Request extends RequestBase
  ? Omit<Request, "conversation" | "toolCallId" | "source" | "label" | "digest"> &
      Partial<Pick<Request, "source" | "label">>
  : never;

/** jp's own questions concern no call, and cannot be left for later. */
export type ShownQuestion = Pick<QuestionRequest, "inquiryId" | "question"> &
  Partial<Omit<Shown<QuestionRequest>, "kind" | "signal">> & {
    /** jp itself asks, outside of a turn, so words cannot become a message. */
    readonly isOwn?: boolean;
  };

export async function askQuestion(shown: ShownQuestion, dialogue: Dialogue): Promise<PromptResult> {
  const { inquiryId, question, allowsLater = false } = shown;
  const open = openQuestion(shown);
  const { message, acts } = open;
  await dialogue.start();
  dialogue.notify(message);
  const { hasContext } = printSubject(shown, dialogue);
  const { context = "" } = question;
  if (context !== "" && !hasContext) dialogue.printContext(context, acts ? "verbatim" : "prose");
  printLabel(shown, dialogue);
  for (;;) {
    const result = await answerQuestion(open, dialogue);
    if (result.type === "answered") {
      const isNo = acts && result.answer === false;
      dialogue.printClosed({ message, summary: result.summary, ...(isNo && { isNo }) });
      return toResult(inquiryId, result);
    }
    const closing =
      result.type === "aborted"
        ? result.type
        : await chooseClosing(result, { allowsLater }, dialogue);
    if (closing === "aborted") return { inquiryId, type: "interrupted" };
    if (closing === "back") continue;
    const summary = closing === "later" ? "left for later" : "cancelled";
    dialogue.printClosed({ message, summary, isCancelled: true });
    return { inquiryId, type: closing };
  }
}

/** The call that a decision concerns, as the terminal shows it. */
type ShownSubject = Partial<
  Pick<
    QuestionRequest,
    | "acts"
    | "tool"
    | "arguments"
    | "origin"
    | "folder"
    | "outside"
    | "question"
    | "questionId"
    | "signing"
  >
> &
  Pick<RequestBase, "terms" | "votes"> & {
    readonly changed?: RequestBase["changed"] | undefined;
  };

/**
 * Prints what belongs above a decision: that it is asked again and, if it acts, the whole call verbatim. A file change
 * is shown as its diff, which is the question's context.
 */
export function printSubject(
  shown: ShownSubject,
  dialogue: Pick<Dialogue, "printNotice" | "printContext">,
): { readonly hasContext: boolean } {
  const { acts = false, changed, tool, arguments: given = {}, origin, question } = shown;
  if (changed !== undefined) {
    dialogue.printNotice(`Asked again. ${describeAskedAgain(changed, "since you answered")}.`);
  }
  const { quorum = 1 } = shown.terms ?? {};
  if (quorum > 1) {
    const { votes = [] } = shown;
    const soFar = votes.length === 0 ? "" : ` So far: ${describeVotes(votes)}.`;
    dialogue.printNotice(`${quorum} people have to say the same.${soFar}`);
  }
  printSigning(shown, dialogue);
  if (!acts || tool === undefined) return { hasContext: false };
  const call = { name: tool, arguments: given };
  const change = findFileChange(call, shown);
  if (change === undefined) {
    // A context needs the space more.
    const isAlone = question !== undefined && (question.context ?? "") === "";
    dialogue.printContext(callText(call), "drawn", isAlone ? undefined : `• ${describeCall(call)}`);
  } else dialogue.printContext(changeText(change), "change");
  const lines = [
    ...argumentLines(change?.others ?? []),
    ...(origin === undefined ? [] : originLines(origin, shown)),
  ];
  if (lines.length > 0) dialogue.printContext(lines.join("\n"), "drawn");
  return { hasContext: change !== undefined };
}

function printSigning({ signing }: ShownSubject, dialogue: Pick<Dialogue, "printNotice">): void {
  if (signing === undefined) return;
  const { key } = signing;
  dialogue.printNotice(
    key === undefined
      ? "A yes has to be signed, and you have no key for that here."
      : `A yes is signed with your key ${oneLine(key)}.`,
  );
}

/** Skipped if the line about the call already names the tool. */
export function printLabel(
  { label, tool, source }: Partial<Pick<RequestBase, "label" | "tool" | "source">>,
  dialogue: Pick<Dialogue, "printLabel">,
): void {
  const isKnown = tool !== undefined && source !== undefined;
  const isDefault = isKnown && label === defaultLabel({ tool, source });
  if (label !== undefined && !isDefault) dialogue.printLabel(label);
}

/** The text is a single line: verbatim if the answer acts, since it may name the target. */
export function openQuestion(shown: ShownQuestion): OpenQuestion {
  const { question, acts = question.acts === true, allowsLater = false } = shown;
  const { canRemember = question.persistence === "turn" } = shown;
  const message = acts ? verbatim(question.text) : verbatimProse(question.text.trim());
  const takesWords = shown.isOwn !== true;
  return { question, message, acts, canRemember, allowsLater, takesWords, grants: shown };
}

export function toResult(
  inquiryId: RequestBase["inquiryId"],
  answered: DialogueAnswer,
): PromptResult {
  const { summary: _summary, ...result } = answered;
  return { inquiryId, ...result };
}

export interface OpenQuestion {
  readonly question: InquiryQuestion;
  /** The text as shown: one line, neutralized. */
  readonly message: string;
  /** Enter alone does not answer it. */
  readonly acts: boolean;
  readonly canRemember: boolean;
  readonly allowsLater: boolean;
  /** Words are a no, and become the next message. */
  readonly takesWords: boolean;
  /** The rules that a yes may add. */
  readonly grants?: GrantChoices;
  /** An earlier answer, which the user may now change. */
  readonly previous?: DialogueAnswer | undefined;
  /** Describes Escape; by default it cancels only this question, or leaves it for later. */
  readonly escape?: string;
}

export interface DialogueAnswer {
  readonly type: "answered";
  readonly answer: Json;
  readonly isRemembered: boolean;
  readonly note?: string;
  /** The note is also sent as the next message. */
  readonly redirects?: boolean;
  readonly grant?: Grant;
  /** The answer as shown on the line that stays on the screen. */
  readonly summary: string;
}

export async function answerQuestion(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<DialogueAnswer | NoAnswer> {
  const { question, previous } = open;
  const { type } = question.answerType;
  // If a yes acts, words are the reason for a no, as at every such prompt.
  const isActingYesNo = open.acts && type === "boolean";
  const takesNote = question.allowsNote === true && type !== "secret" && !isActingYesNo;
  const earlier = previous?.redirects === true ? "" : (previous?.note ?? "");
  dialogue.note = takesNote ? earlier : undefined;
  const result = await answerByType(open, dialogue);
  const { note = "" } = dialogue;
  dialogue.note = undefined;
  if (result.type !== "answered" || note === "" || result.note !== undefined) return result;
  return { ...result, note, summary: `${result.summary} · note: ${note}` };
}

function answerByType(open: OpenQuestion, dialogue: Dialogue): Promise<DialogueAnswer | NoAnswer> {
  const { answerType } = open.question;
  switch (answerType.type) {
    case "boolean":
      return answerBoolean(open, dialogue);
    case "select":
      return answerSelect(open, answerType, dialogue);
    case "text":
      return answerText(open, dialogue);
    case "secret":
      return answerSecret(open, dialogue);
    default:
      return assertNever(answerType);
  }
}

async function answerBoolean(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<DialogueAnswer | NoAnswer> {
  const { question, message, acts, canRemember, previous, allowsLater } = open;
  const { escape = allowsLater ? LATER_OR_CANCEL : "cancel the question" } = open;
  const { answer: suggested = question.default, isRemembered = false } = previous ?? {};
  const key = suggested === true ? "y" : "n";
  const rememberKey = suggested === true ? "a" : "N";
  const scope = describeScope(question);
  const { grants: choices = {} } = open;
  const isGranting = acts && canGrant(choices);
  const menu: YesNoMenu<YesNoKey> = {
    message,
    choices: yesNoChoices(canRemember ? scope : undefined, isGranting ? [GRANT_CHOICE] : []),
    ...(typeof suggested === "boolean" && !acts && { default: isRemembered ? rememberKey : key }),
    noKey: "n",
    escape,
  };
  const chosen = open.takesWords
    ? await dialogue.decide(menu)
    : await dialogue.choose({ ...menu, noKey: undefined });
  if (chosen.type === "said_no") return saidNo(chosen, dialogue);
  if (chosen.type !== "chosen") return chosen;
  const { choice } = chosen;
  if (choice === "s" && isGranting) {
    const granted = await askGrant(choices, dialogue);
    if (granted === "back") return await answerBoolean(open, dialogue);
    if (granted.type === "aborted") return granted;
    const { grant, summary } = granted;
    return { type: "answered", answer: true, isRemembered: false, grant, summary };
  }
  const answer = choice !== "n" && choice !== "N";
  const isForTurn = choice !== "y" && choice !== "n";
  const said = answer ? "yes" : "no";
  const summary = isForTurn ? `${said} to ${scope}` : said;
  return { type: "answered", answer, isRemembered: isForTurn, summary };
}

/** The words replace a note. */
function saidNo(said: SaidNo, dialogue: Dialogue): DialogueAnswer {
  dialogue.note = undefined;
  return { type: "answered", isRemembered: false, ...noInWords(said) };
}

/** The answer and its summary on the line that stays on the screen. */
export function noInWords({ text: note, isMessage }: SaidNo) {
  const redirects = isMessage ? { redirects: true } : {};
  return { answer: false, note, ...redirects, summary: `no: ${note}` };
}

/** `a` and `Y` both answer for the whole turn. `s`: a yes with a rule. */
export type YesNoKey = "y" | "a" | "Y" | "s" | "n" | "N";

/**
 * The keys of every yes-or-no prompt. `scope`: what an answer for the whole turn covers; undefined if it is not
 * offered. `more`: other ways to say yes.
 */
export function yesNoChoices(
  scope: string | undefined,
  more: readonly KeyChoice<YesNoKey>[] = [],
): readonly KeyChoice<YesNoKey>[] {
  if (scope === undefined) return [{ key: "y", label: "yes" }, ...more, { key: "n", label: "no" }];
  return [
    { key: "y", label: "yes" },
    { key: "a", label: `yes to ${scope}`, short: "yes to all", help: `yes to ${scope} (also Y)` },
    { key: "Y" },
    ...more,
    { key: "n", label: "no" },
    { key: "N", help: `no to ${scope}` },
  ];
}

/** Describes what else a remembered answer covers, in the tool's own words if it has any. */
function describeScope({ rememberAs: label }: InquiryQuestion): string {
  if (label === undefined) return "this question for the rest of the turn";
  if (label === "") return "every question of this kind this turn";
  return truncate(verbatim(label), MAX_LABEL_WIDTH);
}

const MAX_LABEL_WIDTH = 200;

async function answerText(
  { question, message, acts, previous, escape }: OpenQuestion,
  dialogue: Dialogue,
): Promise<DialogueAnswer | NoAnswer> {
  const fallback = typeof question.default === "string" && !acts ? question.default : "";
  const shown = fallback === "" ? undefined : verbatimProse(fallback);
  const text = typeof previous?.answer === "string" ? previous.answer : "";
  let problem: string | undefined;
  for (;;) {
    const result = await dialogue.enterText({ message, text, default: shown, escape, problem });
    if (result.type !== "entered") return result;
    const answer = result.text === "" ? fallback : result.text;
    if (answer !== "" || !acts) {
      return { type: "answered", answer, isRemembered: false, summary: answer };
    }
    problem = TYPE_ANSWER;
  }
}

const TYPE_ANSWER = "Type an answer: Enter alone does not decide this.";

async function answerSecret(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<DialogueAnswer | NoAnswer> {
  const { message, acts } = open;
  const entered = await dialogue.enterSecret(message);
  if (entered.type !== "entered") return entered;
  if (acts && entered.text === "") return await answerSecret(open, dialogue);
  return { type: "answered", answer: entered.text, isRemembered: false, summary: "<redacted>" };
}

async function answerSelect(
  { question, message, acts, previous, escape }: OpenQuestion,
  answerType: SelectType,
  dialogue: Dialogue,
): Promise<DialogueAnswer | NoAnswer> {
  const { allowsOther, isMultiple = false } = answerType;
  const show = acts ? verbatim : verbatimProse;
  const sum = acts ? verbatim : oneLine;
  const suggested = toValues(
    answerType,
    previous === undefined ? question.default : previous.answer,
  );
  // The user's own answers become options too, so they can be unselected.
  let options = addOptions(
    answerType.options,
    suggested.filter((value) => isOther(answerType, value)),
  );
  let state = markOptions({ filter: "", active: 0, marked: [] }, options, suggested);
  for (;;) {
    const described = { message, options: describeOptions(options, show), allowsOther, isMultiple };
    const selected = await dialogue.select({ ...described, escape, acts }, state);
    state = selected.state;
    const { ending } = selected;
    switch (ending.type) {
      case "cancelled":
      case "aborted":
        return ending;
      case "chosen": {
        const chosen = ending.indexes.flatMap((index) => options[index] ?? []);
        return isMultiple
          ? answerSeveral(chosen, sum)
          : answerOne(chosen[0] ?? { value: null }, sum);
      }
      case "other": {
        const text = ending.isWhole
          ? ending.text
          : await enterOther(message, ending.text, dialogue);
        if (text === "") break;
        if (!isMultiple) return answerOne({ value: text }, sum);
        options = addOptions(options, [text]);
        state = markOptions({ ...state, filter: "" }, options, [text]);
        break;
      }
      default:
        return assertNever(ending);
    }
  }
}

function toValues({ isMultiple = false }: SelectType, value: Json | undefined): readonly Json[] {
  if (value === undefined) return [];
  if (!isMultiple) return [value];
  return isJsonArray(value) ? value : [];
}

function addOptions(
  options: readonly SelectOption[],
  values: readonly Json[],
): readonly SelectOption[] {
  const unknown = values.filter((value) => findOption(options, value) === undefined);
  return [...options, ...unknown.map((value) => ({ value }))];
}

/** The first value becomes the active option. */
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

/** Returns an empty text if the user went back. */
async function enterOther(message: string, text: string, dialogue: Dialogue): Promise<string> {
  const request = { message: `${message} Other:`, text, escape: "go back" };
  const entered = await dialogue.enterText(request);
  return entered.type === "entered" ? entered.text.trim() : "";
}

type Show = (text: string) => string;

function answerOne(chosen: SelectOption, show: Show): DialogueAnswer {
  return {
    type: "answered",
    answer: chosen.value,
    isRemembered: false,
    summary: optionLabel(chosen, show),
  };
}

function answerSeveral(chosen: readonly SelectOption[], show: Show): DialogueAnswer {
  const labels = chosen.map((option) => optionLabel(option, show));
  const summary = labels.length === 0 ? "none" : labels.join(", ");
  const answer = chosen.map(({ value }) => value);
  return { type: "answered", answer, isRemembered: false, summary };
}
