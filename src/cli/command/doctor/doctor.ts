/** `jp doctor`: checks the setup, changes nothing, and suggests fixes. */
import { findWorkspace } from "../../../assemble/index.ts";
import { foldLayers } from "../../../settings/config/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import { checkAnchors } from "./check-anchors.ts";
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
  checkWorkspace,
} from "./check-machine.ts";
import { checkSandbox } from "./check-sandbox.ts";
import { type Finding, printFinding } from "./finding.ts";

export interface DoctorFlags {
  readonly format?: "text" | "json";
  /** In seconds. */
  readonly timeout?: number;
}

const DEFAULT_TIMEOUT_SECONDS = 15;

export async function doctor({ options, context }: Call<DoctorFlags>): Promise<void> {
  const { format = "text", timeout = DEFAULT_TIMEOUT_SECONDS } = options;
  let hasProblem = false;
  for await (const finding of runChecks(context, timeout)) {
    hasProblem ||= finding.state === "problem";
    printFinding(finding, context.output, format);
  }
  if (hasProblem) throw new ExitStatus(1);
}

/** Slow checks last. */
async function* runChecks(context: CommandContext, seconds: number): AsyncGenerator<Finding> {
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
    yield* checkLocks(workspace);
    if (store?.state !== "problem") yield* await checkRecords(workspace);
  }
  yield await checkSandbox(context, workspace);
  yield* findings;
  if (workspace !== undefined) yield* await checkSchema(workspace);
  if (layers !== undefined) yield* checkAnchors(context, layers);
  // The other checks need a valid config.
  if (trusted === undefined) return;
  const { findings: untrusted, config } = trusted;
  yield* untrusted;
  yield* await checkModels(context, config);
  yield* await checkTools(context, config, seconds);
}
