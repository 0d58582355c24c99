/** `jp doctor`: checks the setup, changes nothing, and suggests fixes. */
import { findWorkspace } from "../../../assemble/index.ts";
import { anchorState } from "../../../proof/index.ts";
import {
  type AnchorSettings,
  foldLayers,
  type Layer,
  type PartialConfig,
  resolveAnchor,
} from "../../../settings/config/index.ts";
import { loadModule } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import { checkConfig, checkModels, checkSchema, checkTools, checkTrust } from "./check-config.ts";
import {
  checkEditor,
  checkLocking,
  checkLocks,
  checkNode,
  checkRecords,
  checkTerminal,
  checkUserData,
  checkStore,
  checkTurnKeys,
  checkWorkspace,
} from "./check-machine.ts";
import { checkLogins } from "./check-logins.ts";
import { checkEnvironment, checkSandbox } from "./check-sandbox.ts";
import { type Finding, findingFromError, printFinding } from "./finding.ts";
import type { DOCTOR } from "../options.ts";

const MAX_ANCHOR_AGE_MS = 2 * 24 * 60 * 60 * 1000;

export async function doctor({ options, context }: Call<typeof DOCTOR>): Promise<void> {
  const { format, timeout } = options;
  let hasProblem = false;
  for await (const finding of runChecks(context, timeout)) {
    hasProblem ||= finding.state === "problem";
    printFinding(finding, context.output, format);
  }
  if (hasProblem) throw new ExitStatus(1);
}

/** Why no command can use the workspace. Undefined if there is none. */
function explainUnusable(context: CommandContext): Finding | undefined {
  try {
    findWorkspace(context);
    return undefined;
  } catch (error) {
    return findingFromError("workspace", error);
  }
}

/** Slow checks last. */
async function* runChecks(context: CommandContext, seconds: number): AsyncGenerator<Finding> {
  const unusable = explainUnusable(context);
  if (unusable !== undefined) {
    yield* [checkNode(), checkUserData(context), unusable];
    return; // All other checks read the workspace, or its config.
  }
  const { findings, layers } = await checkConfig(context);
  const trusted = layers && (await checkTrust(context, layers));
  yield checkNode();
  yield checkTerminal(context, foldLayers(layers ?? []));
  yield checkEditor(context, trusted?.config ?? {});
  yield checkUserData(context);
  yield checkWorkspace(context);
  yield* await checkLocking();
  const workspace = findWorkspace(context);
  if (workspace !== undefined) {
    const store = context.database && (await checkStore(context.database, workspace));
    if (store !== undefined) yield store;
    if (context.database !== undefined && layers !== undefined) {
      yield checkTurnKeys(context.database, ownConfig(layers));
    }
    if (store?.state === "ok") {
      const { checkTurns } = await loadModule(() => import("./check-turns.ts"));
      yield* await checkTurns(context);
    }
    yield* checkLocks(workspace);
    if (store?.state !== "problem") yield* await checkRecords(workspace);
  }
  const sandbox = await checkSandbox(context, workspace);
  yield sandbox;
  if (layers !== undefined) {
    yield checkEnvironment(context, layers, { isSandboxed: sandbox.state === "ok" });
  }
  yield* findings;
  if (workspace !== undefined) yield* await checkSchema(workspace);
  if (layers !== undefined) yield* checkAnchors(context, layers);
  // The other checks need a valid config.
  if (trusted === undefined) return;
  const { findings: untrusted, config } = trusted;
  yield* untrusted;
  yield* await checkModels(context, config);
  yield* await checkLogins(context, config);
  yield* await checkTools(context, config, seconds);
}

/** The config without the workspace's part. */
function ownConfig(layers: readonly Layer[]): PartialConfig {
  return foldLayers(layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true));
}

/** Whether decisions are anchored as often as the user's own config says. Reports nothing if it does not. */
function checkAnchors(
  { environment, clock }: CommandContext,
  layers: readonly Layer[],
): readonly Finding[] {
  let settings: AnchorSettings | undefined;
  try {
    settings = resolveAnchor(ownConfig(layers));
  } catch (error) {
    return [findingFromError("anchors", error)];
  }
  if (settings === undefined) return [];
  const { lastAt, failedAt, hasNew } = anchorState(environment);
  const last =
    lastAt === undefined
      ? "Nothing is anchored yet"
      : `Last anchored ${new Date(lastAt).toISOString()}`;
  if (failedAt !== undefined) {
    const message = `The last attempt failed, ${new Date(failedAt).toISOString()}. ${last}.`;
    const hint = "To try again, and see why: jp evidence anchor";
    return [{ check: "anchors", state: "warning", message, hint }];
  }
  const isOld = lastAt === undefined || clock.now().getTime() - lastAt > MAX_ANCHOR_AGE_MS;
  if (settings.isDaily && hasNew && isOld) {
    const hint = "jp anchors after a turn. To do it now: jp evidence anchor";
    return [{ check: "anchors", state: "warning", message: `${last}.`, hint }];
  }
  return [{ check: "anchors", state: "ok", message: last }];
}
