/** Asks whether a tool may run, with which arguments, and whether the model may see its result. */
import { isDeepStrictEqual } from "node:util";
import type {
  AnsweredPrompt,
  DeliveryRequest,
  PermissionRequest,
  PromptResult,
  RequestBase,
} from "../agent/index.ts";
import { jsonBlock, neutralize, oneLine, verbatim } from "../render/index.ts";
import { assertNever, isJsonObject, type JsonObject } from "../util/index.ts";
import { printSubject, type Shown } from "./ask-question.ts";
import { chooseClosing, type Dialogue, type NoAnswer } from "./dialogue.ts";

type ShownPermission = Shown<PermissionRequest>;
type ShownDelivery = Shown<DeliveryRequest>;

/** The end of a prompt, and how the line that stays on the screen shows it. Undefined: ask again. */
type Verdict = { readonly ending: Ending; readonly summary: string } | undefined;

type Ending = AnsweredPrompt | { readonly type: "cancelled" | "interrupted" | "later" };

const CANCELLED: Verdict = { ending: { type: "cancelled" }, summary: "cancelled" };
const INTERRUPTED: Verdict = { ending: { type: "interrupted" }, summary: "interrupted" };
const LATER: Verdict = { ending: { type: "later" }, summary: "left for later" };

export async function askPermission(
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const message = permissionMessage(request);
  await dialogue.start();
  dialogue.notify(message);
  printSubject(request, dialogue);
  let verdict = request.isEditing ? await editArguments(request, dialogue) : undefined;
  while (verdict === undefined) verdict = await decidePermission(message, request, dialogue);
  return close(request, { ...verdict, message }, dialogue);
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

async function decidePermission(
  message: string,
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<Verdict> {
  const every = `every call to \`${verbatim(request.tool)}\` this turn`;
  const choices = {
    y: "run this call",
    ...(request.canRemember && { Y: `yes to ${every}` }),
    n: "skip this call",
    ...(request.canRemember && { N: `no to ${every}` }),
    p: "print the arguments",
    r: "skip this call and say why",
    ...(request.check !== undefined && { e: "edit the arguments, then run" }),
  };
  const menu = { message, choices, escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return await closingVerdict(chosen, request, dialogue);
  switch (chosen.choice) {
    case "y":
      return answered("yes", { answer: true });
    case "Y":
      return answered(`yes to ${every}`, { answer: true, isRemembered: true });
    case "n":
      return answered("no", { answer: false });
    case "N":
      return answered(`no to ${every}`, { answer: false, isRemembered: true });
    case "p":
      dialogue.print(jsonBlock(request.arguments));
      return undefined;
    case "r":
      return await askReason(dialogue);
    case "e":
      return await editArguments(request, dialogue, true);
    default:
      return assertNever(chosen.choice);
  }
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

async function askReason(dialogue: Dialogue): Promise<Verdict> {
  const message = "Reason for skipping (optional):";
  const entered = await dialogue.enterText({ message, escape: "go back" });
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled") return undefined;
  const note = entered.text.trim();
  return note === ""
    ? answered("no", { answer: false })
    : answered(`no: ${note}`, { answer: false, note });
}

/**
 * Repeats until the arguments are valid. Escape, an empty text and unchanged arguments go back to the question: Enter
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
    // After the first round, the text is what the user typed.
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

const DELIVERY_CHOICES = {
  y: "deliver the result unchanged",
  n: "withhold the result",
  e: "edit the result, then deliver it",
  p: "print the result",
};

export async function askDelivery(
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const { tool, content, isEditing } = request;
  const message = oneLine(`Deliver ${tool} result to assistant?`);
  await dialogue.start();
  dialogue.notify(message);
  printSubject(request, dialogue);
  // The editor has the whole text.
  let verdict = isEditing ? await editResult(request, dialogue) : undefined;
  if (verdict === undefined && content.trim() !== "") dialogue.printContext(content, "prose");
  while (verdict === undefined) verdict = await decideDelivery(message, request, dialogue);
  return close(request, { ...verdict, message }, dialogue);
}

async function decideDelivery(
  message: string,
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<Verdict> {
  const menu = { message, choices: DELIVERY_CHOICES, default: "y", escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return await closingVerdict(chosen, request, dialogue);
  switch (chosen.choice) {
    case "y":
      return answered("yes", { answer: true });
    case "n":
      return answered("no", { answer: false });
    case "e":
      return await editResult(request, dialogue);
    case "p":
      dialogue.print(request.content);
      return undefined;
    default:
      return assertNever(chosen.choice);
  }
}

/** A result that is emptied or unchanged is delivered as it was. Escape goes back to the question. */
async function editResult({ content }: ShownDelivery, dialogue: Dialogue): Promise<Verdict> {
  const asked = { message: "Edit the result:", text: content, escape: "go back" };
  const entered = await dialogue.enterText(asked);
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled") return undefined;
  const isUnchanged = entered.text.trim() === "" || entered.text === content;
  return isUnchanged
    ? answered("yes", { answer: true })
    : answered("yes, edited", { answer: true, content: entered.text });
}

interface ClosedPrompt extends NonNullable<Verdict> {
  readonly message: string;
}

function close(
  { inquiryId }: Pick<RequestBase, "inquiryId">,
  { message, ending, summary }: ClosedPrompt,
  dialogue: Dialogue,
): PromptResult {
  dialogue.printClosed({ message, summary, isCancelled: ending.type !== "answered" });
  return { inquiryId, ...ending };
}
