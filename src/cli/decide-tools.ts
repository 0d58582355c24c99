/** Asks once what models may do in a folder where nothing was decided, before the first message there is sent. */
import path from "node:path";
import type { Layer, PartialConfig, ToolDirective } from "../settings/config/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import { realPath } from "../reach/shell/index.ts";
import type { UserEnvironment } from "../stores/index.ts";
import { isJpError, type JsonObject } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import { ExitStatus, INTERRUPTED } from "./exit-status.ts";
import type { Host } from "./host.ts";
import { findQuietPrompter } from "./prompter.ts";
import { accessIn, askAccess, describePlace, saveAccess, withAccess } from "./tool-access.ts";

/** The flags of a message that say whether a person is there to choose, and wants to be asked. */
export interface MessageFlags {
  readonly nonInteractive?: boolean | undefined;
  readonly format?: "text" | "json" | undefined;
  readonly schema?: JsonObject | undefined;
  readonly persist?: boolean | undefined;
  /** A worker sends it, perhaps from another machine. */
  readonly isForWorker?: boolean | undefined;
  /** From `-t`, `-T` and `/tools`. */
  readonly directives?: readonly ToolDirective[] | undefined;
}

export interface FirstMessage {
  /** Standard input and output are both terminals, and jp is in their foreground. */
  readonly isInteractive: boolean;
  readonly flags: MessageFlags;
  readonly layers: readonly Layer[];
  readonly environment: UserEnvironment;
  /** The folder that the tools would work in. */
  readonly root: string;
}

/**
 * - `no_person`: no one is there to choose, or the output is for a program.
 * - `not_kept`: the choice would not reach the turn, or nothing of it is saved.
 * - `decided`: a flag or the config says something about tools.
 * - `wide_folder`: the folder has the user's home.
 */
export type WhyNotAsked = "no_person" | "not_kept" | "decided" | "wide_folder";

/** Undefined if jp asks. */
export function whyNotAsked({
  isInteractive,
  flags,
  layers,
  environment: { variables, home },
  root,
}: FirstMessage): WhyNotAsked | undefined {
  const { nonInteractive = false, format, schema, persist = true, isForWorker = false } = flags;
  const isInCi = (variables["CI"] ?? "") !== "";
  if (!isInteractive || nonInteractive || isInCi) return "no_person";
  if (format === "json" || schema !== undefined) return "no_person";
  if (!persist || isForWorker) return "not_kept";
  if ((flags.directives ?? []).length > 0 || layers.some(decidesTools)) return "decided";
  return hasHome(root, home) ? "wide_folder" : undefined;
}

/** Even if the user has not trusted it. Every conversation records the default of all tools. */
function decidesTools({ name: layer, isBase, config }: Layer): boolean {
  if (isBase === true) return false;
  const { tools = {}, mode } = config.conversation ?? {};
  const isNamed = (name: string) => layer !== "conversation" || name !== "*";
  return (
    mode !== undefined ||
    config.assistant?.tool_choice !== undefined ||
    Object.entries(tools).some(([name, tool = {}]) => isNamed(name) && Object.keys(tool).length > 0)
  );
}

function hasHome(root: string, home: string): boolean {
  const way = path.relative(realPath(root), realPath(home));
  return way !== ".." && !way.startsWith(`..${path.sep}`);
}

/** A session asks only once. */
const LEFT_OPEN = new WeakSet<Host>();

interface FirstDecision {
  readonly trusted: Pick<TrustedConfig, "config" | "layers">;
  readonly flags: MessageFlags;
  /** Ctrl-C returns to the prompt, instead of ending the command. */
  readonly isSession: boolean;
  readonly signal: AbortSignal;
}

/**
 * The config with the user's choice, undefined to leave it as it is, or `quit` to send nothing. Throws `ExitStatus` if
 * Ctrl-C ends the command.
 */
export async function decideTools(
  context: CommandContext,
  { trusted, flags, isSession, signal }: FirstDecision,
): Promise<PartialConfig | "quit" | undefined> {
  const { host, environment, workspace, output } = context;
  const { config, layers } = trusted;
  const { root } = workspace;
  const isInteractive = host.isInteractive() && host.terminal.isForeground();
  if (LEFT_OPEN.has(host)) return undefined;
  if (whyNotAsked({ isInteractive, flags, layers, environment, root }) !== undefined)
    return undefined;
  const person = findQuietPrompter(context, config, flags);
  if (person?.canAsk() !== true) return undefined;
  const place = await describePlace(context, root);
  let isInterrupted = false;
  const access = await askAccess((question) => person.ask(question), {
    place,
    choices: accessIn(place),
    signal,
    onInterrupt: () => {
      isInterrupted = true;
    },
  });
  if (isInterrupted || signal.aborted) {
    if (!isSession) throw new ExitStatus(INTERRUPTED);
    output.notice("Nothing was sent.");
    return "quit";
  }
  if (access === undefined) {
    LEFT_OPEN.add(host);
    return undefined;
  }
  try {
    await saveAccess(access, context);
  } catch (error) {
    if (!isJpError(error)) throw error;
    context.warn(`Your choice counts for this conversation only. ${error.message}`);
  }
  return withAccess(config, access);
}
