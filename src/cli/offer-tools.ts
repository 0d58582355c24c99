/**
 * When a model calls one of jp's file tools that is off, the user may turn it on. Only the user decides, and is asked
 * only about tools that are off by default.
 */
import {
  applyDirectives,
  type PartialConfig,
  resolveTools,
  type ToolDirective,
  valueAt,
} from "../settings/config/index.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import { wrapProse } from "../surfaces/render/index.ts";
import { shippedConfig } from "../assemble/index.ts";
import type { TerminalPrompter } from "../surfaces/terminal/index.ts";
import { selectQuestion } from "../record/tool/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import { oneLine } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import { editConfigFile } from "./command/config.ts";
import {
  FILE_ACCESS,
  FILE_ACCESS_KEYS,
  FILE_ACCESS_OPTIONS,
  type FileAccess,
  FILES,
} from "./file-access.ts";
import type { Host } from "./host.ts";

/** A tool that a model called, and the settings that keep it off. */
export interface CalledTool {
  readonly name: string;
  readonly config: PartialConfig;
  readonly layers: TrustedConfig["layers"];
  /** From the command line. */
  readonly directives: readonly ToolDirective[];
  readonly signal: AbortSignal;
}

/** A session asks only once. */
const REFUSED = new WeakSet<Host>();

/** The config with the tool turned on, also for later turns. Undefined if it stays off. */
export async function offerTool(
  context: CommandContext,
  called: CalledTool,
  ask: (question: OfferQuestion) => ReturnType<TerminalPrompter["ask"]>,
): Promise<PartialConfig | undefined> {
  const { name, config, signal } = called;
  if (REFUSED.has(context.host) || !isOffByDefault(called)) return undefined;
  const { readOnlyTools } = shippedConfig();
  const isReading = readOnlyTools.includes(name);
  const offered = FILE_ACCESS_OPTIONS.filter(
    ({ access }) => access === "edit" || (isReading && access === "read"),
  );
  // Enter alone picks the first.
  const options = [LEAVE_OFF, ...offered];
  const question = selectQuestion(
    "turn_on",
    `${oneLine(name)} is off here. May models do more with the files here?`,
    {
      context: "jp keeps your choice in your own config for this workspace.",
      options: options.map(({ value, description }) => ({ value, description })),
    },
  );
  const inquiryId = "tools" as InquiryId; // Not recorded, so any ID will do.
  const result = await ask({ inquiryId, question, signal });
  const answer = result.type === "answered" ? result.answer : undefined;
  const { access = "nothing" } = options.find(({ value }) => value === answer) ?? {};
  if (access === "nothing") {
    if (!signal.aborted) REFUSED.add(context.host);
    return undefined;
  }
  await save(access, context);
  const reading = [...resolveTools(config).values()].filter(
    (tool) => tool.group === FILES && readOnlyTools.includes(tool.name),
  );
  const names = access === "edit" ? [FILES] : reading.map((tool) => tool.name);
  return applyDirectives(
    config,
    names.map((each) => ({ name: each, isEnabled: true })),
  );
}

const LEAVE_OFF = { access: "nothing", value: "no", description: "leave it off" } as const;

type OfferQuestion = Extract<Parameters<TerminalPrompter["ask"]>[0], { readonly kind?: undefined }>;

/** A tool that a person has switched off, by a flag or in the config, stays off. */
function isOffByDefault({ name, config, layers, directives }: CalledTool): boolean {
  const tool = resolveTools(config).get(name);
  const isFileTool = tool?.group === FILES && tool.source.type === "builtin";
  if (!isFileTool || tool.isEnabled || tool.allowToggle === "never") return false;
  const isSwitchedOff = directives.some(
    ({ isEnabled, name: named = name }) => !isEnabled && (named === name || named === FILES),
  );
  const state = ["conversation", "tools", name, "enable", "state"];
  const said = layers.findLast(
    ({ isBase, config: each }) => isBase !== true && valueAt(each, state) !== undefined,
  );
  // Allowing models to read does not rule out allowing more.
  const isReading = valueAt(said?.groups, [...FILE_ACCESS_KEYS, "reads_only"]) === true;
  return !isSwitchedOff && (said === undefined || isReading);
}

async function save(access: FileAccess, context: CommandContext): Promise<void> {
  const { output } = context;
  const value = FILE_ACCESS[access];
  const file = await editConfigFile("local", { keys: FILE_ACCESS_KEYS, value }, context);
  const text = `Set ${FILE_ACCESS_KEYS.join(".")} to ${JSON.stringify(value)} in ${file}`;
  for (const row of wrapProse(oneLine(text), output.noticeWidth)) output.notice(row);
}
