/** The session commands: `/help` and the others. */
import {
  applyDirectives,
  foldLayers,
  type Mode,
  MODE_NAMES,
  resolveAssistant,
} from "../../../settings/config/index.ts";
import type { InquiryId } from "../../../record/conversation/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import { isLocalProvider } from "../../../reach/provider/index.ts";
import {
  checkName,
  machineOf,
  nameAttachments,
  openProviders,
  workspaceTrust,
  toCfg,
} from "../../../assemble/index.ts";
import type { Candidate } from "../../../surfaces/terminal/index.ts";
import { booleanQuestion } from "../../../record/tool/index.ts";
import { trustQuestion } from "../../../settings/trust/index.ts";
import { adviceOf, findClosest, loadModule, messageOf, oneLine } from "../../../util/index.ts";
import { resolveTarget } from "../../conversations.ts";
import { type CustomCommand, expandCommand, takesArguments } from "../../custom-commands.ts";
import { ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import { effectiveConfig, loadConfig } from "../../load-config.ts";
import { askTrust, trustedConfig } from "../../trust.ts";
import { listAttached, notAttached, removeAttachments } from "../attachment.ts";
import { compact, type CompactFlags } from "../conversation/compact.ts";
import { editMetadata } from "../conversation/edit.ts";
import { listTools } from "../tool/list.ts";
import { showConversationUsage } from "../usage.ts";
import type { CompletedCommand } from "./completion.ts";
import type { OpenSession } from "./open-session.ts";
import { nameCommand } from "./own-command.ts";
import { pickConversation, restore, titleOf } from "./picker.ts";
import { MODES } from "./session-mode.ts";

/** The user leaves the session. */
export const LEFT = Symbol("left");

/** The session command that undoes a compaction. */
export const UNDO_COMPACTION = "/compact undo";

/** To add a command, add it to `COMMANDS`: help and completion follow. */
export interface SessionCommand {
  /** Without the slash. */
  readonly name: string;
  /** The arguments after the name: `[name]`. */
  readonly usage?: string;
  readonly help: string;
  /** Candidates for its argument, as far as they are known without waiting. */
  readonly values?: (session: OpenSession) => readonly Candidate[];
  /** Takes a file name. */
  readonly takesFile?: boolean;
  /** Rarely used without an argument. */
  readonly needsArgument?: boolean;
  /** Errors are reported, and the session continues. Returns `LEFT` to end the session, or a message to send. */
  readonly run: (
    argument: string,
    session: OpenSession,
  ) => Promise<typeof LEFT | MessageToSend | void>;
}

/** Sent as if the user had typed it. */
export interface MessageToSend {
  readonly message: string;
}

export const COMMANDS: readonly SessionCommand[] = [
  { name: "help", help: "List the commands and keys", run: async (_, session) => help(session) },
  {
    name: "new",
    help: "Start a new conversation",
    run: async (_, session) => {
      await session.startNew();
      session.context.output.notice("Your next message starts a new conversation.");
    },
  },
  { name: "resume", usage: "[target]", help: "Continue another conversation", run: resume },
  {
    name: "replay",
    usage: "[words]",
    help: "Send the last message again",
    run: async (words, session) => replay(words, session),
  },
  {
    name: "edit",
    help: "Edit and resend the last message",
    run: async (words, session) => {
      if (words !== "") throw usageError("Type /edit alone. To add words: /replay <words>");
      await replay("", session, true);
    },
  },
  {
    name: "fork",
    usage: "[turns]",
    help: "Continue in a copy of all or the last turns",
    run: fork,
  },
  {
    name: "model",
    usage: "[model]",
    help: "Choose another model",
    values: ({ models }) => models.map((text) => ({ text })),
    run: changeModel,
  },
  {
    name: "allow",
    usage: "[mode]",
    help: "Choose what runs without asking",
    values: () => MODE_NAMES.map((text) => ({ text, description: MODES[text] })),
    run: changeMode,
  },
  {
    name: "tools",
    usage: "[<name> on|off]",
    help: "List tools, or turn one on or off",
    values: ({ tools }) => ["on", "off", ...tools].map((text) => ({ text })),
    run: toggleTools,
  },
  {
    name: "login",
    usage: "<server> [scopes]",
    help: "Log in to a remote MCP server",
    needsArgument: true,
    run: loginHere,
  },
  {
    name: "attach",
    usage: "[path|rm path]",
    help: "List, add or remove attachments",
    takesFile: true,
    run: attach,
  },
  {
    name: "share",
    usage: "[words|off]",
    help: "Show the model the last !command and its output",
    values: () => [{ text: "off" }],
    run: async (argument, session) => share(argument, session),
  },
  {
    name: "compact",
    usage: "[rule|undo]",
    help: "Shorten old turns for the model",
    values: () => [{ text: "undo" }],
    run: compactHere,
  },
  {
    name: "undo",
    usage: "[message|force]",
    help: "Undo the file changes of the last turn",
    values: () => ["message", "force"].map((text) => ({ text })),
    run: undoHere,
  },
  {
    name: "diff",
    usage: "[stat]",
    help: "Show what this conversation has changed",
    values: () => [{ text: "stat" }],
    run: diffHere,
  },
  {
    name: "cost",
    help: "Show the cost of this conversation",
    run: async (_, session) => cost(session),
  },
  {
    name: "context",
    help: "Show what fills the model's context window",
    run: async (_, session) => {
      const { showContext } = await loadModule(() => import("./context-report.ts"));
      await showContext(session);
    },
  },
  { name: "title", usage: "[title]", help: "Show or change the title", run: changeTitle },
  { name: "quit", help: "Leave the session", run: async () => LEFT },
];

/** jp's own commands, and those of the user and the workspace. */
function allCommands({ custom }: Pick<OpenSession, "custom">): readonly SessionCommand[] {
  return [...COMMANDS, ...custom.commands.map(toSessionCommand)];
}

export function completedCommands(session: OpenSession): readonly CompletedCommand[] {
  return allCommands(session).map(({ values, ...command }) => ({
    ...command,
    ...(values !== undefined && { values: () => values(session) }),
  }));
}

/** The command that a typed name means, or the names that it may abbreviate. */
export function findCommand(
  name: string,
  session: OpenSession,
): SessionCommand | readonly string[] {
  const commands = allCommands(session);
  const exact = commands.find((command) => command.name === name);
  if (exact !== undefined) return exact;
  const [first, ...others] = commands.filter((command) => command.name.startsWith(name));
  if (first !== undefined && others.length === 0 && first.needsArgument !== true) return first;
  if (first !== undefined) return [first, ...others].map((command) => command.name);
  const closest = findClosest(
    name,
    commands.map((command) => command.name),
  );
  return closest === undefined ? [] : [closest];
}

function toSessionCommand(command: CustomCommand): SessionCommand {
  const takesWords = takesArguments(command);
  return {
    name: command.name,
    help: command.help,
    ...(takesWords && { usage: "[words]", needsArgument: true }),
    run: async (argument, session) => await expand(command, argument, session),
  };
}

/** Asks whether to trust a workspace command that is new or has changed. */
async function expand(
  command: CustomCommand,
  argument: string,
  { context, prompter }: OpenSession,
): Promise<MessageToSend | void> {
  const { output, workspace } = context;
  if (command.claimed !== undefined) {
    const trust = workspaceTrust(context, workspace);
    const claims = await trust.findUntrusted([], undefined, [command.claimed]);
    if (claims.length > 0 && !(await askTrust(prompter, trustQuestion(claims))))
      return output.notice("Not trusted. Nothing was sent.");
    await trust.trust(claims);
  }
  const message = expandCommand(command, argument);
  const count = message.split("\n").length;
  output.notice(oneLine(`Sending ${command.file} (${count === 1 ? "1 line" : `${count} lines`})`));
  return { message };
}

const CONTROL_KEYS = [
  ["Ctrl-C", "Clear the line, or open the menu of a turn; twice to leave"],
  ["Ctrl-D", "Leave the session"],
  ["Ctrl-Z", "Suspend jp; fg continues it"],
];
const DRAWN_KEYS = [
  ["Enter", "Send the message"],
  ["Alt-Enter, \\ Enter", "Start a new line"],
  ["↑ ↓, Ctrl-R", "Browse or search earlier messages"],
  ["@path", "Attach a file or folder; parts of its path find it"],
  ["!command", "Run it in your shell; /share shows it to the model"],
  ["Shift-Tab", "Change the mode: what runs without asking"],
  ["Esc", "Go one step back; stop a turn"],
  ["Ctrl-O", "Open a long paste, or the last result; show or fold reasoning"],
  ...CONTROL_KEYS,
];
/** In plain mode, the terminal itself edits the line. */
const PLAIN_KEYS = [
  ["Enter", "Send the message"],
  ["\\ Enter", "Start a new line"],
  ["/lines", "Write several lines; a line with only a period ends them"],
  ["@path", "Attach a file or folder"],
  ["!command", "Run it in your shell; /share shows it to the model"],
  ...CONTROL_KEYS,
];

function help({ context: { output }, isPlain, custom }: OpenSession): void {
  const own = custom.commands.map(toSessionCommand);
  const rows = [
    ...COMMANDS.map(toRow),
    ...(own.length === 0 ? [] : [[], ...own.map(toRow)]),
    [],
    ...(isPlain ? PLAIN_KEYS : DRAWN_KEYS),
  ];
  const width = Math.max(...rows.map(([left = ""]) => left.length));
  for (const [left = "", text = ""] of rows) {
    const room = Math.max(20, output.noticeWidth - width - 4);
    for (const [index, row] of wrapProse(text, room).entries())
      output.notice(`  ${(index === 0 ? left : "").padEnd(width)}  ${row}`.trimEnd());
  }
  for (const problem of custom.problems)
    for (const row of wrapProse(problem, output.noticeWidth)) output.notice(row);
}

function toRow({ name, usage = "", help: text }: SessionCommand): readonly string[] {
  return [`/${name} ${usage}`.trimEnd(), text];
}

/** Shares a command's output with the next message, or at once if there are words. */
function share(argument: string, session: OpenSession): MessageToSend | void {
  const { context, ran } = session;
  if (argument === "off") {
    session.shared = undefined;
    return context.output.notice("Your next message shows no command to the model.");
  }
  if (ran === undefined) throw usageError("Run a command first: !npm test");
  session.shared = ran;
  if (argument !== "") return { message: argument };
  context.output.notice(`Your next message shows this to the model: ${nameCommand(ran)}`);
}

/** The server is reached again with the next message. */
async function loginHere(argument: string, session: OpenSession): Promise<void> {
  const [name = "", ...scope] = argument.split(/\s+/);
  const { context, prompter: person, configFlags: options, signal } = session;
  const { logInTo } = await loadModule(() => import("../mcp/login.ts"));
  try {
    await logInTo(name, { options: { ...options, scope, browser: true }, context, person, signal });
  } catch (error) {
    if (!(error instanceof ExitStatus) || signal.aborted) throw error;
    context.output.notice("You are not logged in.");
  }
}

async function resume(argument: string, session: OpenSession): Promise<void> {
  const { context } = session;
  const found =
    argument === "" ? await pickConversation(session) : await resolveTarget(context, argument);
  if (found === undefined) return;
  await restore(found, context);
  const { printConversation } = await loadModule(() => import("./conversation-end.ts"));
  await printConversation(found, context);
  await session.use(found);
}

/** `jp query --replay`, with words to append, or with `--edit`. */
async function replay(argument: string, session: OpenSession, isEdited = false): Promise<void> {
  if (session.conversationId === undefined) throw usageError("There is no message to send again.");
  await session.replay(argument, isEdited);
}

/** `jp undo`; the words may be `--with-message` and `--force`. */
async function undoHere(argument: string, session: OpenSession): Promise<void> {
  const { context, prompter, conversationId: id } = session;
  const words = argument.split(/\s+/).filter((word) => word !== "");
  if (words.some((word) => word !== "message" && word !== "force"))
    throw usageError("Type /undo, /undo message or /undo force.");
  if (id === undefined) return context.output.notice("Nothing to undo: the conversation is new.");
  const { undoIn } = await loadModule(() => import("../undo.ts"));
  const flags = { withMessage: words.includes("message"), force: words.includes("force") };
  await undoIn(id, flags, { context, prompter });
}

async function diffHere(
  argument: string,
  { context, conversationId: id }: OpenSession,
): Promise<void> {
  if (argument !== "" && argument !== "stat") throw usageError("Type /diff or /diff stat.");
  if (id === undefined) return context.output.notice("Nothing has changed yet.");
  const { diffOf } = await loadModule(() => import("../undo.ts"));
  await diffOf(id, { stat: argument === "stat" }, context);
}

/** `jp query --fork`. */
async function fork(argument: string, session: OpenSession): Promise<void> {
  if (session.conversationId === undefined) throw usageError("There is nothing to fork yet.");
  if (!/^\d*$/.test(argument)) throw usageError("Type /fork or /fork <turns>.");
  session.fork = argument === "" ? true : Number(argument);
  const turns = argument === "1" ? "the last turn" : `the last ${argument} turns`;
  const copied = argument === "" ? "this conversation" : turns;
  session.context.output.notice(`Your next message goes to a copy of ${copied}.`);
}

/** Checks the model before the session uses it. */
async function changeModel(argument: string, session: OpenSession): Promise<void> {
  if (argument === "") {
    const { pickModel } = await loadModule(() => import("./model-picker.ts"));
    const picked = await pickModel(session);
    return picked === undefined ? undefined : await changeModel(picked, session);
  }
  const { context } = session;
  const { output } = context;
  const { configFlags } = session;
  const cfg = toCfg({ model: argument });
  const { config } = await trustedConfig(context, { ...configFlags, cfg });
  const { provider, name } = resolveAssistant(config).model;
  const id = `${provider}/${name}`;
  const providers = openProviders(machineOf(context), config);
  await providers.model(provider, name);
  const checked = await checkName(providers, { provider, name });
  if (checked.type === "unknown")
    output.notice(`Cannot check the model's name: ${oneLine(messageOf(checked.reason))}`);
  if (checked.type === "unlisted") {
    const { error, isMistyped } = checked;
    if (isMistyped && isLocalProvider(provider)) throw error; // As `jp query -m` does.
    output.notice(oneLine(`${error.message} ${adviceOf(error) ?? ""}`));
    if (!(await confirm("Use it anyway?", session))) return;
  }
  session.model = argument;
  output.notice(`The model is now ${oneLine(id)}.`);
}

async function confirm(text: string, { prompter, signal }: OpenSession): Promise<boolean> {
  const question = booleanQuestion("confirm", text, { default: false, persistence: "none" });
  const result = await prompter.ask({ inquiryId: "session" as InquiryId, question, signal }); // Not recorded.
  return result.type === "answered" && result.answer === true;
}

async function changeMode(wanted: string, session: OpenSession): Promise<void> {
  const { output } = session.context;
  const say = (text: string) =>
    wrapProse(text, output.noticeWidth).forEach((row) => output.notice(row));
  if (wanted !== "") {
    const mode = MODE_NAMES.find((name) => name === wanted);
    if (mode === undefined) throw usageError(`Type /allow with one of ${MODE_NAMES.join(", ")}.`);
    const isUsable = await session.mode.choose(mode);
    say(`Mode ${mode}: ${MODES[mode]}.`);
    if (!isUsable) say("There is no sandbox here, so jp asks as usual: see jp doctor.");
    return;
  }
  session.mode.configure(await effectiveConfig(session.context, session.configFlags));
  const picked = await pickMode(session);
  return picked === undefined ? undefined : await changeMode(picked, session);
}

/** Undefined if the user chooses none or the current one, which is reported. */
async function pickMode({
  context,
  mode: { current },
  prompter,
  signal,
}: OpenSession): Promise<Mode | undefined> {
  const names = [current, ...MODE_NAMES.filter((name) => name !== current)];
  const options = names.map((name) => ({
    label: name === current ? `${name} (in use)` : name,
    typed: name,
    description: MODES[name],
  }));
  const list = { message: "What may run without asking?", options, escape: "go back" };
  const index = await prompter.select({ ...list, signal });
  const picked = index === undefined ? undefined : names[index];
  if (picked !== undefined && picked !== current) return picked;
  if (!signal.aborted) context.output.notice(`The mode is ${current}.`);
  return undefined;
}

async function toggleTools(argument: string, session: OpenSession): Promise<void> {
  const { context } = session;
  const flags = session.configFlags;
  const { state, name = "" } = readSwitch(argument);
  if (argument === "")
    return listTools({ args: [], options: { ...flags, format: "text" }, context });
  if (state === undefined) throw usageError("Type /tools, /tools <name> on or /tools <name> off.");
  const directive = { isEnabled: state === "on", ...(name !== "" && { name }) };
  const before = foldLayers(await loadConfig(context, flags));
  applyDirectives(before, [...session.directives, directive]); // Throws if it is unknown.
  session.directives = [...session.directives, directive];
  const what = name === "" ? "All tools that can be toggled are" : `${oneLine(name)} is`;
  context.output.notice(`${what} ${state}, starting with your next message.`);
}

/** `shell on`, `on shell`, or `on` for all tools. */
function readSwitch(argument: string): { readonly state?: string; readonly name?: string } {
  const words = argument.split(/\s+/);
  const [state, ...others] = words.filter(isState);
  const [name, ...more] = words.filter((word) => !isState(word));
  if (state === undefined || others.length + more.length > 0) return {};
  return name === undefined ? { state } : { state, name };
}

function isState(word: string): boolean {
  return word === "on" || word === "off";
}

/** Attaches to the next message. The conversation remembers it from then on. */
async function attach(argument: string, session: OpenSession): Promise<void> {
  const { context } = session;
  const { output } = context;
  const [, remove, quoted, plain] = /^(rm\s+)?@?(?:"(.+)"|(.*))$/s.exec(argument) ?? [];
  const name = quoted ?? plain ?? "";
  if (name === "" && remove === undefined) return listAttachedHere(session);
  if (remove !== undefined) return detach(name, session);
  await nameAttachments([name], context); // Throws for missing files.
  if (!session.attach.includes(name)) session.attach = [...session.attach, name];
  output.notice(oneLine(`Attached to your next message: ${name}`));
}

async function listAttachedHere({
  context,
  attach: next,
  configFlags,
}: OpenSession): Promise<void> {
  const uris = await listAttached(configFlags, "text", context);
  for (const name of next) context.output.print(oneLine(`${name} (with your next message)`));
  if (uris.length + next.length === 0)
    context.output.notice("Nothing is attached. To attach something: /attach <path>");
}

async function detach(name: string, session: OpenSession): Promise<void> {
  const { context, conversationId: id } = session;
  if (session.attach.includes(name)) {
    session.attach = session.attach.filter((one) => one !== name);
    return context.output.notice(oneLine(`Detached ${name}`));
  }
  if (id === undefined) throw notAttached(name);
  await removeAttachments({ args: [name], options: { id }, context });
}

/** Ctrl-C stops a summary, and leaves the session as it is. */
async function compactHere(argument: string, session: OpenSession): Promise<void> {
  const { context, conversationId: id, configFlags } = session;
  if (id === undefined)
    return context.output.notice("Nothing to compact: the conversation is new.");
  const { cfg = [] } = configFlags;
  const rules = argument === "" ? [true as const] : [argument];
  const options: CompactFlags =
    argument === "undo" ? { reset: true } : { compact: rules, cfg, undo: UNDO_COMPACTION };
  try {
    await compact({ args: [id], options, context });
  } catch (error) {
    if (!(error instanceof ExitStatus) || error.status !== INTERRUPTED) throw error;
    context.output.notice("Stopped. Nothing was changed.");
  }
}

async function cost({ context, conversationId: id, configFlags }: OpenSession): Promise<void> {
  if (id === undefined) return context.output.notice("Nothing spent yet: the conversation is new.");
  await showConversationUsage(id, await effectiveConfig(context, configFlags), context);
}

async function changeTitle(argument: string, session: OpenSession): Promise<void> {
  const { context, conversationId } = session;
  const { output, workspace } = context;
  if (conversationId === undefined) {
    if (argument !== "") session.title = argument;
    const pending = session.title === undefined ? "no title yet" : `the title ${session.title}`;
    return output.notice(oneLine(`The new conversation has ${pending}.`));
  }
  if (argument !== "") {
    await editMetadata(conversationId, { title: argument }, context);
    return output.notice(oneLine(`The title is now: ${argument}`));
  }
  const summary = await workspace.conversations.find(conversationId);
  output.notice(summary === undefined ? "The conversation no longer exists." : titleOf(summary));
}
