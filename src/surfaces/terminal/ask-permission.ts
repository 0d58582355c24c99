/** Asks whether a tool may run, with which arguments, and whether the model may see its result. */
import { isDeepStrictEqual } from "node:util";
import type {
  AnsweredPrompt,
  DeliveryRequest,
  GrantChoices,
  PermissionRequest,
  PromptResult,
  RequestBase,
} from "../../core/agent/index.ts";
import { describeCapabilities, verbatim } from "../render/index.ts";
import { capabilitiesOf } from "../../record/tool/index.ts";
import {
  assertNever,
  isJsonObject,
  jsonBlock,
  type JsonObject,
  neutralize,
  oneLine,
} from "../../util/index.ts";
import { askGrant, canGrant, GRANT_CHOICE } from "./ask-grant.ts";
import {
  noInWords,
  printSubject,
  type Shown,
  type YesNoKey,
  yesNoChoices,
} from "./ask-question.ts";
import {
  chooseClosing,
  type Dialogue,
  type KeyChoice,
  LATER_OR_CANCEL,
  type NoAnswer,
  type SaidNo,
  type YesNoMenu,
} from "./dialogue.ts";

type ShownPermission = Shown<PermissionRequest>;
type ShownDelivery = Shown<DeliveryRequest>;

/** The result of a prompt and its summary on the line that stays on the screen. Undefined: ask again. */
type Verdict = { readonly ending: Ending; readonly summary: string } | undefined;

type Ending = AnsweredPrompt | { readonly type: "cancelled" | "interrupted" | "later" };

const CANCELLED: Verdict = { ending: { type: "cancelled" }, summary: "cancelled" };
const INTERRUPTED: Verdict = { ending: { type: "interrupted" }, summary: "interrupted" };
const YES = answered("yes", { answer: true });
const NO = answered("no", { answer: false });
/** Back to the list of calls that opened it. */
const BACK: Verdict = { ending: { type: "cancelled" }, summary: "not decided yet" };
const LATER: Verdict = { ending: { type: "later" }, summary: "left for later" };

export async function askPermission(
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const message = permissionMessage(request);
  dialogue.notify(message);
  const verdict = await findVerdict({ message, escape: escapeOf(request) }, request, dialogue);
  return close(request, { ...verdict, message }, dialogue);
}

/** Asks about one call from a list. Escape goes back to the list. */
export async function askListedPermission(
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PromptResult | "back"> {
  const message = permissionMessage(request);
  const asked = { message, escape: "go back to the list", onEscape: BACK };
  const verdict = await findVerdict(asked, request, dialogue);
  const result = close(request, { ...verdict, message }, dialogue);
  return verdict === BACK ? "back" : result;
}

async function findVerdict(
  asked: Asking,
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<NonNullable<Verdict>> {
  await dialogue.start();
  printSubject(request, dialogue);
  let verdict = request.isEditing ? await editArguments(request, dialogue) : undefined;
  while (verdict === undefined) verdict = await decidePermission(asked, request, dialogue);
  return verdict;
}

/** The prompt's question, and where Escape leads. */
interface Asking extends Pick<YesNoMenu<never>, "message" | "escape"> {
  /** By default, Escape closes the prompt or offers to. */
  readonly onEscape?: Verdict;
}

function escapeOf({ allowsLater }: Pick<RequestBase, "allowsLater">): string {
  return allowsLater ? LATER_OR_CANCEL : "cancel";
}

function permissionMessage({ tool: name, origin, question }: ShownPermission): string {
  const tool = verbatim(name);
  switch (origin?.type) {
    case "builtin":
      return `Run built-in ${tool} tool?`;
    case "program":
      return `Run ${tool} tool of this program?`;
    case "local":
      return `Run local ${tool} tool?`;
    case "mcp":
      return `Run MCP ${tool} tool from ${verbatim(origin.server)} server?`;
    case undefined:
      return verbatim(question.text);
    default:
      return assertNever(origin);
  }
}

function decidePermission(
  asked: Asking,
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<Verdict> {
  const shown = describeCapabilities(capabilitiesOf(request));
  const scope = `all ${verbatim(request.tool)} calls this turn${shown}`;
  const yesToAll = answered(`yes to ${scope}`, { answer: true, isRemembered: true });
  const isGranting = canGrant(request);
  const choices: readonly KeyChoice<YesNoKey | "p" | "e">[] = [
    ...yesNoChoices(request.canRemember ? scope : undefined, isGranting ? [GRANT_CHOICE] : []),
    { key: "p", help: "print the arguments" },
    ...(request.check === undefined
      ? []
      : [{ key: "e", help: "edit the arguments, then run" } as const]),
  ];
  const verdicts = {
    y: () => YES,
    a: () => yesToAll,
    Y: () => yesToAll,
    s: () => (isGranting ? grant(request, dialogue) : undefined),
    n: () => NO,
    N: () => answered(`no to ${scope}`, { answer: false, isRemembered: true }),
    p: () => dialogue.print(jsonBlock(request.arguments)),
    e: () => editArguments(request, dialogue, true),
  };
  return decide({ ...asked, choices, verdicts }, request, dialogue);
}

/** Undefined to go back to the question. */
async function grant(request: Required<GrantChoices>, dialogue: Dialogue): Promise<Verdict> {
  const granted = await askGrant(request, dialogue);
  if (granted === "back") return undefined;
  if (granted.type === "aborted") return INTERRUPTED;
  return answered(granted.summary, { answer: true, grant: granted.grant });
}

interface Deciding<Choice extends string> extends Asking, Pick<YesNoMenu<Choice>, "choices"> {
  readonly default?: Choice;
  /** The verdict for each key. */
  readonly verdicts: Readonly<Record<Choice, () => Verdict | Promise<Verdict> | void>>;
}

async function decide<Choice extends string>(
  { verdicts, onEscape, ...menu }: Deciding<Choice | "n">,
  request: Pick<RequestBase, "allowsLater">,
  dialogue: Dialogue,
): Promise<Verdict> {
  const chosen = await dialogue.decide({ ...menu, noKey: "n" });
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled" && chosen.isInterrupt !== true && onEscape !== undefined) {
    return onEscape;
  }
  if (chosen.type === "cancelled") return await closingVerdict(chosen, request, dialogue);
  if (chosen.type === "said_no") return saidNo(chosen);
  return (await verdicts[chosen.choice]()) ?? undefined;
}

function answered(summary: string, reply: Omit<AnsweredPrompt, "type">): Verdict {
  return { ending: { type: "answered", ...reply }, summary };
}

/** Undefined to go back to the question. */
async function closingVerdict(
  ended: Extract<NoAnswer, { type: "cancelled" }>,
  request: Pick<RequestBase, "allowsLater">,
  dialogue: Dialogue,
): Promise<Verdict> {
  const closing = await chooseClosing(ended, request, dialogue);
  if (closing === "back") return undefined;
  if (closing === "aborted") return INTERRUPTED;
  return closing === "later" ? LATER : CANCELLED;
}

function saidNo(said: SaidNo): Verdict {
  const { summary, ...reply } = noInWords(said);
  return answered(summary, reply);
}

/**
 * Repeats until the arguments are valid. Escape, an empty text or unchanged arguments go back to the question: Enter
 * alone decides nothing.
 */
async function editArguments(
  { arguments: given, check }: ShownPermission,
  dialogue: Dialogue,
  isSeen = false,
): Promise<Verdict> {
  if (check === undefined) return undefined;
  let text = jsonBlock(given);
  let problem: string | undefined;
  for (;;) {
    // After the first round, the text is the user's own.
    const isTextSeen = isSeen || problem !== undefined;
    const asked = { message: "Edit arguments:", text, isTextSeen, problem, extension: ".json" };
    const entered = await dialogue.enterText({ ...asked, escape: "go back" });
    if (entered.type === "aborted") return INTERRUPTED;
    if (entered.type === "cancelled") return undefined;
    text = entered.text;
    if (text.trim() === "") return undefined;
    const parsed = await parseArguments(text, check);
    if (parsed.type === "valid") {
      return isDeepStrictEqual(parsed.arguments, given)
        ? undefined
        : answered("yes, with edited arguments", { answer: true, arguments: parsed.arguments });
    }
    problem = neutralize(parsed.problem);
  }
}

type ParsedArguments =
  | { readonly type: "valid"; readonly arguments: JsonObject }
  | { readonly type: "invalid"; readonly problem: string };

async function parseArguments(
  text: string,
  check: NonNullable<PermissionRequest["check"]>,
): Promise<ParsedArguments> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { type: "invalid", problem: `Invalid JSON: ${(error as Error).message}` }; // A SyntaxError.
  }
  if (!isJsonObject(parsed)) return { type: "invalid", problem: "Not a JSON object." };
  const problem = await check(parsed);
  return problem === undefined
    ? { type: "valid", arguments: parsed }
    : { type: "invalid", problem };
}

const DELIVERY_CHOICES: readonly KeyChoice<"y" | "n" | "e" | "p">[] = [
  { key: "y", label: "yes", help: "deliver the result unchanged" },
  { key: "n", label: "no", help: "withhold the result" },
  { key: "e", help: "edit the result, then deliver it" },
  { key: "p", help: "print the result" },
];

export async function askDelivery(
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const { tool, content, isEditing } = request;
  const message = oneLine(`Deliver ${tool} result to assistant?`);
  await dialogue.start();
  dialogue.notify(message);
  printSubject(request, dialogue);
  // The editor shows the whole text.
  let verdict = isEditing ? await editResult(request, dialogue) : undefined;
  if (verdict === undefined && content.trim() !== "") dialogue.printContext(content, "prose");
  while (verdict === undefined) verdict = await decideDelivery(message, request, dialogue);
  return close(request, { ...verdict, message }, dialogue);
}

function decideDelivery(
  message: string,
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<Verdict> {
  const verdicts = {
    y: () => YES,
    n: () => NO,
    e: () => editResult(request, dialogue),
    p: () => dialogue.print(request.content),
  };
  const asked = { message, escape: escapeOf(request), default: "y" } as const;
  const menu = { ...asked, choices: DELIVERY_CHOICES, verdicts };
  return decide(menu, request, dialogue);
}

/** An emptied or unchanged result is delivered as it was. Escape goes back to the question. */
async function editResult({ content }: ShownDelivery, dialogue: Dialogue): Promise<Verdict> {
  const asked = { message: "Edit the result:", text: content, escape: "go back" };
  const entered = await dialogue.enterText(asked);
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled") return undefined;
  const isUnchanged = entered.text.trim() === "" || entered.text === content;
  return isUnchanged ? YES : answered("yes, edited", { answer: true, content: entered.text });
}

interface ClosedPrompt extends NonNullable<Verdict> {
  readonly message: string;
}

function close(
  { inquiryId }: Pick<RequestBase, "inquiryId">,
  { message, ending, summary }: ClosedPrompt,
  dialogue: Dialogue,
): PromptResult {
  const isNo = ending.type === "answered" && ending.answer === false;
  const isCancelled = ending.type !== "answered";
  dialogue.printClosed({ message, summary, isCancelled, ...(isNo && { isNo }) });
  return { inquiryId, ...ending };
}
