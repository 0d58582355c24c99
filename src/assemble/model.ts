/** Models passed by programs. */
import { fromLanguageModel, type LanguageModel, type Model } from "../reach/provider/index.ts";
import { isJsonObject, JpError } from "../util/index.ts";

/** Untyped programs may pass anything. Throws `unsupported_model`. */
export function toModel(model: Model | LanguageModel): Model {
  const given: unknown = model;
  const hint = 'Make it with a provider of the AI SDK, as in openai("gpt-5").';
  if (typeof given !== "string" && (typeof given !== "object" || given === null)) {
    const kind = typeof given === "function" ? "a function" : JSON.stringify(given);
    throw new JpError("unsupported_model", `A model is an object, not ${kind}.`, { hint });
  }
  if (typeof model === "string" || "doStream" in model) return fromLanguageModel(model);
  if (isJsonObject(given) && typeof given["id"] === "string" && "stream" in given) return model;
  throw new JpError("unsupported_model", "This object is not a model.", { hint });
}
