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
import { assertNever, isJsonArray, type Json, oneLine } from "../../util/index.ts";
import { askGrant, canGrant, usualGrant } from "./ask-grant.ts";
import { choose, selectPrompt } from "./choose.ts";
import { beginWords } from "./decision-line.ts";
import { type Closable, closeUnanswered, LATER_OR_CANCEL } from "./close-unanswered.ts";
import {
  type Answered,
  asContext,
  type Dialogue,
  type NoAnswer,
  type Passage,
} from "./dialogue.ts";
import type { KeyChoice, KeyMenu, SaidNo } from "./key-menu.ts";
import { type SelectState, untouchedList } from "./listed-options.ts";
import { enterSecret, enterText } from "./text-entry.ts";

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
    /** See `OwnQuestion`. */
    readonly above?: string;
    /** Called if Ctrl-C cancels it. */
    readonly onInterrupt?: () => void;
  };

export async function askQuestion(shown: ShownQuestion, dialogue: Dialogue): Promise<PromptResult> {
  const { inquiryId, question, allowsLater = false } = shown;
  const open = openQuestion(shown);
  const { message, acts } = open;
  dialogue.notify(message);
  await dialogue.start();
  const { hasContext } = printSubject(shown, dialogue);
  const { context = "" } = question;
  if (shown.above !== undefined) dialogue.printAbove(asContext(shown.above, "drawn"));
  if (context !== "" && !hasContext)
    dialogue.printAbove(asContext(context, acts ? "verbatim" : "prose"));
  printLabel(shown, dialogue);
  const ask = async () => {
    const result = await answerQuestion(open, dialogue);
    if (result.type === "cancelled" && result.isInterrupt === true) shown.onInterrupt?.();
    return result;
  };
  return await askUntilClosed({ ask, inquiryId, message, allowsLater, marksNo: acts }, dialogue);
}

/** A prompt that is asked until it has an answer or is closed without one. */
interface OpenPrompt<Left> extends Omit<Closable, "messages"> {
  readonly message: string;
  readonly ask: () => Promise<Answered | NoAnswer>;
  /** What the user has done before the first question. */
  readonly first?: Answered | NoAnswer | undefined;
  /** A no prevents something, and the line that stays shows that. */
  readonly marksNo: boolean;
  /** By default, Escape closes the prompt or offers to. */
  readonly onEscape?: (() => Left) | undefined;
}

/** Leaves a line on the screen with the answer, or with how it ended without one. */
export async function askUntilClosed<Left = never>(
  { ask, first, message, marksNo, onEscape, ...prompt }: OpenPrompt<Left>,
  dialogue: Dialogue,
): Promise<PromptResult | Left> {
  const { inquiryId } = prompt;
  for (let result = first ?? (await ask()); ; result = await ask()) {
    if (result.type === "answered") {
      const { summary, ...reply } = result;
      const isNo = marksNo && reply.answer === false;
      dialogue.printClosed({ message, summary, ...(isNo && { isNo }) });
      return { inquiryId, ...reply };
    }
    const isEscape = result.type === "cancelled" && result.isInterrupt !== true;
    if (isEscape && onEscape !== undefined) return onEscape();
    const closed = await closeUnanswered(result, { ...prompt, messages: [message] }, dialogue);
    if (closed !== undefined) return closed;
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
  dialogue: Pick<Dialogue, "printAbove">,
): { readonly hasContext: boolean } {
  const { acts = false, tool, arguments: given = {}, origin, question } = shown;
  dialogue.printAbove(...noticesAbove(shown));
  if (!acts || tool === undefined) return { hasContext: false };
  const call = { name: tool, arguments: given };
  const change = findFileChange(call, shown);
  // A context needs the space more.
  const isAlone = question !== undefined && (question.context ?? "") === "";
  const short = isAlone ? undefined : `• ${describeCall(call)}`;
  const lines = [
    ...argumentLines(change?.others ?? []),
    ...(origin === undefined ? [] : originLines(origin, shown)),
  ];
  dialogue.printAbove(
    change === undefined
      ? { ...asContext(callText(call), "drawn"), short }
      : asContext(changeText(change), "change"),
    ...(lines.length === 0 ? [] : [asContext(lines.join("\n"), "drawn")]),
  );
  return { hasContext: change !== undefined };
}

function noticesAbove({ changed, terms, votes = [], signing }: ShownSubject): readonly Passage[] {
  const { quorum = 1 } = terms ?? {};
  const soFar = votes.length === 0 ? "" : ` So far: ${describeVotes(votes)}.`;
  const again = changed && describeAskedAgain(changed, "since you answered");
  const signed =
    signing?.key === undefined
      ? "A yes has to be signed, and you have no key for that here."
      : `A yes is signed with your key ${oneLine(signing.key)}.`;
  return [
    ...(again === undefined ? [] : [`Asked again. ${again}.`]),
    ...(quorum > 1 ? [`${quorum} people have to say the same.${soFar}`] : []),
    ...(signing === undefined ? [] : [signed]),
  ].map((text) => ({ type: "notice", text }));
}

/** Skipped if the line about the call already names the tool. */
export function printLabel(
  { label, tool, source }: Partial<Pick<RequestBase, "label" | "tool" | "source">>,
  dialogue: Pick<Dialogue, "printAbove">,
): void {
  const isKnown = tool !== undefined && source !== undefined;
  const isDefault = isKnown && label === defaultLabel({ tool, source });
  if (label !== undefined && !isDefault) dialogue.printAbove({ type: "label", text: label });
}

/** The text is a single line: verbatim if the answer acts, since it may name the target. */
export function openQuestion(shown: ShownQuestion): OpenQuestion {
  const { question, acts = question.acts === true, allowsLater = false } = shown;
  const { canRemember = question.persistence === "turn" } = shown;
  const message = acts ? verbatim(question.text) : verbatimProse(question.text.trim());
  const takesWords = shown.isOwn !== true;
  return { question, message, acts, canRemember, allowsLater, takesWords, grants: shown };
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
  readonly previous?: Answered | undefined;
  /** Describes Escape; by default it cancels only this question, or leaves it for later. */
  readonly escape?: string;
}

export async function answerQuestion(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
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
  if (result.type !== "answered") return result;
  const answered = { isRemembered: false, ...result };
  if (note === "" || result.note !== undefined) return answered;
  return { ...answered, note, summary: `${result.summary} · note: ${note}` };
}

function answerByType(open: OpenQuestion, dialogue: Dialogue): Promise<Answered | NoAnswer> {
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

function answerBoolean(
  { question, message, acts, grants, previous, ...open }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const { escape = open.allowsLater ? LATER_OR_CANCEL : "cancel the question" } = open;
  const { answer: suggested = question.default, isRemembered = false } = previous ?? {};
  const [once, forTurn] = suggested === true ? (["y", "a"] as const) : (["n", "N"] as const);
  const asked = {
    message,
    escape,
    takesWords: open.takesWords,
    scope: open.canRemember ? describeScope(question) : undefined,
    grants: acts ? grants : undefined,
    ...(typeof suggested === "boolean" && !acts && { default: isRemembered ? forTurn : once }),
  };
  return askYesNo(asked, dialogue);
}

/** A prompt for yes or no. */
export interface YesNo extends Pick<KeyMenu<string>, "message" | "escape" | "default"> {
  /** What an answer for the whole turn covers; undefined if it is not offered. */
  readonly scope?: string | undefined;
  /** The rules that a yes may add. */
  readonly grants?: GrantChoices | undefined;
  /** Describes both keys in the help. */
  readonly help?: Readonly<Record<"y" | "n", string>>;
  /** More keys. */
  readonly others?: readonly YesNoChoice[];
  /** False if words are not accepted. */
  readonly takesWords?: boolean;
}

interface YesNoChoice extends KeyChoice<string> {
  /** Its effect. Undefined to ask again. */
  readonly act: () => Promise<Answered | NoAnswer | undefined> | Answered | undefined | void;
}

export const YES = { type: "answered", answer: true, summary: "yes" } as const;
const NO = { type: "answered", answer: false, summary: "no" } as const;

/** Takes the same keys at every such prompt. `a` and `Y` both answer for the whole turn. `s`: a yes with a rule. */
export async function askYesNo(
  { scope, grants = {}, help, others = [], takesWords = true, ...menu }: YesNo,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const yesToAll = { ...YES, isRemembered: true, summary: `yes to ${scope}` };
  const noToAll = { ...NO, isRemembered: true, summary: `no to ${scope}` };
  const [{ summary: all }, { summary: none }] = [yesToAll, noToAll];
  const choices: readonly YesNoChoice[] = [
    { key: "y", label: "yes", help: help?.y ?? "yes", act: () => YES },
    ...(scope === undefined
      ? []
      : [
          {
            key: "a",
            label: all,
            short: "yes to all",
            help: `${all} (also Y)`,
            covers: all,
            act: () => yesToAll,
          },
          { key: "Y", covers: all, act: () => yesToAll },
        ]),
    ...(canGrant(grants) ? grantChoices(grants, { ...menu, takesWords }, dialogue) : []),
    { key: "n", label: "no", help: help?.n ?? "no", isNo: true, act: () => NO },
    ...(scope === undefined ? [] : [{ key: "N", help: none, covers: none, act: () => noToAll }]),
    ...others,
  ];
  for (;;) {
    const noKey = takesWords ? "n" : undefined;
    const chosen = await choose({ ...menu, choices, noKey }, dialogue);
    if (chosen.type === "said_no") return { type: "answered", ...noInWords(chosen) };
    if (chosen.type !== "chosen") return chosen;
    const result = await choices.find(({ key }) => key === chosen.choice)?.act();
    if (result !== undefined) return result;
  }
}

const GRANT: KeyChoice<string> = {
  key: "s",
  label: "always…",
  help: "yes, and save a rule, so that jp does not ask about calls like this one",
};

/** The key opens a list. In plain mode, a line with a number takes a rule without it. */
function grantChoices(
  grants: Required<GrantChoices>,
  { message, takesWords }: Pick<YesNo, "message" | "takesWords">,
  dialogue: Dialogue,
): readonly YesNoChoice[] {
  const act = async () => {
    const result = await askGrant(grants, dialogue);
    if (result?.type !== "words") return result;
    const words = beginWords([{ type: "text", text: GRANT.key }, ...result.keys]);
    if (takesWords === true) dialogue.drafts.set(message, words);
    return undefined;
  };
  const lines = grants.grants.map((proposal, index): YesNoChoice => {
    const yes = usualGrant(proposal, dialogue);
    return { key: `${GRANT.key} ${index + 1}`, isLine: true, help: yes.summary, act: () => yes };
  });
  return [{ ...GRANT, act }, ...lines];
}

/** The answer and its summary on the line that stays on the screen. */
export function noInWords({ text: note, isMessage }: SaidNo) {
  const redirects = isMessage ? { redirects: true } : {};
  return { answer: false, note, ...redirects, summary: `no: ${note}` };
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
): Promise<Answered | NoAnswer> {
  const fallback = typeof question.default === "string" && !acts ? question.default : "";
  const shown = fallback === "" ? undefined : verbatimProse(fallback);
  const text = typeof previous?.answer === "string" ? previous.answer : "";
  let problem: string | undefined;
  for (;;) {
    const request = { message, text, default: shown, escape, problem };
    const result = await enterText(request, dialogue);
    if (result.type !== "entered") return result;
    const answer = result.text === "" ? fallback : result.text;
    if (answer !== "" || !acts) {
      return { type: "answered", answer, summary: answer };
    }
    problem = TYPE_ANSWER;
  }
}

const TYPE_ANSWER = "Type an answer: Enter alone does not decide this.";

async function answerSecret(open: OpenQuestion, dialogue: Dialogue): Promise<Answered | NoAnswer> {
  const { message, acts } = open;
  const entered = await enterSecret(message, dialogue);
  if (entered.type !== "entered") return entered;
  if (acts && entered.text === "") return await answerSecret(open, dialogue);
  return { type: "answered", answer: entered.text, summary: "<redacted>" };
}

async function answerSelect(
  { question, message, acts, previous, escape }: OpenQuestion,
  answerType: SelectType,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
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
  let state = markOptions(untouchedList, options, suggested);
  for (;;) {
    const described = { message, options: describeOptions(options, show), allowsOther, isMultiple };
    const prompt = selectPrompt({ ...described, escape, acts }, state);
    const ending = await dialogue.ask(prompt);
    ({ state } = prompt);
    if (ending.type === "aborted" && allowsOther) dialogue.unsent = state.filter;
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
  const entered = await enterText(request, dialogue);
  return entered.type === "entered" ? entered.text.trim() : "";
}

type Show = (text: string) => string;

function answerOne(chosen: SelectOption, show: Show): Answered {
  return { type: "answered", answer: chosen.value, summary: optionLabel(chosen, show) };
}

function answerSeveral(chosen: readonly SelectOption[], show: Show): Answered {
  const labels = chosen.map((option) => optionLabel(option, show));
  const summary = labels.length === 0 ? "none" : labels.join(", ");
  const answer = chosen.map(({ value }) => value);
  return { type: "answered", answer, summary };
}
