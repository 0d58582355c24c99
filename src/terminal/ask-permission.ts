/** Asks whether a tool may run, with which arguments, and whether the model may see its result. */
import { isDeepStrictEqual } from "node:util";
import type {
  DeliveryRequest,
  DeliveryResult,
  PermissionRequest,
  PermissionResult,
} from "../agent/index.ts";
import {
  callText,
  type ContextStyle,
  jsonBlock,
  neutralize,
  oneLine,
  originLines,
  verbatim,
} from "../render/index.ts";
import type { ToolOrigin } from "../tool/index.ts";
import { assertNever, isJsonObject, type JsonObject } from "../util/index.ts";
import { chooseClosing, type Dialogue, type NoAnswer } from "./dialogue.ts";

/** The result, and how the line that stays on the screen shows it. Undefined: ask again. */
type Verdict<Result> = { readonly result: Result; readonly summary: string } | undefined;
/** What the terminal shows of a call that needs permission. */
export type ShownPermission = Pick<
  PermissionRequest,
  "tool" | "arguments" | "isEditing" | "check"
> &
  Partial<Pick<PermissionRequest, "allowsLater">> & {
    readonly origin: ToolOrigin | PermissionRequest["origin"];
    /** Where the call runs, relative to the workspace. */
    readonly folder?: string;
  };

/** What the terminal shows of a result that needs approval. */
export type ShownDelivery = Pick<DeliveryRequest, "tool" | "content" | "isEditing"> &
  Partial<Pick<DeliveryRequest, "allowsLater">>;

type PermissionVerdict = Verdict<PermissionResult>;
type DeliveryVerdict = Verdict<DeliveryResult>;

const CANCELLED = { result: { type: "cancelled" }, summary: "cancelled" } as const;
const INTERRUPTED = { result: { type: "interrupted" }, summary: "interrupted" } as const;
const LATER = { result: { type: "later" }, summary: "left for later" } as const;

export async function askPermission(
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PermissionResult> {
  const message = permissionMessage(request.tool, request.origin);
  const decision: Decision<PermissionResult> = {
    message,
    context: permissionText(request),
    style: "drawn",
    ...(request.isEditing && { editFirst: () => editArguments(request, dialogue) }),
    decide: () => decidePermission(message, request, dialogue),
  };
  return await askUntilDecided(decision, dialogue);
}

/** Everything that the permission is for, verbatim. */
function permissionText({ tool, arguments: given, origin, folder }: ShownPermission): string {
  const call = callText({ name: tool, arguments: given });
  const isNamed = origin.type === "builtin" || origin.type === "program" || "command" in origin;
  return [call, ...(isNamed ? originLines(origin, folder) : [])].join("\n");
}

function permissionMessage(name: string, origin: ShownPermission["origin"]): string {
  const tool = verbatim(name);
  switch (origin.type) {
    case "builtin":
      return `Run built-in ${tool} tool?`;
    case "program":
      return `Run ${tool} tool of this program?`;
    case "local":
      return `Run local ${tool} tool?`;
    case "mcp":
      return `Run MCP ${tool} tool from ${verbatim(origin.server)} server?`;
    default:
      return assertNever(origin);
  }
}

async function decidePermission(
  message: string,
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PermissionVerdict> {
  const every = `every call to \`${verbatim(request.tool)}\` this turn`;
  const choices = {
    y: "run this call",
    Y: `yes to ${every}`,
    n: "skip this call",
    N: `no to ${every}`,
    p: "print the arguments",
    r: "skip this call and say why",
    e: "edit the arguments, then run",
  };
  const menu = { message, choices, escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return await closingVerdict(chosen, request, dialogue);
  switch (chosen.choice) {
    case "y":
      return { result: { type: "run", isRemembered: false }, summary: "yes" };
    case "Y":
      return { result: { type: "run", isRemembered: true }, summary: `yes to ${every}` };
    case "n":
      return { result: { type: "skip", isRemembered: false }, summary: "no" };
    case "N":
      return { result: { type: "skip", isRemembered: true }, summary: `no to ${every}` };
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

/** Undefined to go back to the question. */
async function closingVerdict(
  ended: Extract<NoAnswer, { type: "cancelled" }>,
  request: { readonly allowsLater?: boolean },
  dialogue: Dialogue,
): Promise<typeof CANCELLED | typeof INTERRUPTED | typeof LATER | undefined> {
  const closing = await chooseClosing(ended, request, dialogue);
  if (closing === "back") return undefined;
  if (closing === "aborted") return INTERRUPTED;
  return closing === "later" ? LATER : CANCELLED;
}

async function askReason(dialogue: Dialogue): Promise<PermissionVerdict> {
  const message = "Reason for skipping (optional):";
  const entered = await dialogue.enterText({ message, escape: "go back" });
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled") return undefined;
  const reason = entered.text.trim();
  return reason === ""
    ? { result: { type: "skip", isRemembered: false }, summary: "no" }
    : { result: { type: "skip", isRemembered: false, reason }, summary: `no: ${reason}` };
}

/** Repeats until the arguments are valid. Escape and an empty text go back to the question. */
async function editArguments(
  request: ShownPermission,
  dialogue: Dialogue,
  isSeen = false,
): Promise<PermissionVerdict> {
  let text = jsonBlock(request.arguments);
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
    const parsed = await parseArguments(text, request);
    if (parsed.type === "valid") return runWith(parsed.arguments, request);
    problem = neutralize(parsed.problem);
  }
}

type ParsedArguments =
  | { readonly type: "valid"; readonly arguments: JsonObject }
  | { readonly type: "invalid"; readonly problem: string };

async function parseArguments(text: string, { check }: ShownPermission): Promise<ParsedArguments> {
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

/** Arguments that the user left unchanged do not count as edited. */
function runWith(edited: JsonObject, request: ShownPermission): PermissionVerdict {
  if (isDeepStrictEqual(edited, request.arguments)) {
    return { result: { type: "run", isRemembered: false }, summary: "yes" };
  }
  const result = { type: "run", isRemembered: false, arguments: edited } as const;
  return { result, summary: "yes, with edited arguments" };
}

const DELIVERY_CHOICES = {
  y: "deliver the result unchanged",
  n: "withhold the result",
  e: "edit the result, then deliver it",
  p: "print the result",
};

const DELIVER_UNCHANGED: DeliveryVerdict = { result: { type: "deliver" }, summary: "yes" };

export async function askDelivery(
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<DeliveryResult> {
  const message = oneLine(`Deliver ${request.tool} result to assistant?`);
  const decision: Decision<DeliveryResult> = {
    message,
    context: request.content,
    style: "prose",
    ...(request.isEditing && { editFirst: () => editResult(request, dialogue) }),
    decide: () => decideDelivery(message, request, dialogue),
  };
  return await askUntilDecided(decision, dialogue);
}

async function decideDelivery(
  message: string,
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<DeliveryVerdict> {
  const menu = { message, choices: DELIVERY_CHOICES, default: "y", escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return await closingVerdict(chosen, request, dialogue);
  switch (chosen.choice) {
    case "y":
      return DELIVER_UNCHANGED;
    case "n":
      return { result: { type: "withhold" }, summary: "no" };
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
async function editResult(
  { content }: ShownDelivery,
  dialogue: Dialogue,
): Promise<DeliveryVerdict> {
  const asked = { message: "Edit the result:", text: content, escape: "go back" };
  const entered = await dialogue.enterText(asked);
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled") return undefined;
  if (entered.text.trim() === "" || entered.text === content) {
    return DELIVER_UNCHANGED;
  }
  return { result: { type: "deliver", content: entered.text }, summary: "yes, edited" };
}

interface Decision<Result> {
  readonly message: string;
  /** What the decision is about, shown above the question. Any text. */
  readonly context: string;
  readonly style: ContextStyle;
  /** Where the config says to edit before asking. */
  readonly editFirst?: () => Promise<Verdict<Result>>;
  readonly decide: () => Promise<Verdict<Result>>;
}

async function askUntilDecided<Result extends { readonly type: string }>(
  { message, context, style, editFirst, decide }: Decision<Result>,
  dialogue: Dialogue,
): Promise<Result> {
  await dialogue.start();
  dialogue.notify(message);
  const isForEditor = style === "prose" && editFirst !== undefined; // It has the whole text.
  if (!isForEditor && context.trim() !== "") dialogue.printContext(context, style);
  let verdict = await editFirst?.();
  if (isForEditor && verdict === undefined) dialogue.printContext(context, style);
  while (verdict === undefined) verdict = await decide();
  const { result, summary } = verdict;
  const isCancelled = ["cancelled", "interrupted", "later"].includes(result.type);
  dialogue.printClosed({ message, summary, isCancelled });
  return result;
}
