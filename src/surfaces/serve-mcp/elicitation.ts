/** Asks a person through the client's own forms. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type {
  DecisionRequest,
  FormRequest,
  Prompter,
  PromptResult,
  RequestBase,
} from "../../core/agent/index.ts";
import { describeAskedAgain, sourceLines, verbatim, verbatimLines } from "../render/index.ts";
import {
  type AnswerType,
  explainMisfit,
  type InquiryQuestion,
  type SelectType,
  withoutOther,
} from "../../record/tool/index.ts";
import {
  assertNever,
  isJsonObject,
  type Json,
  type JsonObject,
  neutralize,
  oneLine,
} from "../../util/index.ts";

/** Shows a form to the client's user. Rejects if that is impossible, or on abort. */
export type Elicit = (form: Form, signal: AbortSignal) => Promise<ElicitReply>;

/** A client's reply. Its content is unchecked. */
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
    auth: "client",
    showsForms: true,
    canAsk: () => true,
    ask: async (request: DecisionRequest | FormRequest) => {
      const { inquiryId, signal } = request;
      const fields = request.kind === "form" ? request.fields : [toField(request)];
      const answers = await askFields(parts, {
        fields: fields.map((field, index) => ({ ...field, key: keyOf(index) })),
        about: describeRequest(request),
        signal,
      });
      if (answers === undefined) {
        // The protocol does not say whether a person declined, or a program with no one to ask.
        return signal.aborted
          ? { type: "interrupted", inquiryId }
          : { type: "unanswered", reason: "declined_by_client", inquiryId };
      }
      const results = [...answers].map(([field, answer]): PromptResult => {
        return { inquiryId: field.inquiryId, type: "answered", answer, isRemembered: false };
      });
      if (request.kind === "form") return { type: "form", inquiryId, results };
      const [result] = results;
      if (result === undefined) throw new Error(NO_ANSWERS);
      return result;
    },
  };
}

const NO_ANSWERS = "the client sent a form without answers";

/** Some programs accept every form blindly. */
const MAX_ROUNDS = 3;
const AGAIN = "An answer was missing or did not fit. Please answer again.";
const AGAIN_REST = `${AGAIN} The other answers are kept.`;

interface AskedFields {
  readonly fields: readonly KeyedField[];
  /** Shown before the questions. */
  readonly about: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Asks again only about fields without a valid answer. Undefined if the client declined, or the question was withdrawn.
 * Throws if there is no valid answer at all.
 */
async function askFields(
  { elicit, notation }: ElicitationParts,
  { fields, about, signal }: AskedFields,
): Promise<ReadonlyMap<KeyedField, Json> | undefined> {
  const answers = new Map<KeyedField, Json>();
  let open = fields;
  let problem = NO_ANSWERS;
  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round += 1) {
    const again = answers.size === 0 ? AGAIN : AGAIN_REST;
    const asked = round === 0 ? about : [again, ...about];
    const content = await fillIn(elicit, toForm(open, notation, asked), signal);
    if (content === undefined) return undefined;
    const read = open.map((field) => [field, readAnswer(field, content)] as const);
    const owned = read.flatMap(([field, { type }]) => (type === "own" ? [field] : []));
    const own = owned.length === 0 ? {} : await fillIn(elicit, toOwnForm(owned, about), signal);
    if (own === undefined) return undefined;
    for (const [field, given] of read) {
      const answer = given.type === "own" ? readOwn(field, own) : given;
      if (answer.type === "answer") answers.set(field, answer.answer);
      else ({ problem } = answer);
    }
    open = fields.filter((field) => !answers.has(field));
  }
  if (answers.size === 0) throw new Error(problem);
  return answers;
}

/** A pending result becomes the context of its question. */
function toField(request: DecisionRequest): Field {
  const { inquiryId, question, acts } = request;
  if (request.kind !== "delivery") return request;
  return { inquiryId, acts, question: { ...question, context: request.content } };
}

/** Shown before the question, whose words may come from a tool. Throws if the client cannot show the request. */
function describeRequest(request: DecisionRequest | FormRequest): readonly string[] {
  const { changed = [], acts } = request;
  if ((request.kind === "permission" || request.kind === "delivery") && request.isEditing) {
    throw new Error("the client cannot show anything for editing");
  }
  const changes = changed.length === 0 ? [] : [describeAskedAgain(changed, "since you decided")];
  return [...changes, ...(acts ? [describeCall(request)] : [])];
}

/** The call that a yes starts or resumes. */
function describeCall({ tool, origin, folder, arguments: args }: RequestBase): string {
  return [
    `Tool: ${valueText(tool)}`,
    ...sourceLines(origin, folder),
    `Arguments: ${valueText(args)}`,
  ].join("\n");
}

/** One line. Different values never look the same, however the client treats white space. */
function valueText(value: Json): string {
  return verbatim(JSON.stringify(value));
}

/** Undefined if the client declined, or the question was withdrawn. */
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
  return isJsonObject(reply.content) ? reply.content : {};
}

type Field = Pick<DecisionRequest, "inquiryId" | "question" | "acts">;

/** A field with its form key, which stays the same when it is asked again. */
interface KeyedField extends Field {
  readonly key: string;
}

export type Form = ElicitRequestFormParams;
type Properties = Form["requestedSchema"]["properties"];
type Property = Properties[string];

/** How a client receives options with descriptions. */
type OptionNotation = "titles" | "enumNames";

/**
 * Every property is required, because some clients cannot leave one empty. Throws if a question cannot be part of a
 * form: a secret, or a multiple choice.
 */
function toForm(
  fields: readonly KeyedField[],
  notation: OptionNotation,
  about: readonly string[],
): Form {
  const messages = fields.map((field, index) =>
    fields.length === 1 ? describe(field) : `${index + 1}. ${describe(field)}`,
  );
  const properties = fields.map((field): [string, Property] => {
    const property = propertyOf(field.question, notation);
    return [field.key, { ...property, title: titleOf(field) }];
  });
  return formOf([...about, ...messages], properties);
}

/** Asks for the user's own answer, after they chose none of the options. */
function toOwnForm(fields: readonly KeyedField[], about: readonly string[]): Form {
  const messages = fields.map((field) => `Your own answer: ${titleOf(field)}`);
  const properties = fields.map((field): [string, Property] => [
    ownKeyOf(field),
    { type: "string", title: titleOf(field), minLength: 1 },
  ]);
  return formOf([...about, ...messages], properties);
}

function formOf(messages: readonly string[], properties: readonly [string, Property][]): Form {
  return {
    message: messages.join("\n\n"),
    requestedSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      required: properties.map(([key]) => key),
    },
  };
}

function keyOf(index: number): string {
  return index === 0 ? "answer" : `answer_${index + 1}`;
}

function ownKeyOf({ key }: KeyedField): string {
  return `${key}_other`;
}

function titleOf({ question, acts }: Field): string {
  return acts ? verbatim(question.text) : oneLine(question.text);
}

/** Everything the user needs to know: some clients show little else of a form. */
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

function optionsOf(answerType: SelectType, notation: OptionNotation) {
  const { options, allowsOther = false } = answerType;
  const other = otherText(answerType);
  const values = options.map(({ value }) => optionText(value));
  const all = allowsOther ? [...values, other] : values;
  if (options.every(({ description }) => description === undefined)) return { enum: all };
  const titles = options.map(({ value, description }) =>
    oneLine(description === undefined ? optionText(value) : `${optionText(value)}: ${description}`),
  );
  const shown = allowsOther ? [...titles, other] : titles;
  if (notation === "enumNames") return { enum: all, enumNames: shown };
  return { oneOf: all.map((value, index) => ({ const: value, title: shown[index] ?? value })) };
}

/** The last option, which asks for the user's own answer. Differs from all others. */
function otherText({ options }: SelectType): string {
  const taken = new Set(options.map(({ value }) => optionText(value).toLowerCase()));
  let text = taken.has("other") ? "Other: your own answer" : "Other";
  while (taken.has(text.toLowerCase())) text += ".";
  return text;
}

/** Forms only have texts. */
function optionText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

type ReadAnswer =
  | { readonly type: "answer"; readonly answer: Json }
  /** Names the property, but never quotes the content. */
  | { readonly type: "problem"; readonly problem: string };

/** `own`: the user wants to answer in their own words. */
function readAnswer(
  { key, question: { answerType } }: KeyedField,
  content: JsonObject,
): ReadAnswer | { readonly type: "own" } {
  const given = content[key];
  if (given === undefined) return { type: "problem", problem: `\`${key}\` has no answer` };
  if (answerType.type !== "select") return check(answerType, key, given);
  const option = answerType.options.find(({ value }) => optionText(value) === given);
  if (option !== undefined) return { type: "answer", answer: option.value };
  const isOwn = answerType.allowsOther === true && typeof given === "string";
  if (isOwn && given === otherText(answerType)) return { type: "own" };
  // Some clients let the user type an answer beside the options.
  if (isOwn && given.trim() !== "") return { type: "answer", answer: given.trim() };
  return check(withoutOther(answerType), key, given);
}

function readOwn(field: KeyedField, content: JsonObject): ReadAnswer {
  const key = ownKeyOf(field);
  const given = content[key];
  const text = typeof given === "string" ? given.trim() : "";
  if (text !== "") return { type: "answer", answer: text };
  return { type: "problem", problem: `\`${key}\` has no answer` };
}

function check(answerType: AnswerType, key: string, answer: Json): ReadAnswer {
  const misfit = explainMisfit(answerType, answer);
  if (misfit === undefined) return { type: "answer", answer };
  return { type: "problem", problem: `\`${key}\`: ${misfit}` };
}
