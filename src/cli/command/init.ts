/** `jp init`: a folder becomes a workspace with a config. Nothing that is there is ever overwritten. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Prompter } from "../../agent/index.ts";
import {
  findClaims,
  findConfigFile,
  foldLayers,
  loadLayers,
  mergeConfig,
  type PartialConfig,
  resolveAssistant,
} from "../../config/index.ts";
import type { InquiryId } from "../../conversation/index.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../provider/index.ts";
import { neutralize } from "../../render/index.ts";
import { createWorkspaceFolder, findWorkspaceRoot, openWorkspace } from "../../storage/index.ts";
import { booleanQuestion, type InquiryQuestion, selectQuestion } from "../../tool/index.ts";
import { CodedError, isCodedError, type Json } from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import type { Call } from "../define.ts";
import { type DetectedModel, detectModels, keyVariable } from "../detect-models.ts";
import { ExitStatus, INTERRUPTED } from "../exit-status.ts";
import { configPlaces } from "../load-config.ts";
import { findPresentPerson, type InteractionFlags } from "../prompter.ts";
import { shippedLayer } from "../shipped-tools.ts";
import { trustClaims } from "../trust.ts";

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
  const { host, environment, clock } = context;
  const { userFolder, variables } = configPlaces(context);
  const places = { userFolder, workspaceRoot: root, cwd: root, variables };
  const { layers } = await loadLayers({ places, ...shippedLayer() });
  const workspace = openWorkspace({ from: root, environment, clock, pid: host.pid });
  await trustClaims(workspace, findClaims(layers));
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

const LATER = "decide later";

/** What they are asked about. */
interface Circumstances {
  readonly models: readonly DetectedModel[];
  /** What the user's own config says, for all workspaces. */
  readonly config: PartialConfig;
}

/** Undefined if the person does not want to answer. */
async function askChoices(
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

function isProvider(name: string): name is ProviderName {
  return PROVIDER_NAMES.some((known) => known === name);
}

interface Choices {
  readonly model?: string;
  /** Absent if nobody was asked. */
  readonly run?: "ask" | "unattended";
}

/** `found` are models that could be chosen. None of the texts may hold a control character. */
function configText({ model, run }: Choices, found: readonly string[]): string {
  const [suggested = "ollama/qwen3", ...others] = found;
  const isOpen = model === undefined;
  return `# The config of this jp workspace. \`jp config schema\` has every key there is, and
# \`jp config show --explain\` what is in force, and why.
# Where a # has no space behind it, take it away, and what follows holds.

# The model that answers: provider/name. The providers are
# ${PROVIDER_NAMES.join(", ")};
# keys come from the environment, never from here.
[assistant.model]
${isOpen ? "#" : ""}id = ${JSON.stringify(model ?? suggested)}
${isOpen && others.length > 0 ? `# Also found: ${others.join(", ")}\n` : ""}
# For tools without a setting of their own. Before one runs: ask, unattended (it runs at once), edit
# (its arguments) or skip. jp's file tools have their own: they read files in this workspace without
# asking. Before they change one, they show you the change and ask.
[conversation.tools.'*']
${run === undefined ? "#" : ""}run = "${run ?? "ask"}"
# In a non-interactive run, a script for example: a tool that jp would ask about does not run (deny).
# Questions of tools go to a model (auto), take their defaults, or are refused (deny). Those that only
# you may answer, such as those about changes to files, are always refused.
#detached = { run = "deny", tool = "defaults" }

# The file tools that come with jp. For one query: jp query -t fs
#[conversation.tools]
#fs_read_file.enable = true
#fs_list_files.enable = true
#fs_grep_files.enable = true
#fs_create_file.enable = true
#fs_modify_file.enable = true
#fs_delete_file.enable = true

# A tool of your own is a command. It asks by printing a question, and is started again with the
# answer, which is null before. Try it: jp tool run clean
#[conversation.tools.clean]
#source = "local"
#summary = "Deletes the folder build."
#questions.sure.target = "user" # or "assistant": then a model answers
#[conversation.tools.clean.command]
#shell = true
#program = '''
#case {{tool.answers.sure}} in
#true) rm -rf build && echo "The folder build is gone." ;;
#false) echo "Nothing was deleted." ;;
#*) echo '{"type":"needs_input","question":{"id":"sure","text":"Delete the folder build?","answer_type":{"type":"boolean"}}}' ;;
#esac'''

# An MCP server, started when one of its tools is on. It sees only the variables that are named.
#[providers.mcp.everything]
#command = "npx"
#arguments = ["-y", "@modelcontextprotocol/server-everything"]
#variables = ["MY_TOKEN"]
#[conversation.tools.echo]
#source = "mcp.everything"
#enable = true
`;
}
