/** A person who is reached through the client of a server, with the client's own forms. */
import type {
  DeliveryResult,
  FormRequest,
  FormResult,
  PermissionResult,
  Prompter,
} from "../agent/index.ts";
import { neutralize } from "../render/index.ts";
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { type Form, type OptionNotation, readForm, toForm } from "./question-form.ts";

/** Puts a form before the client's user. Rejects if that is not possible, or when it is aborted. */
export type Elicit = (form: Form, signal: AbortSignal) => Promise<ElicitReply>;

/** As a client sends it: what it holds is not checked. */
export interface ElicitReply {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: unknown;
}

export interface ElicitationParts {
  readonly channel: string;
  readonly elicit: Elicit;
  readonly notation: OptionNotation;
}

export function createElicitationPrompter(parts: ElicitationParts): Prompter {
  const askForm = async ({ fields, signal }: FormRequest): Promise<FormResult> => {
    const content = await fillIn(parts.elicit, toForm(fields, parts.notation), signal);
    if (content === undefined) return { type: closedBy(signal) };
    return { type: "answered", results: readForm(fields, content) };
  };
  return {
    channel: parts.channel,
    canAsk: () => true,
    askForm,
    ask: async ({ signal, ...field }) => {
      const form = await askForm({ fields: [field], signal });
      const { inquiryId } = field;
      if (form.type !== "answered") return { type: form.type, inquiryId };
      const [result] = form.results;
      if (result === undefined) throw new Error("the client sent a form without answers");
      return result;
    },
    askPermission: async (request): Promise<PermissionResult> => {
      if (request.isEditing) throw new Error("the client cannot show arguments for editing");
      const { tool, arguments: args, signal } = request;
      const message = neutralize(`May ${tool} run?\n\n${JSON.stringify(args, null, 2)}`);
      const isAllowed = await decide(parts.elicit, { message, title: "Run it" }, signal);
      if (isAllowed === undefined) return { type: closedBy(signal) };
      return { type: isAllowed ? "run" : "skip", isRemembered: false };
    },
    askDelivery: async (request): Promise<DeliveryResult> => {
      if (request.isEditing) throw new Error("the client cannot show a result for editing");
      const { tool, content, signal } = request;
      const message = neutralize(`May the assistant see what ${tool} gave?\n\n${content}`);
      const isAllowed = await decide(parts.elicit, { message, title: "Deliver it" }, signal);
      if (isAllowed === undefined) return { type: closedBy(signal) };
      return { type: isAllowed ? "deliver" : "withhold" };
    },
  };
}

/** By the user, unless everything was ended. */
function closedBy({ aborted }: AbortSignal): "cancelled" | "interrupted" {
  return aborted ? "interrupted" : "cancelled";
}

/** Undefined if the user did not want to, or does not have to any more. */
async function fillIn(
  elicit: Elicit,
  form: Form,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  let reply: ElicitReply;
  try {
    reply = await elicit(form, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
  if (reply.action !== "accept") return undefined;
  if (!isJsonObject(reply.content)) throw new Error("the client sent a form without answers");
  return reply.content;
}

interface Decision {
  readonly message: string;
  readonly title: string;
}

async function decide(
  elicit: Elicit,
  { message, title }: Decision,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const properties = { decision: { type: "boolean" as const, title } };
  const requestedSchema = { type: "object" as const, properties, required: ["decision"] };
  const content = await fillIn(elicit, { message, requestedSchema }, signal);
  if (content === undefined) return undefined;
  const { decision } = content;
  if (typeof decision !== "boolean") throw new Error("the client sent no decision");
  return decision;
}
