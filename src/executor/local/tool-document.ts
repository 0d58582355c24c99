/** The JSON document that a local tool is given, and the part of it that others may see. */
import type { ToolSettings } from "../../config/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { AttemptRequest } from "../port.ts";
import type { TemplateContext } from "./template.ts";

/** Where a tool is run, and for whom. */
export interface ToolPlace {
  readonly workspaceRoot: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

export function toolDocument(
  { name, source, options }: Pick<ToolSettings, "name" | "source" | "options">,
  { arguments: args, answers, notes }: Pick<AttemptRequest, "arguments" | "answers" | "notes">,
  place: ToolPlace,
): JsonObject {
  // `local.<name>` changes what the process sees, and nothing else.
  const seenAs = source.type === "local" ? (source.tool ?? name) : name;
  return {
    tool: {
      name: seenAs,
      arguments: args,
      answers,
      ...(Object.keys(notes).length > 0 && { notes }),
      options,
    },
    context: {
      action: "run",
      root: place.workspaceRoot,
      workspace_id: place.workspaceId,
      conversation_id: place.conversationId,
    },
  };
}

/** Everybody on the machine can read a command line, so no secret may get there. */
export function templateContext(
  settings: Pick<ToolSettings, "name" | "source" | "options">,
  request: Pick<AttemptRequest, "arguments" | "answers" | "notes" | "secretAnswers">,
  place: ToolPlace,
): TemplateContext {
  const { secretAnswers } = request;
  const open = Object.entries(request.answers).filter(([id]) => !secretAnswers.includes(id));
  const document = toolDocument(settings, { ...request, answers: Object.fromEntries(open) }, place);
  return { document, secretAnswers };
}
