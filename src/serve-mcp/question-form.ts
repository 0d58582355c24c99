/** Questions as a form of MCP, which a client puts before its user, and that form as answers. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { FormRequest, PromptResult } from "../agent/index.ts";
import { neutralize, oneLine } from "../render/index.ts";
import {
  explainMismatch,
  type InquiryQuestion,
  type SelectType,
  withoutOther,
} from "../tool/index.ts";
import { assertNever, type Json, type JsonObject } from "../util/index.ts";

export type Field = FormRequest["fields"][number];
export type Form = ElicitRequestFormParams;
type Properties = Form["requestedSchema"]["properties"];
type Property = Properties[string];

/** How a client is told of options that have a description. */
export type OptionNotation = "titles" | "enumNames";

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
  const misfit = explainMismatch(withoutOther(answerType), answer);
  if (misfit !== undefined) throw new Error(`\`${key}\`: ${misfit}`);
  return answer;
}

function readText(content: JsonObject, key: string): string {
  const text = content[key] ?? "";
  if (typeof text !== "string") throw new Error(`\`${key}\` is no text`);
  return text.trim();
}

function hasOther({ answerType }: InquiryQuestion): boolean {
  return answerType.type === "select" && answerType.allowsOther === true;
}
