/**
 * Passes models on as the AI SDK types them, without a cast. It is only type-checked, outside this repository and
 * against the tarball.
 */
import type { LanguageModel as LanguageModelOfAi7 } from "ai";
import type { LanguageModel as LanguageModelOfAi6 } from "ai-6";
import {
  fromLanguageModel,
  type LanguageModel,
  type Model,
  runTurn,
  type TurnOptions,
} from "jp-ts";

type Others = Omit<TurnOptions, "model">;

export async function run6(model: LanguageModelOfAi6, others: Others): Promise<string> {
  const { text } = await runTurn({ ...others, model, inquiryModel: model }, "Hi.");
  return text;
}

export async function run7(model: LanguageModelOfAi7, others: Others): Promise<string> {
  const { text } = await runTurn({ ...others, model, inquiryModel: model }, "Hi.");
  return text;
}

export function wrap(model: LanguageModelOfAi6 | LanguageModelOfAi7): Model {
  return fromLanguageModel(model);
}

// @ts-expect-error A number is not a model.
export const wrong: LanguageModel = 7;
