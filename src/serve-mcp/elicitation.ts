/** A person who is reached through the client of a server, with the client's own forms. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type {
  DecisionRequest,
  Prompter,
  PromptRequest,
  PromptResult,
  RequestBase,
} from "../agent/index.ts";
import {
  describeChanged,
  neutralize,
  oneLine,
  sourceLines,
  verbatim,
  verbatimLines,
} from "../render/index.ts";
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
  return {
    channel: parts.channel,
    showsForms: true,
    canAsk: () => true,
    ask: async (request) => {
      const { inquiryId, signal } = request;
      const fields = request.kind === "form" ? request.fields : [toField(request)];
      const form = toForm(fields, parts.notation, describeRequest(request));
      const content = await fillIn(parts.elicit, form, signal);
      if (content === undefined) {
        // The protocol does not tell whether a person declined, or a program that has no one to ask.
        return signal.aborted
          ? { type: "interrupted", inquiryId }
          : { type: "unanswered", reason: "declined_by_client", inquiryId };
      }
      const results = readForm(fields, content);
      if (request.kind === "form") return { type: "form", inquiryId, results };
      const [result] = results;
      if (result === undefined) throw new Error("the client sent a form without answers");
      return result;
    },
  };
}

/** A result that waits is the context of its question. */
function toField(request: DecisionRequest): Field {
  const { inquiryId, question, acts } = request;
  if (request.kind !== "delivery") return request;
  return { inquiryId, acts, question: { ...question, context: request.content } };
}

/** Comes before the question, whose words may be a tool's. Throws if the client cannot show the request. */
function describeRequest(request: PromptRequest): readonly string[] {
  const { changed = [], acts } = request;
  if ((request.kind === "permission" || request.kind === "delivery") && request.isEditing) {
    throw new Error("the client cannot show anything for editing");
  }
  const changes =
    changed.length === 0 ? [] : [`Changed since you decided: ${describeChanged(changed)}`];
  return [...changes, ...(acts ? [describeCall(request)] : [])];
}

/** The call that a yes makes run or go on. */
function describeCall({ tool, origin, folder, arguments: args }: RequestBase): string {
  return [
    `Tool: ${valueText(tool)}`,
    ...sourceLines(origin, folder),
    `Arguments: ${valueText(args)}`,
  ].join("\n");
}

/** On one line. Values that differ never look the same, whatever the client makes of white space. */
function valueText(value: Json): string {
  return verbatim(JSON.stringify(value));
}

/** Undefined if the client declined, or the user does not have to answer any more. */
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

export type Field = Pick<DecisionRequest, "inquiryId" | "question" | "acts">;
export type Form = ElicitRequestFormParams;
type Properties = Form["requestedSchema"]["properties"];
type Property = Properties[string];

/** How a client is told of options that have a description. */
type OptionNotation = "titles" | "enumNames";

/** `about` comes before the questions. Throws if one cannot be part of a form: a secret, or a choice of several. */
export function toForm(
  fields: readonly Field[],
  notation: OptionNotation,
  about: readonly string[] = [],
): Form {
  const messages = fields.map((field, index) =>
    fields.length === 1 ? describe(field) : `${index + 1}. ${describe(field)}`,
  );
  const properties = fields.map((field, index) =>
    propertiesOf(field, { key: keyOf(index), notation }),
  );
  const required = fields.flatMap(({ question }, index) =>
    hasOther(question) ? [] : [keyOf(index)],
  );
  return {
    message: [...about, ...messages].join("\n\n"),
    requestedSchema: {
      type: "object",
      properties: Object.assign({}, ...properties) as Properties, // Each is a part of it.
      required,
    },
  };
}

/** Reads a form that a client sent. Errors name the field and never quote the content. */
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
function describe({ question, acts }: Field): string {
  const { text, context, answerType } = question;
  const options = answerType.type === "select" ? answerType.options : [];
  const previews = options.flatMap(({ value, preview }) =>
    preview === undefined ? [] : [`${optionText(value)}:\n${preview}`],
  );
  const parts = [text, ...(context === undefined ? [] : [context]), ...previews];
  const described = parts.join("\n\n");
  return acts ? verbatimLines(described).join("\n") : neutralize(described);
}

interface Placed {
  readonly key: string;
  readonly notation: OptionNotation;
}

function propertiesOf({ question, acts }: Field, { key, notation }: Placed): Properties {
  const title = acts ? verbatim(question.text) : oneLine(question.text);
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

/** An answer in the field of the options must be one of them, even if the form has a field for other answers. */
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
