/**
 * `jp demo`: a guided tour with real prompts and a real record. It runs its turns through the library,
 * as an embedding program would; only the model is scripted.
 */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Prompter, PromptResult } from "../../../core/agent/index.ts";
import {
  mergeConfig,
  parseConfigOrThrow,
  type PartialConfig,
  resolveTools,
} from "../../../settings/config/index.ts";
import {
  type ConversationEvent,
  type ConversationId,
  endOf as recordedEnd,
  lastTurnOf,
  openCalls,
} from "../../../record/conversation/index.ts";
import { type StyleName, wrapProse } from "../../../surfaces/render/index.ts";
import {
  configuredChanges,
  createTurn,
  machineOf,
  openTools,
  resumeTurn,
  runTurn,
  shippedConfig,
  type TurnResult,
} from "../../../assemble/index.ts";
import { createWorkspaceFolder, openWorkspace } from "../../../stores/index.ts";
import { createStatusLine, TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import type { InquiryQuestion } from "../../../record/tool/index.ts";
import {
  isJpError,
  isJsonObject,
  type Json,
  jsonLine,
  type JsonObject,
  neutralize,
  oneLine,
} from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, WAITING } from "../../exit-status.ts";
import { wantsPlainText } from "../../host.ts";
import { answerFromCommandLine } from "../answer.ts";
import { listInquiries } from "../inquiry.ts";
import { listPermissions } from "../permissions.ts";
import { printPending } from "../query/start.ts";
import { TextView } from "../query/text-view.ts";
import { type TurnView, withScreen } from "../query/view.ts";
import { viewSettings } from "../query/view-settings.ts";
import { diff, undo } from "../undo.ts";
import { createTourModel, TOUR, TOUR_FILES, TOUR_TOOLS, type TourStep } from "./tour.ts";

export async function demo({ context }: Call): Promise<void> {
  const tour = await createTour(context);
  const { output } = context;
  say(
    "jp: tools and the assistant ask you questions, and the record says who answered.",
    tour,
    "bold",
  );
  const cancelKey = tour.isPlain ? "/cancel" : "Esc";
  say(
    `The model is scripted, whatever you write, and nothing leaves this machine. ${cancelKey} or Ctrl-C at a question ends the tour.`,
    tour,
  );
  if (tour.terminal !== undefined)
    say("Each step waits for you: Enter sends its message, /skip goes to the next one.", tour);
  if (tour.answersFile !== undefined) {
    output.print(`No terminal is available: the answers come from ${tour.answersFile}`);
  }
  for (const step of TOUR) {
    if ((await runStep(step, tour)) !== "left") continue;
    say("The tour ends here.", tour);
    break;
  }
  await showRecord(tour);
}

interface Tour {
  /** Uses a temporary workspace, so the user's files are untouched. */
  readonly context: CommandContext;
  readonly conversation: ConversationId;
  readonly prompter: Prompter;
  /** The prompter, if it is a real terminal. */
  readonly terminal?: TerminalPrompter;
  readonly isPlain: boolean;
  /** How to run jp: after `npm start` in a clone, it is not in PATH. */
  readonly command: string;
  readonly answersFile?: string;
}

async function createTour(context: CommandContext): Promise<Tour> {
  const { host, clock, output, version, printed, notice, warn } = context;
  const { onOutputGone, isReaderGone } = context;
  const folder = await mkdtemp(path.join(host.tmpdir, "jp-demo-"));
  const root = path.join(folder, "weather");
  await mkdir(root);
  for (const [name, text] of Object.entries(TOUR_FILES)) {
    await writeFile(path.join(root, name), text);
  }
  await createWorkspaceFolder(root, clock);
  const isPlain = wantsPlainText(context, {});
  const environment = {
    ...context.environment,
    home: folder, // Keeps the user's config out.
    variables: {
      PATH: context.environment.variables["PATH"], // Commands need it.
      JP_USER_DATA_DIR: path.join(folder, "user-data"),
      JP_PLAIN: isPlain ? "1" : "0",
    },
  };
  const workspace = openWorkspace({ from: root, environment, clock, pid: host.pid });
  const own = {
    host,
    output,
    clock,
    version,
    printed,
    notice,
    warn,
    environment,
    cwd: root,
    workspace,
    onOutputGone,
    isReaderGone,
    database: undefined, // The tour leaves nothing behind.
    findTenant: async () => undefined,
    close: async () => {},
  };
  await using created = await workspace.conversations.create({ title: "The tour" });
  const terminal = new TerminalPrompter({ device: host.terminal, isPlain });
  const isClone = context.environment.variables["npm_lifecycle_event"] === "start";
  const command = isClone ? path.join("bin", "jp") : "jp";
  const tour = { context: own, conversation: created.id, isPlain, command };
  if (terminal.canAsk()) return { ...tour, prompter: terminal, terminal };
  const answersFile = path.join(folder, "answers.json");
  const answers: readonly Json[] = TOUR.flatMap((step) => step.answers);
  await writeFile(answersFile, `${JSON.stringify(answers, null, 2)}\n`);
  const prompter = createFilePrompter(answersFile, (line) => output.notice(line));
  return { ...tour, prompter, answersFile };
}

/** How a step ended: completed, skipped, or the user left the tour. */
type StepEnd = "done" | "skipped" | "left";

async function runStep(step: TourStep, tour: Tour): Promise<StepEnd> {
  const { context, isPlain } = tour;
  const { output } = context;
  using interrupt = onInterrupt(context);
  output.print("");
  say(step.title, tour, "bold");
  say(isPlain ? step.about : [step.about, step.keys].join(" ").trim(), tour);
  output.print("");
  output.flush(); // Before a prompt is drawn.
  const request = await readRequest(step, tour);
  if (typeof request !== "string") return request.end;
  if (step.afterwards !== undefined) return await runDeferred(step, tour, interrupt.signal);
  // Without a terminal, the tour interrupts itself.
  if (step.isInterrupted === true && tour.answersFile !== undefined)
    interrupt.after(INTERRUPT_AFTER_MS);
  else if (step.isInterrupted === true) say("It runs until you press Ctrl-C.", tour);
  output.flush();
  const sent = { ...step, request };
  if (step.config !== undefined)
    return await runConfigured(sent, step.config, { ...tour, signal: interrupt.signal });
  const end = await takeTurn("run", sent, { ...tour, signal: interrupt.signal });
  if (step.isInterrupted !== true || end.type !== "interrupted") return endOf(end);
  say("The interrupted call is on record.", tour);
  return "done";
}

const SKIP = "/skip";
const QUIT = "/quit";
const COMMANDS = [
  { text: SKIP, description: "Go to the next step", onEnter: "send" as const },
  { text: QUIT, description: "End the tour", onEnter: "send" as const },
];

/** The message the user sends. Without a terminal, the tour sends it. */
async function readRequest(
  step: TourStep,
  { terminal, context: { output } }: Tour,
): Promise<string | { readonly end: StepEnd }> {
  if (terminal === undefined) {
    if (step.afterwards === undefined)
      output.print(`${output.paint("green", "you")}  ${step.request}`);
    return step.request;
  }
  const { ending } = await terminal.enterMessage({
    state: step.request,
    history: () => [],
    complete: ({ text, cursor }) => {
      const candidates = COMMANDS.filter((command) => command.text.startsWith(text));
      const isCommand = /^\/[a-z]*$/.test(text) && cursor === text.length;
      return isCommand ? { from: 0, candidates: () => candidates } : undefined;
    },
    hasEditor: () => false,
    signal: new AbortController().signal,
  });
  if (ending.type !== "sent") return { end: "left" };
  // In plain mode, lines are added to the message.
  const command = ending.text.trim().split("\n").at(-1)?.trim();
  if (command === SKIP) return { end: "skipped" };
  return command === QUIT ? { end: "left" } : ending.text.trim();
}

/** A job that leaves its question open, and the commands that find and answer it. */
async function runDeferred(step: TourStep, tour: Tour, signal: AbortSignal): Promise<StepEnd> {
  const { context } = tour;
  const { output, workspace } = context;
  showCommand(`jp query --defer ${JSON.stringify(step.request)}`, tour);
  await takeTurn("defer", step, { ...tour, signal });
  const { stream } = await workspace.conversations.load(tour.conversation);
  const [waiting] = printPending(stream, context);
  if (signal.aborted || waiting === undefined) return "left";
  say(`The job ends with status ${WAITING}. ${step.afterwards}`, tour);
  output.print("");
  showCommand("jp inquiry ls --pending", tour);
  await listInquiries({ args: [], options: { pending: true, format: "text" }, context });
  output.print("");
  const args = tour.answersFile === undefined ? [waiting.id] : [waiting.id, "yes"];
  showCommand(`jp inquiry answer ${args.join(" ")} --continue`, tour);
  output.flush(); // Before a prompt is drawn.
  try {
    await answerFromCommandLine({ args, options: {}, context });
  } catch (error) {
    if (error instanceof ExitStatus) return "left"; // The question is left open.
    throw error;
  }
  return endOf(await takeTurn("resume", step, { ...tour, signal }));
}

/** A turn as `jp query` runs it. */
async function runConfigured(
  step: TourStep,
  given: JsonObject,
  tour: TurnOfTour,
): Promise<StepEnd> {
  const { context, signal } = tour;
  const { clock, workspace } = context;
  const config = mergeConfig(shippedConfig().builtins, parseConfigOrThrow("the tour", given));
  const view = createView(tour, config);
  {
    await using conversation = await workspace.conversations.open(tour.conversation);
    const machine = machineOf(context);
    const changes = configuredChanges(machine, config, conversation);
    await using tools = openTools(machine, config, { conversation: conversation.id, changes });
    const turn = createTurn({
      conversation,
      model: createTourModel(step),
      toolbox: tools.toolbox,
      policy: tools.policy,
      prompter: createLeavingPrompter(withScreen(tour.prompter, view)),
      observer: view,
      clock,
    });
    signal.addEventListener("abort", () => view.noteStop(), { once: true });
    signal.addEventListener("abort", () => turn.leave(), { once: true });
    const end = await turn.run({ content: step.request });
    await view.end(end);
    const events = lastTurnOf(recordedEnd(conversation.stream));
    if (endOf({ type: end.type, events }) === "left") return "left";
  }
  if (step.isUndone === true) await showUndo(tour);
  return "done";
}

async function showUndo(tour: Tour): Promise<void> {
  const { context } = tour;
  const { output } = context;
  for (const [line, run] of [
    [
      "jp permissions ls",
      () => listPermissions({ args: [], options: { format: "text" }, context }),
    ],
    ["jp diff", () => diff({ args: [tour.conversation], options: {}, context })],
    ["jp undo --yes", () => undo({ args: [tour.conversation], options: { yes: true }, context })],
  ] as const) {
    output.print("");
    showCommand(line, tour);
    try {
      await run();
    } catch (error) {
      if (!isJpError(error) || error.code !== "nothing_to_undo") throw error;
      output.notice(error.message); // The user declined before anything was changed.
    }
  }
}

/** The tour ends if the user cancels a question or the turn. */
function endOf({ type, events }: Pick<TurnResult, "type" | "events">): StepEnd {
  return type === "done" && !events.some(isCancelled) ? "done" : "left";
}

function isCancelled(event: ConversationEvent): boolean {
  return event.type === "inquiry_response" && event.outcome === "cancelled";
}

interface TurnOfTour extends Tour {
  /** Aborted when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Reopens the conversation, as every `jp query` does. */
async function takeTurn(
  how: "run" | "defer" | "resume",
  step: TourStep,
  tour: TurnOfTour,
): Promise<TurnResult> {
  const { context, signal } = tour;
  const { clock, workspace } = context;
  const toolConfig: Record<string, JsonObject> = Object.fromEntries(
    TOUR_TOOLS.map(({ name }) => [name, { detached: "defer" }]),
  );
  const view = createView(
    tour,
    parseConfigOrThrow("the tour", { conversation: { tools: toolConfig } }),
  );
  signal.addEventListener("abort", () => view.noteStop(), { once: true });
  await using conversation = await workspace.conversations.open(tour.conversation);
  const options = {
    model: createTourModel(step),
    tools: TOUR_TOOLS,
    toolConfig,
    ...(how !== "defer" && { prompter: createLeavingPrompter(withScreen(tour.prompter, view)) }),
    observer: view,
    clock,
    signal,
  };
  if (how === "resume") view.resume(openCalls(conversation.stream));
  const end =
    how === "resume"
      ? await resumeTurn(conversation, options)
      : await runTurn({ ...options, conversation }, step.request);
  await view.end(end);
  return end;
}

function createView({ context, isPlain }: Tour, config: PartialConfig): TurnView {
  const { output, clock, host } = context;
  const now = () => clock.now().getTime();
  return new TextView({
    output,
    status: createStatusLine({ stream: host.notices, isPlain, now }),
    isPlain,
    clock,
    model: "demo/tour",
    tools: resolveTools(config),
    ...viewSettings({}),
    hasHyperlinks: false,
    isStructured: false,
    isVerbose: false,
  });
}

const INTERRUPT_AFTER_MS = 300;

interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
  /** Simulates Ctrl-C. */
  after(milliseconds: number): void;
}

function onInterrupt({ host, output }: CommandContext): Interrupt {
  const abort = new AbortController();
  const onSignal = () => {
    output.notice(""); // The terminal has echoed ^C.
    abort.abort();
  };
  let timer: NodeJS.Timeout | undefined;
  const watch = host.onSignal(["SIGINT"], onSignal);
  return {
    signal: abort.signal,
    after: (milliseconds) => {
      timer = setTimeout(() => abort.abort(), milliseconds);
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      watch[Symbol.dispose]();
    },
  };
}

async function showRecord(tour: Tour): Promise<void> {
  const { context, conversation } = tour;
  const { output, workspace } = context;
  const { command: jp } = tour;
  output.print("");
  say("The record: every question, who asked, and who answered", tour, "bold");
  showCommand("jp inquiry ls", tour);
  await listInquiries({ args: [], options: { format: "text" }, context });
  output.print("");
  output.print(`Stored in ${workspace.files.paths(conversation).events}`);
  output.print(`Read it: ${jp} --workspace ${workspace.root} conversation print newest`);
  output.print(`Start your own: ${jp} init, then ${jp} query "…"`);
}

/** Shows a command line that the tour runs for the user. */
function showCommand(line: string, { context: { output } }: Tour): void {
  output.print(output.paint("dim", `$ ${line}`));
}

/** Longer lines are hard to read. */
const MAX_COLUMNS = 80;

function say(text: string, { context: { output } }: Tour, style?: StyleName): void {
  for (const row of wrapProse(text, Math.min(output.lineWidth, MAX_COLUMNS))) {
    output.print(style === undefined ? row : output.paint(style, row));
  }
}

/** Once a question goes unanswered, no more are asked. Ctrl-C ends the tour without a menu. */
function createLeavingPrompter(inner: Prompter): Prompter {
  let left: PromptResult | undefined;
  return {
    channel: inner.channel,
    ...(inner.auth !== undefined && { auth: inner.auth }),
    canAsk: () => inner.canAsk(),
    ask: async (request) => {
      const { inquiryId } = request;
      if (left !== undefined) return { ...left, inquiryId };
      const result = await inner.ask({ ...request, allowsLater: false });
      if (result.type !== "answered") left = result;
      return result;
    },
  };
}

/** Answers from a file, in order; cancels when none are left. For runs without a terminal. */
function createFilePrompter(file: string, notice: (line: string) => void): Prompter {
  const answers = JSON.parse(readFileSync(file, "utf8")) as Json[]; // Written by `createTour`.
  let permission: Json | undefined;
  return {
    channel: "file",
    canAsk: () => true,
    ask: async (request) => {
      const { inquiryId } = request;
      // Without a sandbox, nothing is saved, and jp asks about each command.
      const next =
        request.kind === "permission" ? (permission ??= answers.shift()) : answers.shift();
      // The tour has no forms, and never two calls in one reply.
      if (next === undefined || !("question" in request)) return { type: "cancelled", inquiryId };
      const { answer = null, isRemembered, saves } = isJsonObject(next) ? next : { answer: next };
      for (const line of describe(request.question, answer)) notice(line);
      const [proposed] = "grants" in request ? (request.grants ?? []) : [];
      const isSaved = saves === "always" && proposed !== undefined;
      return {
        type: "answered",
        inquiryId,
        answer,
        isRemembered: isRemembered === true,
        ...(isSaved && { grant: { rule: proposed.rule, until: saves } }),
      };
    },
  };
}

/** Shows the prompt as a terminal would have. */
function describe({ text, context, answerType }: InquiryQuestion, answer: Json): readonly string[] {
  const said = answerType.type === "secret" ? "<redacted>" : jsonLine(answer);
  return [
    ...(context === undefined ? [] : neutralize(context.trimEnd()).split("\n")),
    `✔ ${oneLine(text)} ${said} (from the file)`,
  ];
}
