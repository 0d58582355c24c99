/** A person who is reached through the client of a server, with the client's own forms. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type {
  DeliveryResult,
  FormRequest,
  FormResult,
  PermissionResult,
  Prompter,
  PromptRequest,
  PromptResult,
} from "../agent/index.ts";
import { neutralize, oneLine } from "../render/index.ts";
import {
  explainMisfit,
  type InquiryQuestion,
  type SelectType,
  withoutOther,
} from "../tool/index.ts";
import { assertNever, isJsonObject, type Json, type JsonObject } from "../util/index.ts";

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
  const askForm = async ({
    fields,
    signal,
  }: Pick<FormRequest, "fields" | "signal">): Promise<FormResult> => {
    const content = await fillIn(parts.elicit, toForm(fields, parts.notation), signal);
    if (content === undefined) return { type: closedBy(signal) };
    return { type: "answered", results: readForm(fields, content) };
  };
  return {
    channel: parts.channel,
    canAsk: () => true,
    askForm,
    ask: async (request) => {
      const { inquiryId, signal } = request;
      const form = await askForm({ fields: [request], signal });
      if (form.type !== "answered") return { ...form, inquiryId };
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

export type Field = Pick<PromptRequest, "inquiryId" | "question">;
export type Form = ElicitRequestFormParams;
type Properties = Form["requestedSchema"]["properties"];
type Property = Properties[string];

/** How a client is told of options that have a description. */
type OptionNotation = "titles" | "enumNames";

/** Throws if a question cannot be part of a form: a secret, or a choice of several. */
export function toForm(fields: readonly Field[], notation: OptionNotation): Form {
  const messages = fields.map(({ question }, index) =>
    fields.length === 1 ? describe(question) : `${index + 1}. ${describe(question)}`,
  );
  const properties = fields.map(({ question }, index) =>
    propertiesOf(question, { key: keyOf(index), notation }),
  );
  const required = fields.flatMap(({ question }, index) =>
    hasOther(question) ? [] : [keyOf(index)],
  );
  return {
    message: messages.join("\n\n"),
    requestedSchema: {
      type: "object",
      properties: Object.assign({}, ...properties) as Properties, // Each is a part of it.
      required,
    },
  };
}

/** What is in it was sent by a client. Throws what is wrong, without quoting any of it. */
export function readForm(fields: readonly Field[], content: JsonObject): readonly PromptResult[] {
  return fields.map(({ inquiryId, question }, index) => {
    const key = keyOf(index);
    const note = question.allowsNote === true ? readText(content, `${key}_note`) : "";
    return {
      inquiryId,
      type: "answered",
      answer: readAnswer(question, key, content),
      isRemembered: false,
      ...(note !== "" && { note }),
    };
  });
}

function keyOf(index: number): string {
  return index === 0 ? "answer" : `answer_${index + 1}`;
}

/** Everything that the user needs to know: some clients show little else of a form. */
function describe({ text, context, answerType }: InquiryQuestion): string {
  const options = answerType.type === "select" ? answerType.options : [];
  const previews = options.flatMap(({ value, preview }) =>
    preview === undefined ? [] : [`${optionText(value)}:\n${preview}`],
  );
  const parts = [text, ...(context === undefined ? [] : [context]), ...previews];
  return neutralize(parts.join("\n\n"));
}

interface Placed {
  readonly key: string;
  readonly notation: OptionNotation;
}

function propertiesOf(question: InquiryQuestion, { key, notation }: Placed): Properties {
  const title = oneLine(question.text);
  return {
    [key]: { ...propertyOf(question, notation), title },
    ...(hasOther(question) && {
      [`${key}_other`]: {
        type: "string",
        title: "Other",
        description: `Your own answer, instead of the options: ${title}`,
      },
    }),
    ...(question.allowsNote === true && {
      [`${key}_note`]: {
        type: "string",
        title: "Note",
        description: `Anything you want to add to your answer: ${title}`,
      },
    }),
  };
}

function propertyOf(question: InquiryQuestion, notation: OptionNotation): Property {
  const { answerType, default: suggested } = question;
  switch (answerType.type) {
    case "boolean":
      return { type: "boolean", ...(typeof suggested === "boolean" && { default: suggested }) };
    case "text":
      return { type: "string", ...(typeof suggested === "string" && { default: suggested }) };
    case "select": {
      if (answerType.isMultiple === true) throw new Error("the client cannot show such a choice");
      const hasDefault = suggested !== undefined;
      return {
        type: "string",
        ...optionsOf(answerType, notation),
        ...(hasDefault && { default: optionText(suggested) }),
      };
    }
    case "secret":
      throw new Error("a secret must not go through a client");
    default:
      return assertNever(answerType);
  }
}

function optionsOf({ options }: SelectType, notation: OptionNotation) {
  const values = options.map(({ value }) => optionText(value));
  if (options.every(({ description }) => description === undefined)) return { enum: values };
  const titles = options.map(({ value, description }) =>
    oneLine(description === undefined ? optionText(value) : `${optionText(value)}: ${description}`),
  );
  if (notation === "enumNames") return { enum: values, enumNames: titles };
  return { oneOf: values.map((value, index) => ({ const: value, title: titles[index] ?? value })) };
}

/** Forms have texts only. */
function optionText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function readAnswer(question: InquiryQuestion, key: string, content: JsonObject): Json {
  const { answerType } = question;
  const own = hasOther(question) ? readText(content, `${key}_other`) : "";
  // An option may have been chosen in advance, by the form; a text is there only if it was written.
  if (own !== "") return own;
  const given = content[key];
  if (given === undefined) throw new Error(`\`${key}\` has no answer`);
  if (answerType.type !== "select") return checked(question, key, given);
  const option = answerType.options.find(({ value }) => optionText(value) === given);
  return checked(question, key, option?.value ?? given);
}

/** What stands among the options must be one of them, also where other answers have a place. */
function checked({ answerType }: InquiryQuestion, key: string, answer: Json): Json {
  const misfit = explainMisfit(withoutOther(answerType), answer);
  if (misfit !== undefined) throw new Error(`\`${key}\`: ${misfit}`);
  return answer;
}

function readText(content: JsonObject, key: string): string {
  const text = content[key] ?? "";
  if (typeof text !== "string") throw new Error(`\`${key}\` is not text`);
  return text.trim();
}

function hasOther({ answerType }: InquiryQuestion): boolean {
  return answerType.type === "select" && answerType.allowsOther === true;
}
