/** `jp init`: a folder becomes a workspace with a config. Nothing that is there is ever overwritten. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { findConfigFile, foldLayers, loadLayers } from "../../../config/index.ts";
import { neutralize } from "../../../render/index.ts";
import { createWorkspaceFolder, findWorkspaceRoot } from "../../../storage/index.ts";
import { findClaims } from "../../../trust/index.ts";
import { CodedError, isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, INTERRUPTED } from "../../exit-status.ts";
import { configPlaces } from "../../load-config.ts";
import { findPresentPerson, type InteractionFlags } from "../../prompter.ts";
import { shippedLayer } from "../../../runtime/index.ts";
import { workspaceTrust } from "../../trust.ts";
import { askChoices, type Circumstances, isProvider } from "./ask-choices.ts";
import { type Choices, configText } from "./config-text.ts";
import { type DetectedModel, detectModels, keyVariable } from "../../detect-models.ts";

export interface InitFlags extends InteractionFlags {
  readonly workspace?: string;
}

export async function init({ words, options, context }: Call<InitFlags>): Promise<void> {
  const { output, clock } = context;
  const root = path.resolve(context.host.cwd, words[0] ?? options.workspace ?? ".");
  const existing = findConfigFile(path.join(root, ".jp"), "config") ?? findConfigFile(root, ".jp");
  if (existing !== undefined) {
    output.notice(neutralize(`There is a config already, which stays as it is: ${existing}`));
    await createWorkspaceFolder(root, clock);
    tellWorkspace(root, context);
    return;
  }
  const circumstances = await look(context);
  // Asked before anything is made: whoever changes their mind leaves nothing behind.
  const choices = await choose(circumstances, options, context);
  if (await makeWorkspace(root, context)) tellWorkspace(root, context);
  const file = path.join(root, ".jp", "config.toml");
  const found = circumstances.models.map(({ id }) => id);
  await writeNew(file, configText(choices, found));
  await trustChoices(root, context);
  output.notice(neutralize(`Its config, with examples, is ${file}`));
  tellNext(choices, circumstances, context);
}

/** The user's own config, without that of a workspace around: this one is to stand on its own. */
async function look(context: CommandContext): Promise<Circumstances> {
  const { userFolder, cwd, variables } = configPlaces(context);
  const { layers } = await loadLayers({ places: { userFolder, cwd, variables } });
  const config = foldLayers(layers);
  const models: DetectedModel[] = [];
  for await (const model of detectModels(context, config)) models.push(model);
  return { config, models };
}

/** Whoever has just chosen it need not be asked whether to trust it. */
async function trustChoices(root: string, context: CommandContext): Promise<void> {
  const { userFolder, variables } = configPlaces(context);
  const places = { userFolder, workspaceRoot: root, cwd: root, variables };
  const { layers } = await loadLayers({ places, ...shippedLayer() });
  await workspaceTrust(context, { root }).trust(findClaims(layers));
}

/** Nothing is chosen where nobody can be asked. */
async function choose(
  circumstances: Circumstances,
  options: InitFlags,
  context: CommandContext,
): Promise<Choices> {
  const prompter = findPresentPerson(context, circumstances.config, options);
  if (prompter?.canAsk() !== true) return {};
  const choices = await askChoices(prompter, circumstances);
  if (choices !== undefined) return choices;
  context.output.notice("Cancelled. Nothing was made.");
  throw new ExitStatus(INTERRUPTED);
}

/** False if it was one already. */
async function makeWorkspace(root: string, { clock }: CommandContext): Promise<boolean> {
  try {
    await createWorkspaceFolder(root, clock);
    return true;
  } catch (error) {
    if (isCodedError(error) && error.code === "workspace_exists") return false;
    throw error;
  }
}

function tellWorkspace(root: string, { output }: CommandContext): void {
  output.notice(neutralize(`${root} is a jp workspace now: its conversations are kept in .jp`));
  const outer = findOuterWorkspace(root);
  if (outer !== undefined) output.notice(neutralize(`(It lies inside another one, ${outer}.)`));
}

function findOuterWorkspace(root: string): string | undefined {
  try {
    return findWorkspaceRoot(path.dirname(root));
  } catch {
    return undefined;
  }
}

/** Throws `write_failed`, also if somebody has made it meanwhile. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("write_failed", `Cannot write ${file}: ${reason}`, { cause });
  }
}

function tellNext(
  { model }: Choices,
  { models, config }: Circumstances,
  { output, environment }: CommandContext,
): void {
  const [first] = models;
  const isChosen = model !== undefined || config.assistant?.model?.id !== undefined;
  if (!isChosen && first !== undefined) {
    output.notice(`No model is chosen yet; found here: ${models.map(({ id }) => id).join(", ")}`);
  }
  if (!isChosen && first === undefined) {
    output.notice(
      "No model is chosen yet, and none was found: start Ollama or a llama.cpp server, or set a provider's key.",
    );
  }
  const [provider = ""] = model?.split("/") ?? [];
  const variable = isProvider(provider) ? keyVariable(provider, config) : undefined;
  if (variable !== undefined && (environment.variables[variable] ?? "") === "") {
    output.notice(`There is no key for ${provider} yet: put it into ${variable}.`);
  }
  output.notice('Next: jp query "…" asks something; jp doctor says what is missing.');
}
