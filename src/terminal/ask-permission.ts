/** Asks whether a tool may run, and with which arguments. */
import { isDeepStrictEqual } from "node:util";
import type {
  DeliveryRequest,
  DeliveryResult,
  PermissionRequest,
  PermissionResult,
  ToolOrigin,
} from "../agent/index.ts";
import { callText, neutralize, oneLine } from "../render/index.ts";
import { assertNever, isJsonObject, type JsonObject } from "../util/index.ts";
import type { Dialogue } from "./dialogue.ts";

type PermissionVerdict = Verdict<PermissionResult>;

const CANCELLED = { result: { type: "cancelled" }, said: "cancelled" } as const;
const INTERRUPTED = { result: { type: "interrupted" }, said: "interrupted" } as const;

export async function askPermission(
  request: PermissionRequest,
  dialogue: Dialogue,
): Promise<PermissionResult> {
  const message = askRun(request.tool, request.origin);
  const matter = {
    message,
    context: callText({ name: request.tool, arguments: request.arguments }),
    ...(request.isEditing && { first: () => editArguments(request, dialogue) }),
    decide: () => decidePermission(message, request, dialogue),
  };
  return await askUntilDecided(matter, dialogue);
}

function askRun(tool: string, origin: ToolOrigin): string {
  switch (origin.type) {
    case "builtin":
      return oneLine(`Run built-in ${tool} tool?`);
    case "local":
      return oneLine(`Run local ${tool} tool?`);
    case "mcp":
      return oneLine(`Run mcp ${tool} tool from ${origin.server} server?`);
    default:
      return assertNever(origin);
  }
}

async function decidePermission(
  message: string,
  request: PermissionRequest,
  dialogue: Dialogue,
): Promise<PermissionVerdict> {
  const every = `every call of \`${oneLine(request.tool)}\` this turn`;
  const choices = {
    y: "run this call",
    Y: `yes to ${every}`,
    n: "skip this call",
    N: `no to ${every}`,
    p: "print the arguments, and ask again",
    r: "skip this call, and say why",
    e: "edit the arguments, then run it",
  };
  const menu = { message, choices, escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return CANCELLED;
  switch (chosen.choice) {
    case "y":
      return { result: { type: "run", isRemembered: false }, said: "yes" };
    case "Y":
      return { result: { type: "run", isRemembered: true }, said: `yes to ${every}` };
    case "n":
      return { result: { type: "skip", isRemembered: false }, said: "no" };
    case "N":
      return { result: { type: "skip", isRemembered: true }, said: `no to ${every}` };
    case "p":
      dialogue.print(pretty(request.arguments));
      return undefined;
    case "r":
      return await askReason(dialogue);
    case "e":
      return await editArguments(request, dialogue, true);
    default:
      return assertNever(chosen.choice);
  }
}

async function askReason(dialogue: Dialogue): Promise<PermissionVerdict> {
  const entered = await dialogue.enterText({ message: "Reason for skipping (optional):" });
  if (entered.type === "aborted") return INTERRUPTED;
  const reason = entered.type === "entered" ? entered.text.trim() : "";
  return reason === ""
    ? { result: { type: "skip", isRemembered: false }, said: "no" }
    : { result: { type: "skip", isRemembered: false, reason }, said: `no: ${reason}` };
}

/** Until what was typed can be used, or nothing is left of it. */
async function editArguments(
  request: PermissionRequest,
  dialogue: Dialogue,
  isSeen = false,
): Promise<PermissionVerdict> {
  let text = pretty(request.arguments);
  let problem: string | undefined;
  for (;;) {
    // What the person has typed, too, need not be read again.
    const isTextSeen = isSeen || problem !== undefined;
    const asked = { message: "Edit arguments:", text, isTextSeen, problem, extension: ".json" };
    const entered = await dialogue.enterText(asked);
    if (entered.type === "aborted") return INTERRUPTED;
    if (entered.type === "cancelled") {
      const reason = "Edit cancelled";
      return { result: { type: "skip", isRemembered: false, reason }, said: `no: ${reason}` };
    }
    text = entered.text;
    if (text.trim() === "") return undefined;
    const examined = await examine(text, request);
    if (examined.type === "usable") return runWith(examined.arguments, request);
    problem = neutralize(examined.problem);
  }
}

type Examined =
  | { readonly type: "usable"; readonly arguments: JsonObject }
  | { readonly type: "unusable"; readonly problem: string };

async function examine(text: string, { check }: PermissionRequest): Promise<Examined> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { type: "unusable", problem: `Invalid JSON: ${(error as Error).message}` }; // A SyntaxError.
  }
  if (!isJsonObject(parsed)) return { type: "unusable", problem: "Not a JSON object." };
  const problem = await check(parsed);
  return problem === undefined
    ? { type: "usable", arguments: parsed }
    : { type: "unusable", problem };
}

/** Arguments that were looked at and left as they are were not edited. */
function runWith(edited: JsonObject, request: PermissionRequest): PermissionVerdict {
  if (isDeepStrictEqual(edited, request.arguments)) {
    return { result: { type: "run", isRemembered: false }, said: "yes" };
  }
  const result = { type: "run", isRemembered: false, arguments: edited } as const;
  return { result, said: "yes, with other arguments" };
}

function pretty(value: JsonObject): string {
  return JSON.stringify(value, null, 2);
}

const CHOICES = {
  y: "deliver the result as it is",
  n: "withhold it",
  e: "edit it, then deliver it",
  p: "print it, and ask again",
};

type DeliveryVerdict = Verdict<DeliveryResult>;

const AS_IT_IS: DeliveryVerdict = { result: { type: "deliver" }, said: "yes" };

export async function askDelivery(
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryResult> {
  const message = oneLine(`Deliver ${request.tool} result to assistant?`);
  const matter = {
    message,
    context: request.content,
    ...(request.isEditing && { first: () => editResult(request, dialogue) }),
    decide: () => decideDelivery(message, request, dialogue),
  };
  return await askUntilDecided(matter, dialogue);
}

async function decideDelivery(
  message: string,
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryVerdict> {
  const menu = { message, choices: CHOICES, default: "y", escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return CANCELLED;
  switch (chosen.choice) {
    case "y":
      return AS_IT_IS;
    case "n":
      return { result: { type: "withhold" }, said: "no" };
    case "e":
      return await editResult(request, dialogue);
    case "p":
      dialogue.print(request.content);
      return undefined;
    default:
      return assertNever(chosen.choice);
  }
}

/** What is emptied, left as it is or given up is delivered as it was. */
async function editResult(
  { content }: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryVerdict> {
  const entered = await dialogue.enterText({ message: "Edit the result:", text: content });
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled" || entered.text.trim() === "" || entered.text === content) {
    return AS_IT_IS;
  }
  return { result: { type: "deliver", content: entered.text }, said: "yes, edited" };
}

/** What becomes of the matter, and how the line that stays says it. Undefined: ask again. */
type Verdict<Result> = { readonly result: Result; readonly said: string } | undefined;

export interface Decision<Result> {
  readonly message: string;
  /** What is decided about, above the question. Any text. */
  readonly context: string;
  /** Comes before everything else. */
  readonly first?: () => Promise<Verdict<Result>>;
  readonly decide: () => Promise<Verdict<Result>>;
}

async function askUntilDecided<Result extends { readonly type: string }>(
  { message, context, first, decide }: Decision<Result>,
  dialogue: Dialogue,
): Promise<Result> {
  await dialogue.start();
  dialogue.notify(message);
  let decision = await first?.();
  if (decision === undefined && context.trim() !== "") dialogue.printContext(context);
  while (decision === undefined) decision = await decide();
  const { result, said } = decision;
  const isCancelled = result.type === "cancelled" || result.type === "interrupted";
  dialogue.printClosed({ message, said, isCancelled });
  return result;
}
