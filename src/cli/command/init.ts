/** `jp init`: creates a workspace with a config file. Never overwrites anything. */
import { existsSync, lstatSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Output, TerminalPrompter } from "../../surfaces/terminal/index.ts";
import {
  configJsonSchema,
  findConfigFile,
  foldLayers,
  loadLayers,
  mergeConfig,
  type PartialConfig,
  resolveAssistant,
} from "../../settings/config/index.ts";
import type { InquiryId } from "../../record/conversation/index.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../reach/provider/index.ts";
import { wrapProse } from "../../surfaces/render/index.ts";
import { createWorkspaceFolder, findWorkspaceRoot, openWorkspace } from "../../stores/index.ts";
import { booleanQuestion, type InquiryQuestion, selectQuestion } from "../../record/tool/index.ts";
import { adviceOf, isJpError, JpError, type Json, neutralize } from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus, INTERRUPTED } from "../exit-status.ts";
import { SCHEMA_FILE } from "../load-config.ts";
import { findQuietPrompter } from "../prompter.ts";
import {
  accessIn,
  askAccess,
  describePlace,
  isInRepository,
  replaceAccess,
  TOOL_ACCESS,
  type ToolAccess,
} from "../tool-access.ts";
import {
  configPlaces,
  type DetectedModel,
  detectModels,
  keyVariable,
  shippedConfig,
  workspaceTrust,
} from "../../assemble/index.ts";
import { findClaims } from "../../settings/trust/index.ts";
import type { INIT } from "./options.ts";
import type { FlagsOf } from "../options.ts";

export async function init({ args, options, context }: Call<typeof INIT>): Promise<void> {
  const { output, clock } = context;
  const root = path.resolve(context.host.cwd, args[0] ?? options.workspace ?? ".");
  assertUsable(root, context);
  const existing = findConfigFile(path.join(root, ".jp"), "config") ?? findConfigFile(root, ".jp");
  if (existing !== undefined) {
    output.notice(neutralize(`Keeping the existing config: ${existing}`));
    await createWorkspaceFolder(root, clock);
    printWorkspace(root, context);
    return;
  }
  const folder = path.join(root, ".jp");
  if (existsSync(folder)) say(`${folder} exists already. It has no config yet.`, output);
  const situation = await inspectSituation(context);
  // Ask before creating anything, so that cancelling leaves nothing behind.
  const choices = await choose({ ...situation, root }, options, context);
  const isNew = await createWorkspace(root, context);
  if (isNew) printWorkspace(root, context);
  const file = path.join(folder, "config.toml");
  const found = situation.models.map(({ id }) => id);
  await writeNew(file, configText(choices, found));
  // The schema for editors, referenced by the config. jp itself never reads it.
  const schema = `${JSON.stringify(await configJsonSchema(), null, 2)}\n`;
  const added = [
    path.basename(file),
    ...(await writeIfMissing(path.join(folder, SCHEMA_FILE), schema)),
    ...(choices.commits === true
      ? []
      : await writeIfMissing(path.join(folder, ".gitignore"), IGNORED)),
  ];
  if (!isNew) say(`Added ${added.join(", ")}. Everything else in .jp is unchanged.`, output);
  await trustChoices(root, context);
  if (choices.access !== undefined) await keepAccess(choices.access, root, context);
  say(`Config with examples: ${file}`, output);
  printNextSteps(choices, situation, context);
}

/** Uses only the user's own config: a surrounding workspace must not affect the new one. */
async function inspectSituation(context: CommandContext): Promise<Situation> {
  const { userFolder, cwd, variables } = configPlaces(context);
  const { layers } = await loadLayers({ places: { userFolder, cwd, variables } });
  const config = foldLayers(layers);
  const models: DetectedModel[] = [];
  for await (const model of detectModels(context, config)) models.push(model);
  return { config, models };
}

/** The user has just made these choices, so they are trusted without asking. */
async function trustChoices(root: string, context: CommandContext): Promise<void> {
  const { userFolder, variables } = configPlaces(context);
  const places = { userFolder, workspaceRoot: root, cwd: root, variables };
  const { layers } = await loadLayers({ places, ...shippedConfig() });
  await workspaceTrust(context, { root }).trust(findClaims(layers));
}

/** In the user's own config: what models may do here is not for everyone who clones the workspace. */
async function keepAccess(
  access: ToolAccess,
  root: string,
  context: CommandContext,
): Promise<void> {
  const { environment, clock, host, output } = context;
  const workspace = openWorkspace({ from: root, environment, clock, pid: host.pid });
  await replaceAccess(access, { environment, cwd: root, workspace, output });
}

/** Without a terminal, only flags decide; all other choices stay open. */
async function choose(
  situation: Situation & { readonly root: string },
  options: FlagsOf<typeof INIT>,
  context: CommandContext,
): Promise<Choices> {
  const { allow, commitConversations: commits } = options;
  const access = allow && TOOL_ACCESS[allow];
  const made = {
    ...(access !== undefined && { access }),
    ...(commits !== undefined && { commits }),
  };
  const prompter = findQuietPrompter(context, situation.config, options);
  if (prompter?.canAsk() !== true) return made;
  const askWhatModelsMay = async () => {
    const place = await describePlace(context, situation.root);
    const { signal } = new AbortController();
    const choices = accessIn(place);
    return askAccess((question) => prompter.ask(question), { place, choices, signal });
  };
  const choices = await askChoices(prompter, { ...situation, askWhatModelsMay }, made);
  if (choices !== undefined) return choices;
  context.output.notice("Cancelled. Nothing was created.");
  throw new ExitStatus(INTERRUPTED);
}

/** Throws `workspace_id_damaged`. */
function assertUsable(root: string, { environment, clock, host }: CommandContext): void {
  if (existsSync(path.join(root, ".jp")))
    openWorkspace({ from: root, environment, clock, pid: host.pid });
}

/** False if the folder is already a workspace. */
async function createWorkspace(root: string, { clock }: CommandContext): Promise<boolean> {
  try {
    await createWorkspaceFolder(root, clock);
    return true;
  } catch (error) {
    if (isJpError(error) && error.code === "workspace_exists") return false;
    throw error;
  }
}

function printWorkspace(root: string, { output }: CommandContext): void {
  say(`Created a workspace in ${root}; conversations are stored in .jp`, output);
  const outer = findOuterWorkspace(root);
  if (outer !== undefined) say(`(It is inside another workspace, ${outer})`, output);
}

function say(text: string, output: Output): void {
  for (const row of wrapProse(neutralize(text), output.noticeWidth)) output.notice(row);
}

function findOuterWorkspace(root: string): string | undefined {
  try {
    return findWorkspaceRoot(path.dirname(root));
  } catch {
    return undefined;
  }
}

/** Throws `write_failed`, also if the file exists by now. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new JpError("write_failed", `Cannot write ${file}: ${reason}`, { cause });
  }
}

/** Returns the name of the file if it was written. Throws `write_failed`. */
async function writeIfMissing(file: string, text: string): Promise<readonly string[]> {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return [];
  await writeNew(file, text);
  return [path.basename(file)];
}

const IGNORED = `# Git ignores the conversations. To commit them, delete this file.
/conversations/
`;

function printNextSteps(
  { model }: Choices,
  { models, config }: Situation,
  { output, environment }: CommandContext,
): void {
  const [first] = models;
  const isChosen = model !== undefined || config.assistant?.model?.id !== undefined;
  if (!isChosen && first !== undefined) {
    say(`No model chosen yet. Available: ${models.map(({ id }) => id).join(", ")}`, output);
  }
  if (!isChosen && first === undefined) {
    say(
      "No model chosen yet, and none was found. Start Ollama or a llama.cpp server, or set a provider's API key.",
      output,
    );
  }
  const [provider = ""] = model?.split("/") ?? [];
  const isFound = models.some(({ id }) => id === model); // A model that was found does not need an optional key.
  const variable = isProvider(provider) && !isFound ? keyVariable(provider, config) : undefined;
  if (variable !== undefined && (environment.variables[variable] ?? "") === "") {
    say(`No API key for ${provider} yet: set ${variable}.`, output);
  }
  say(
    'Next: jp to start a session, jp query "…" to ask one thing, jp doctor to check your setup.',
    output,
  );
}

const LATER = "decide later";

/** The existing setup that the questions depend on. */
interface Situation {
  readonly models: readonly DetectedModel[];
  /** The user's own config, for all workspaces. */
  readonly config: PartialConfig;
}

interface AskedSituation extends Situation {
  readonly root: string;
  /** Undefined if the user cancels. */
  readonly askWhatModelsMay: () => Promise<ToolAccess | undefined>;
}

/** Undefined if the user cancels. */
async function askChoices(
  prompter: TerminalPrompter,
  situation: AskedSituation,
  made: Choices,
): Promise<Choices | undefined> {
  const model = await askModel(prompter, situation);
  if (model === undefined) return undefined;
  const access = made.access ?? (await situation.askWhatModelsMay());
  if (access === undefined) return undefined;
  const question = booleanQuestion("ask", "Ask before your own tools run?", {
    context:
      "This is about tools that you add: commands and MCP servers. With yes, jp asks before it runs one; with no, it " +
      "runs at once.",
    default: true,
    persistence: "none",
  });
  const asks = await ask(prompter, question);
  if (asks === undefined) return undefined;
  const commits = made.commits ?? (await askWhetherToCommit(prompter, situation.root));
  if (commits === undefined) return undefined;
  const run = asks === true ? "ask" : "unattended";
  return { ...(model !== LATER && { model }), access, run, commits };
}

/** Asks nothing outside a repository. */
async function askWhetherToCommit(
  prompter: TerminalPrompter,
  root: string,
): Promise<boolean | undefined> {
  if (!isInRepository(root)) return false;
  const question = booleanQuestion("commit", "Commit conversations to Git?", {
    context:
      "A conversation may contain whatever models have read. With no, Git ignores them (.jp/.gitignore).",
    default: false,
    persistence: "none",
  });
  const answer = await ask(prompter, question);
  return typeof answer === "boolean" ? answer : undefined;
}

async function askModel(
  prompter: TerminalPrompter,
  { models, config }: Situation,
): Promise<string | undefined> {
  const own = config.assistant?.model?.id;
  const later =
    own === undefined ? "jp query uses the first one it finds" : "your own config applies";
  let context = models.length === 0 ? NO_MODELS : undefined;
  for (;;) {
    const question = selectQuestion("model", "Which model should answer? (Other: provider/name)", {
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

const NO_MODELS =
  "No local server is running (Ollama, llama.cpp), and no provider's API key is set.";

async function ask(
  prompter: TerminalPrompter,
  question: InquiryQuestion,
): Promise<Json | undefined> {
  const { signal } = new AbortController();
  // Not recorded, so any ID will do.
  const result = await prompter.ask({ inquiryId: "init" as InquiryId, question, signal });
  return result.type === "answered" ? result.answer : undefined;
}

/** Undefined for a valid model: `provider/name`, or an alias from the user's own config. */
function explainMistake(model: string, config: PartialConfig): string | undefined {
  const [provider = "", ...name] = model.split("/");
  try {
    const id = name.length === 0 ? { alias: model } : { provider, name: name.join("/") };
    const resolved = resolveAssistant(mergeConfig(config, { assistant: { model: { id } } }));
    if (resolved.model.name !== "" && isProvider(resolved.model.provider)) return undefined;
    return `"${model}" is not a model. Write provider/name. Providers: ${PROVIDER_NAMES.join(", ")}.`;
  } catch (error) {
    if (isJpError(error)) return `${error.message} ${adviceOf(error) ?? ""}`;
    throw error;
  }
}

function isProvider(name: string): name is ProviderName {
  return PROVIDER_NAMES.some((known) => known === name);
}

interface Choices {
  readonly model?: string;
  /** Absent in a non-interactive run. */
  readonly run?: "ask" | "unattended";
  readonly access?: ToolAccess;
  /** Commit conversations to Git. */
  readonly commits?: boolean;
}

/** `found` lists available models. No argument may contain control characters. */
function configText({ model, run }: Choices, found: readonly string[]): string {
  const [suggested = "ollama/qwen3", ...others] = found;
  const isOpen = model === undefined;
  return `#:schema ./${SCHEMA_FILE}
# The config of this jp workspace. \`jp config schema\` describes every key, and
# \`jp config show --explain\` shows every value and where it comes from.
# To use a setting that is commented out, delete the # in front of it.

# The model that answers, as provider/name. Providers:
# ${PROVIDER_NAMES.join(", ")}.
# API keys come from the environment, never from this file.
[assistant.model]
${isOpen ? "#" : ""}id = ${JSON.stringify(model ?? suggested)}
${isOpen && others.length > 0 ? `# Also found: ${others.join(", ")}\n` : ""}
# The default for tools. Before a tool runs: "ask", "unattended" (run at once), "edit" (change its
# arguments first) or "skip". jp's file tools ask in their own way: see below.
[conversation.tools.'*']
${run === "unattended" ? "" : "#"}run = "${run ?? "ask"}"
# In a non-interactive run, such as a script, a tool that jp would ask about does not run ("deny").
# Questions of tools go to a model ("auto"), take their defaults, or are refused ("deny"). Questions
# that only you may answer, such as those about file changes, are always refused.
#detached = { run = "deny", tool = "defaults" }

# jp's tools for files and commands, for everyone who works here and trusts this config. What you chose
# for yourself is in your own config, which wins: jp config path lists the files. fs: "read" for the tools
# that read, without asking; true also for those that change files, which show you each change and ask.
[conversation.tools]
#fs.enable = "read"
# shell_run, which runs commands in this folder, in a sandbox if there is one. jp asks before each.
#shell.enable = true

# A tool of your own is a command. To ask, it prints a question and exits; jp runs it again with the
# answer, which is null until then. Try it: jp tool run clean
#[conversation.tools.clean]
#source = "local"
#summary = "Delete the build folder."
#questions.sure.target = "user" # or "assistant", to let a model answer
#[conversation.tools.clean.command]
#shell = true
#program = '''
#case {{tool.answers.sure}} in
#true) rm -rf build && echo "Deleted the build folder." ;;
#false) echo "Nothing was deleted." ;;
#*) echo '{"type":"needs_input","question":{"id":"sure","text":"Delete the build folder?","answer_type":{"type":"boolean"}}}' ;;
#esac'''

# An MCP server, started when one of its tools is enabled. It sees only the variables listed here.
#[providers.mcp.everything]
#command = "npx"
#arguments = ["-y", "@modelcontextprotocol/server-everything"]
#variables = ["MY_TOKEN"]
#[conversation.tools.echo]
#source = "mcp.everything"
#enable = true
`;
}
