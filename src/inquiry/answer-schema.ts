/**
 * What a reply to a question must look like: for the provider as JSON Schema, for the model in words.
 * The same for all questions of a kind, unless it is bound to one inquiry.
 */
import type { InquiryId } from "../conversation/index.ts";
import type { AnswerType } from "../tool/index.ts";
import { assertNever, type Json, type JsonObject } from "../util/index.ts";

/** A question as far as the form of the reply depends on it. */
export interface ReplyForm {
  readonly answerType: AnswerType;
  /** The reply has to repeat this id. */
  readonly boundTo?: InquiryId;
}

/** Throws for a secret: no model is ever asked for one. */
export function answerSchema({ answerType, boundTo }: ReplyForm): JsonObject {
  return {
    type: "object",
    properties: {
      ...(boundTo !== undefined && { inquiry_id: { type: "string", const: boundTo } }),
      answer: valueSchema(answerType),
    },
    required: [...(boundTo === undefined ? [] : ["inquiry_id"]), "answer"],
    additionalProperties: false,
  };
}

/** As one line of a message: `{"answer": true or false}`. */
export function describeForm({ answerType, boundTo }: ReplyForm): string {
  const id = boundTo === undefined ? "" : `"inquiry_id": ${JSON.stringify(boundTo)}, `;
  return `{${id}"answer": ${describeValue(answerType)}}`;
}

function valueSchema(answerType: AnswerType): JsonObject {
  switch (answerType.type) {
    case "boolean":
      return { type: "boolean" };
    case "text":
      return { type: "string" };
    case "select": {
      const values = valuesOf(answerType);
      const areStrings = values.every((value) => typeof value === "string");
      const choice = { ...(areStrings && { type: "string" }), enum: values };
      return answerType.isMultiple === true ? { type: "array", items: choice } : choice;
    }
    case "secret":
      throw secretAsked();
    default:
      return assertNever(answerType);
  }
}

function describeValue(answerType: AnswerType): string {
  switch (answerType.type) {
    case "boolean":
      return "true or false";
    case "text":
      return '"your text"';
    case "select":
      return answerType.isMultiple === true
        ? "[those of the options that you choose, as they are written]"
        : "one of the options, as it is written";
    case "secret":
      throw secretAsked();
    default:
      return assertNever(answerType);
  }
}

/** Each once: providers refuse an `enum` that repeats itself. */
function valuesOf({ options }: Extract<AnswerType, { readonly type: "select" }>): readonly Json[] {
  return [...new Map(options.map(({ value }) => [JSON.stringify(value), value])).values()];
}

function secretAsked(): Error {
  return new Error("A secret was about to be asked of a model.");
}
