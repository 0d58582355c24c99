/** The two questions of `jp init`. */
import type { Prompter } from "../../../agent/index.ts";
import { mergeConfig, type PartialConfig, resolveAssistant } from "../../../config/index.ts";
import type { InquiryId } from "../../../conversation/index.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../../provider/index.ts";
import { booleanQuestion, type InquiryQuestion, selectQuestion } from "../../../tool/index.ts";
import { isCodedError, type Json } from "../../../util/index.ts";
import type { DetectedModel } from "../../detect-models.ts";
import type { Choices } from "./config-text.ts";

const LATER = "decide later";

/** What they are asked about. */
export interface Circumstances {
  readonly models: readonly DetectedModel[];
  /** What the user's own config says, for all workspaces. */
  readonly config: PartialConfig;
}

/** Undefined if the person does not want to answer. */
export async function askChoices(
  prompter: Prompter,
  circumstances: Circumstances,
): Promise<Choices | undefined> {
  const model = await askModel(prompter, circumstances);
  if (model === undefined) return undefined;
  const question = booleanQuestion("ask", "Ask before commands and MCP tools run?", {
    context:
      "jp's file tools read files in this workspace without asking. Before they change one, they show " +
      "you the change and ask.\n" +
      "Other tools are commands and MCP servers. With yes, jp asks before it runs one; with no, it " +
      "runs at once.",
    default: true,
    persistence: "none",
  });
  const asks = await ask(prompter, question);
  if (asks === undefined) return undefined;
  return { ...(model !== LATER && { model }), run: asks === true ? "ask" : "unattended" };
}

async function askModel(
  prompter: Prompter,
  { models, config }: Circumstances,
): Promise<string | undefined> {
  const own = config.assistant?.model?.id;
  const later = own === undefined ? "jp query looks for one" : "what your own config says holds";
  let context = models.length === 0 ? NONE_FOUND : undefined;
  for (;;) {
    const question = selectQuestion("model", "Which model answers here? (Other: provider/name)", {
      options: [
        ...models.map(({ id, reason }) => ({ value: id, description: reason })),
        { value: LATER, description: later },
      ],
      allowsOther: true,
      ...(context !== undefined && { context }),
    });
    const answer = await ask(prompter, question);
    if (typeof answer !== "string") return undefined;
    const model = answer.trim();
    if (model === LATER) return model;
    context = explainMistake(model, config);
    if (context === undefined) return model;
  }
}

const NONE_FOUND =
  "No server answers on this machine (Ollama, llama.cpp), and no provider's key is set.";

async function ask(prompter: Prompter, question: InquiryQuestion): Promise<Json | undefined> {
  const { signal } = new AbortController();
  // Nothing records it.
  const result = await prompter.ask({ inquiryId: "init" as InquiryId, question, signal });
  return result.type === "answered" ? result.answer : undefined;
}

/** Undefined if it is a model: `provider/name`, or an alias of the user's own config. */
function explainMistake(model: string, config: PartialConfig): string | undefined {
  const [provider = "", ...name] = model.split("/");
  try {
    const id = name.length === 0 ? { alias: model } : { provider, name: name.join("/") };
    const resolved = resolveAssistant(mergeConfig(config, { assistant: { model: { id } } }));
    if (resolved.model.name !== "" && isProvider(resolved.model.provider)) return undefined;
    return `"${model}" is no model. Write provider/name; the providers are ${PROVIDER_NAMES.join(", ")}.`;
  } catch (error) {
    if (isCodedError(error)) return `${error.message} ${error.hint ?? ""}`;
    throw error;
  }
}

export function isProvider(name: string): name is ProviderName {
  return PROVIDER_NAMES.some((known) => known === name);
}
