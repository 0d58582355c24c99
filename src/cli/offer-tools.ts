/**
 * When a model calls one of jp's tools that is off, the user may turn it on. Only the user decides, and is asked only
 * about tools that are off by default.
 */
import {
  type PartialConfig,
  resolveTools,
  type ToolDirective,
  type ToolSettings,
  valueAt,
} from "../settings/config/index.ts";
import type { OwnQuestion, TerminalPrompter } from "../surfaces/terminal/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import { oneLine } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import type { Host } from "./host.ts";
import {
  accessIn,
  askAccess,
  describePlace,
  saveAccess,
  turnsOn,
  withAccess,
} from "./tool-access.ts";

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

const LEAVE_OFF = { label: "no", description: "leave it off" };

/** The config with the tool turned on, also for later turns. Undefined if it stays off. */
export async function offerTool(
  context: CommandContext,
  { name, config, signal, ...called }: CalledTool,
  ask: (question: OwnQuestion) => ReturnType<TerminalPrompter["ask"]>,
): Promise<PartialConfig | undefined> {
  const tool = resolveTools(config).get(name);
  if (tool === undefined || REFUSED.has(context.host) || !isOffByDefault(tool, called))
    return undefined;
  const place = await describePlace(context, context.workspace.root);
  const choices = accessIn(place).filter((access) => turnsOn(access, tool));
  if (choices.length === 0) return undefined;
  const lead = `${oneLine(name)} is off here.`;
  const access = await askAccess(ask, { place, choices, lead, otherwise: LEAVE_OFF, signal });
  if (access === undefined) {
    if (!signal.aborted) REFUSED.add(context.host);
    return undefined;
  }
  await saveAccess(access, context);
  return withAccess(config, access);
}

/** A tool that a person has switched off, by a flag or in the config, stays off. */
function isOffByDefault(
  { name, group, isEnabled, allowToggle, source }: ToolSettings,
  { layers, directives }: Pick<CalledTool, "layers" | "directives">,
): boolean {
  if (group === undefined || source.type !== "builtin" || isEnabled || allowToggle === "never")
    return false;
  const isSwitchedOff = directives.some(
    (each) => !each.isEnabled && [undefined, name, group].includes(each.name),
  );
  const tools = ["conversation", "tools"];
  const said = layers.findLast(
    ({ isBase, config }) =>
      isBase !== true && valueAt(config, [...tools, name, "enable", "state"]) !== undefined,
  );
  // Allowing models to read does not rule out allowing more.
  const isReading = valueAt(said?.groups, [...tools, group, "enable", "reads_only"]) === true;
  return !isSwitchedOff && (said === undefined || isReading);
}
