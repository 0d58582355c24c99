/** Preloads the parts of jp that are needed after waiting for the model, a person or a tool. */
import { loadCalls, loadForms, type Observer } from "../core/agent/index.ts";
import {
  type AssistantSettings,
  mergeConfig,
  type PartialConfig,
  resolveAssistant,
  resolveCompaction,
  resolveInquiryAssistant,
  resolveTools,
} from "../settings/config/index.ts";
import {
  hasTemplate,
  loadShellRun,
  preloadDiff,
  preloadTemplates,
  preloadValidator,
  preloadWeb,
} from "../reach/executor/index.ts";
import { preloadPolicy } from "../core/policy/index.ts";
import type { Providers } from "../reach/provider/index.ts";
import { assertCanLock, preloadSecrets } from "../stores/index.ts";
import { loadUndo } from "./changes.ts";
import { loadInquiries } from "./inquiry-models.ts";
import { createShippedTools } from "./shipped-tools.ts";
import { loaderOf, loadImports } from "../util/index.ts";

/**
 * Call it once a request has been sent, so that it does not slow down the start. An upgrade may replace jp's files
 * while a turn waits; parts loaded by then keep working. Never throws: a missing part is reported where it is needed.
 */
export async function loadTurnParts(config: PartialConfig, providers: Providers): Promise<void> {
  const written = JSON.stringify(config.conversation?.tools ?? {});
  const isTemplated = hasTemplate(written);
  const runsCommands = hasTool(config, "shell_run");
  await Promise.allSettled([
    ...modelsOf(config).map(({ provider, name }) => providers.warmUp(provider, name)),
    loadCalls(),
    loadForms(),
    loadInquiries(),
    preloadValidator(),
    preloadDiff(),
    ...(hasFileTools(config) ? [loadUndo()] : []),
    loadRecordingParts(),
    ...(isTemplated ? [preloadTemplates()] : []),
    ...(hasTool(config, "web_fetch") ? [preloadWeb()] : []),
    ...(runsCommands ? [loadShellRun()] : []),
    preloadPolicy({ runsCommands, hasPatterns: /"(?:pattern|glob)":/.test(written) }),
  ]);
}

/** Runs the action once something is recorded and the next tool or request has started. */
export function onceBegun(action: () => Promise<unknown>): Observer {
  let hasBegun = false;
  return {
    observe: ({ type }) => {
      if (type !== "event" || hasBegun) return;
      hasBegun = true;
      setImmediate(() => setImmediate(action));
    },
  };
}

function hasTool(config: PartialConfig, wanted: string): boolean {
  return [...resolveTools(config).values()].some(
    ({ name, source, isEnabled }) =>
      isEnabled && source.type === "builtin" && (source.tool ?? name) === wanted,
  );
}

/** Whether tools that change files are enabled; the old contents are kept first. */
function hasFileTools(config: PartialConfig): boolean {
  const changing = createShippedTools({ root: "", describe: async () => undefined })
    .filter(({ effect }) => effect !== undefined)
    .map(({ tool }) => tool.name);
  const tools = resolveTools(config);
  return changing.some((name) => tools.get(name)?.isEnabled === true);
}

/** For recording an answer after a wait. Never throws. */
export async function loadRecordingParts(): Promise<void> {
  loadImports();
  await Promise.allSettled([loadLocks(), preloadSecrets()]);
}

async function loadLocks(): Promise<void> {
  assertCanLock();
}

type ModelSettings = AssistantSettings["model"];

/** One model of each provider that a turn may use: for replies, answers to questions, and summaries. */
function modelsOf(config: PartialConfig): readonly ModelSettings[] {
  const questions = [...resolveTools(config).values()].flatMap((tool) => [
    ...tool.questions.values(),
  ]);
  const targets = questions.flatMap(({ target }) => {
    if (target.type === "assistant") return [target];
    const { lastly } = target;
    return lastly === undefined ? [] : [{ type: "assistant" as const, assistant: lastly }];
  });
  const { isAutomatic, rule } = resolveCompaction(config);
  const summarizer = isAutomatic ? rule.summary?.model : undefined;
  const models = [
    () => resolveAssistant(config),
    ...targets.map((target) => () => resolveInquiryAssistant(config, target)),
    ...(summarizer === undefined
      ? []
      : [() => resolveAssistant(mergeConfig(config, { assistant: { model: summarizer } }))]),
  ].flatMap(findModel);
  return [...new Map(models.map((model) => [model.provider, model])).values()];
}

/** Empty for settings that do not resolve, which is reported where the model is used. */
function findModel(resolve: () => AssistantSettings): readonly ModelSettings[] {
  try {
    return [resolve().model];
  } catch {
    return [];
  }
}

/** For `/context`. Throws `module_not_loaded`. */
export const loadNextRequest = loaderOf(() => import("./next-request.ts"));
