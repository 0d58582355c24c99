/** Asks whether a tool may run, with which arguments, and whether the model may see its result. */
import { isDeepStrictEqual } from "node:util";
import type {
  DeliveryRequest,
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
  oneLine,
} from "../../util/index.ts";
import {
  askUntilClosed,
  askYesNo,
  printSubject,
  type Shown,
  YES,
  type YesNo,
} from "./ask-question.ts";
import { LATER_OR_CANCEL } from "./close-unanswered.ts";
import { type Aborted, type Answered, asContext, type Dialogue } from "./dialogue.ts";
import { enterJson, enterText, NOT_AN_OBJECT } from "./text-entry.ts";

type ShownPermission = Shown<PermissionRequest>;
type ShownDelivery = Shown<DeliveryRequest>;

export function askPermission(request: ShownPermission, dialogue: Dialogue): Promise<PromptResult> {
  dialogue.notify(permissionMessage(request));
  return askAboutCall(request, { escape: escapeOf(request) }, dialogue);
}

/** Asks about one call from a list. Escape goes back to the list. */
export function askListedPermission(
  request: ShownPermission,
  dialogue: Dialogue,
): Promise<PromptResult | "back"> {
  const message = permissionMessage(request);
  const onEscape = () => {
    dialogue.printClosed({ message, summary: "not decided yet", isCancelled: true });
    return "back" as const;
  };
  return askAboutCall(request, { escape: "go back to the list", onEscape }, dialogue);
}

async function askAboutCall<Left = never>(
  request: ShownPermission,
  { escape, onEscape }: { readonly escape: string; readonly onEscape?: () => Left },
  dialogue: Dialogue,
): Promise<PromptResult | Left> {
  const message = permissionMessage(request);
  await dialogue.start();
  printSubject(request, dialogue);
  const first = request.isEditing ? await editArguments(request, dialogue) : undefined;
  const capabilities = describeCapabilities(capabilitiesOf(request));
  const scope = `all ${verbatim(request.tool)} calls this turn${capabilities}`;
  const edit = {
    key: "e",
    help: "edit the arguments, then run",
    act: () => editArguments(request, dialogue, true),
  };
  const asked: YesNo = {
    message,
    escape,
    scope: request.canRemember ? scope : undefined,
    grants: request,
    others: [
      {
        key: "p",
        help: "print the arguments",
        act: () => dialogue.print(jsonBlock(request.arguments)),
      },
      ...(request.check === undefined ? [] : [edit]),
    ],
  };
  const ask = () => askYesNo(asked, dialogue);
  const prompt = { ...request, message, marksNo: true, first, ask, onEscape };
  return await askUntilClosed<Left>(prompt, dialogue);
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

/** Undefined to go back to the question, as with unchanged arguments: Enter alone decides nothing. */
async function editArguments(
  { arguments: given, check }: ShownPermission,
  dialogue: Dialogue,
  isTextSeen = false,
): Promise<Answered | Aborted | undefined> {
  if (check === undefined) return undefined;
  const asked = { message: "Edit arguments:", text: jsonBlock(given), isTextSeen };
  const edited = await enterJson(asked, (text) => parseArguments(text, check), dialogue);
  if (edited === undefined || "type" in edited) return edited;
  if (isDeepStrictEqual(edited.arguments, given)) return undefined;
  return { ...YES, ...edited, summary: "yes, with edited arguments" };
}

async function parseArguments(
  text: string,
  check: NonNullable<PermissionRequest["check"]>,
): Promise<{ readonly arguments: JsonObject } | { readonly problem: string }> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { problem: `Invalid JSON: ${(error as Error).message}` }; // A SyntaxError.
  }
  if (!isJsonObject(parsed)) return { problem: NOT_AN_OBJECT };
  const problem = await check(parsed);
  return problem === undefined ? { arguments: parsed } : { problem };
}

export async function askDelivery(
  request: ShownDelivery,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const { tool, content, isEditing } = request;
  const message = oneLine(`Deliver ${tool} result to assistant?`);
  dialogue.notify(message);
  await dialogue.start();
  printSubject(request, dialogue);
  const edit = () => editResult(request, dialogue);
  // The editor shows the whole text.
  const first = isEditing ? await edit() : undefined;
  if (first === undefined && content.trim() !== "") dialogue.printAbove(asContext(content));
  const asked: YesNo = {
    message,
    escape: escapeOf(request),
    default: "y",
    help: { y: "deliver the result unchanged", n: "withhold the result" },
    others: [
      { key: "e", help: "edit the result, then deliver it", act: edit },
      { key: "p", help: "print the result", act: () => dialogue.print(content) },
    ],
  };
  const ask = () => askYesNo(asked, dialogue);
  return await askUntilClosed({ ...request, message, marksNo: true, first, ask }, dialogue);
}

/** An emptied or unchanged result is delivered as it was. Escape goes back to the question. */
async function editResult(
  { content }: ShownDelivery,
  dialogue: Dialogue,
): Promise<Answered | Aborted | undefined> {
  const asked = { message: "Edit the result:", text: content, escape: "go back" };
  const entered = await enterText(asked, dialogue);
  if (entered.type === "aborted") return entered;
  if (entered.type === "cancelled") return undefined;
  const isUnchanged = entered.text.trim() === "" || entered.text === content;
  return isUnchanged ? YES : { ...YES, content: entered.text, summary: "yes, edited" };
}
