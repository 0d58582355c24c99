/** Finds the model of a turn, and checks model names typed by the user. A mistyped one is not remembered. */
import { isDeepStrictEqual } from "node:util";
import {
  type AssistantSettings,
  foldLayers,
  mergeConfig,
  resolveModelId,
} from "../settings/config/index.ts";
import { endOf, lastTurnOf } from "../record/conversation/index.ts";
import {
  isLocalProvider,
  type Model,
  type ModelInfo,
  ProviderError,
  type Providers,
} from "../reach/provider/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { adviceOf, findClosest, oneLine } from "../util/index.ts";
import { recordChange } from "./open-conversation.ts";
import type { Place } from "./place.ts";

type ModelName = AssistantSettings["model"];

/** Throws `ProviderError`. The hint covers conversations that remember a model that no longer exists. */
export async function findModel(
  providers: Providers,
  { provider, name }: ModelName,
  { isRemembered, isSession }: { readonly isRemembered: boolean; readonly isSession: boolean },
): Promise<Model> {
  try {
    return await providers.model(provider, name);
  } catch (error) {
    if (!isRemembered || !(error instanceof ProviderError)) throw error;
    const { kind, message, isRetryable } = error;
    const [choose, start] = isSession ? ["/model", "/new"] : ["-m", "-n"];
    const hint =
      `${adviceOf(error) ?? ""} This conversation uses ${provider}/${name}. ` +
      `Choose another model with ${choose}, or start a new conversation with ${start}.`;
    throw new ProviderError(kind, message, { isRetryable, hint, cause: error });
  }
}

/**
 * Whether the server cannot confirm a model name that the user typed. A local server may accept any name and answer
 * with the model it has. All others reject a wrong name themselves. Throws `unknown_model`.
 */
export async function isNameInDoubt(providers: Providers, model: ModelName): Promise<boolean> {
  if (!isLocalProvider(model.provider)) return false;
  const checked = await checkName(providers, model);
  if (checked.type === "unlisted" && checked.isMistyped) throw checked.error;
  return checked.type !== "listed";
}

const LIST_TIMEOUT_MS = 5000;

/** The result of comparing a typed model name with the provider's list. */
export type CheckedName =
  /** On the list, or a name that the server accepts for any model. */
  | { readonly type: "listed" }
  | { readonly type: "unlisted"; readonly error: ProviderError; readonly isMistyped: boolean }
  /** The provider's list is unavailable. */
  | { readonly type: "unknown"; readonly reason: unknown };

export async function checkName(
  providers: Providers,
  { provider, name }: ModelName,
): Promise<CheckedName> {
  let listed: readonly ModelInfo[];
  try {
    listed = await providers.list(provider, AbortSignal.timeout(LIST_TIMEOUT_MS));
  } catch (reason) {
    return { type: "unknown", reason };
  }
  const names = listed.map((model) => model.name);
  if (names.length === 0)
    return { type: "unknown", reason: new Error(`${provider} lists no models.`) };
  // Ollama adds the tag itself.
  if (names.includes(name) || names.includes(`${name}:latest`)) return { type: "listed" };
  const closest = findClosest(name, names);
  // Servers with a single model are often asked for `default` or similar.
  const takesAny = listed.some(({ isForAnyName }) => isForAnyName === true);
  if (takesAny && closest === undefined) return { type: "listed" };
  const message = `${provider} does not list the model ${name}.`;
  const hint =
    closest === undefined
      ? `Run \`jp model ls ${provider}\` to list the available models.`
      : `Did you mean ${provider}/${closest}?`;
  const error = new ProviderError("unknown_model", message, { isRetryable: false, hint });
  return { type: "unlisted", error, isMistyped: closest !== undefined && isTypo(name, closest) };
}

/** Accepts missing, extra or swapped letters. A different letter or number more likely means another model. */
function isTypo(name: string, meant: string): boolean {
  const typed = lettersOf(name);
  const known = lettersOf(meant);
  if (typed.join("") === known.join("")) return false;
  return typed.length !== known.length || typed.toSorted().join("") === known.toSorted().join("");
}

function lettersOf(name: string): readonly string[] {
  return name.match(/[a-z]/gi) ?? [];
}

interface EndedTurn {
  readonly trusted: TrustedConfig;
  readonly conversation: ConversationWriter;
  /** The server could not say whether it has the model. */
  readonly isNameInDoubt: boolean;
}

/** Keeps a mistyped model out of the conversation. A model whose name is in doubt stays once it has replied. */
export async function forgetWrongModel(
  place: Place,
  { trusted, conversation, isNameInDoubt: isInDoubt }: EndedTurn,
  error?: unknown,
): Promise<void> {
  const isUnknown = error instanceof ProviderError && error.kind === "unknown_model";
  if (!isUnknown && (!isInDoubt || hasReply(conversation))) return;
  const restored = await restoreModel(conversation, trusted, place);
  if (restored !== undefined) place.notice(`This conversation keeps using ${oneLine(restored)}.`);
}

/**
 * Restores the model from before this command, so that a nonexistent one is not remembered. Returns it, or undefined
 * if this command has not chosen the model.
 */
async function restoreModel(
  conversation: ConversationWriter,
  { layers, config }: TrustedConfig,
  place: Place,
): Promise<string | undefined> {
  const lasting = foldLayers(layers.filter(({ isTemporary }) => isTemporary !== true));
  const before = lasting.assistant?.model?.id;
  const aliases = config.providers?.llm?.aliases ?? {};
  if (before === undefined || config.assistant?.model?.id === undefined) return undefined;
  const [old, wrong] = [before, config.assistant.model.id].map((id) => resolveModelId(id, aliases));
  if (isDeepStrictEqual(old, wrong)) return undefined;
  await recordChange(
    conversation,
    mergeConfig(config, { assistant: { model: { id: before } } }),
    place,
  );
  return old && `${old.provider}/${old.name}`;
}

function hasReply({ stream }: ConversationWriter): boolean {
  const replies = new Set(["chat_response", "tool_call_request"]);
  return lastTurnOf(endOf(stream)).some(({ type }) => replies.has(type));
}
