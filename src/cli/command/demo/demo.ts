/**
 * `jp demo`: a guided tour with real prompts and a real record. It runs its turns through the library,
 * as an embedding program would; only the model is scripted.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Prompter, PromptResult } from "../../../agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../../../config/index.ts";
import { runTurn } from "../../../runtime/index.ts";
import { createAskUser, createFileTools } from "../../../executor/index.ts";
import { jsonLine, neutralize, oneLine, type StyleName, wrapProse } from "../../../render/index.ts";
import {
  type ConversationWriter,
  createWorkspaceFolder,
  openWorkspace,
} from "../../../storage/index.ts";
import { createStatusLine, TerminalPrompter } from "../../../terminal/index.ts";
import type { InquiryQuestion } from "../../../tool/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { wantsPlainText } from "../../prompter.ts";
import { listInquiries } from "../inquiry.ts";
import { withScreen } from "../query/view.ts";
import { TextView } from "../query/text-view.ts";
import { createTourModel, TOUR, TOUR_FILE, TOUR_TEXT, TOUR_TOOLS, type TourStep } from "./tour.ts";

export async function demo({ context }: Call<object>): Promise<void> {
  const tour = await createTour(context);
  const { output } = context;
  say(
    "jp: tools and the assistant ask you questions, and the record says who answered.",
    tour,
    "bold",
  );
  const cancelKey = tour.isPlain ? "/cancel" : "Esc";
  say(
    `The model is scripted, and nothing leaves this machine. ${cancelKey} or Ctrl-C ends the tour.`,
    tour,
  );
  if (tour.answersFile !== undefined) {
    output.print(`No terminal is available: the answers come from ${tour.answersFile}`);
  }
  for (const step of TOUR) {
    if (await runStep(step, tour)) continue;
    say("The tour ends here.", tour);
    break;
  }
  await tour.conversation.release();
  await showRecord(tour);
}

interface Tour {
  /** In a temporary workspace, so that nothing of the user's is touched. */
  readonly context: CommandContext;
  readonly conversation: ConversationWriter;
  readonly prompter: Prompter;
  readonly isPlain: boolean;
  /** How to call jp: after `npm start` in a clone, it is not in PATH. */
  readonly command: string;
  readonly answersFile?: string;
}

async function createTour(context: CommandContext): Promise<Tour> {
  const { host, clock, output, version, onOutputGone } = context;
  const root = await mkdtemp(path.join(host.tmpdir, "jp-demo-"));
  await writeFile(path.join(root, TOUR_FILE), TOUR_TEXT);
  await createWorkspaceFolder(root, clock);
  const variables = { JP_USER_DATA_DIR: path.join(root, ".jp-user-data") };
  const environment = { ...context.environment, variables };
  const workspace = openWorkspace({ from: root, environment, clock, pid: host.pid });
  const own = { host, output, clock, version, environment, cwd: root, workspace, onOutputGone };
  const conversation = await workspace.conversations.create({ title: "The tour" });
  const isPlain = wantsPlainText(context, {});
  const terminal = new TerminalPrompter({ device: host.terminal, isPlain });
  const isClone = context.environment.variables["npm_lifecycle_event"] === "start";
  const command = isClone ? path.join("bin", "jp") : "jp";
  const tour = { context: own, conversation, isPlain, command };
  if (terminal.canAsk()) return { ...tour, prompter: terminal };
  const answersFile = path.join(root, "answers.json");
  const answers: readonly Json[] = TOUR.flatMap((step) => step.answers);
  await writeFile(answersFile, `${JSON.stringify(answers, null, 2)}\n`);
  const prompter = createFilePrompter(answersFile, (line) => output.notice(line));
  return { ...tour, prompter, answersFile };
}

/** False if the user ended the tour. */
async function runStep(step: TourStep, tour: Tour): Promise<boolean> {
  const { context, conversation, isPlain } = tour;
  const { output, clock } = context;
  const tools = [createAskUser(), ...createFileTools({ root: context.cwd })];
  const toolConfig: Record<string, JsonObject> = Object.fromEntries(
    tools.map(({ tool, config }) => [tool.name, { ...(config as JsonObject), enable: true }]),
  );
  const view = new TextView({
    output,
    status: createStatusLine({
      stream: context.host.stderr,
      isPlain,
      now: () => clock.now().getTime(),
    }),
    isPlain,
    clock,
    model: "demo/tour",
    tools: resolveTools(parseConfigOrThrow("the tour", { conversation: { tools: toolConfig } })),
    showsReasoning: true,
    showsCalls: true,
    isStructured: false,
    isVerbose: false,
  });
  const prompter = createLeavingPrompter(withScreen(tour.prompter, view));
  using interrupt = onInterrupt(() => view.noteStop(), context);
  output.print("");
  say(step.title, tour, "bold");
  say(isPlain ? step.about : [step.about, step.keys].join(" ").trim(), tour);
  output.print("");
  say(`${output.paint("green", "you")}  ${step.request}`, tour);
  output.flush(); // Before a prompt is drawn.
  // Without a terminal, the tour interrupts itself.
  if (step.isInterrupted === true && tour.answersFile !== undefined)
    interrupt.after(INTERRUPT_AFTER_MS);
  const end = await runTurn(
    {
      conversation,
      model: createTourModel(step),
      tools: [...TOUR_TOOLS, ...tools.map(({ tool }) => tool)],
      toolConfig,
      ...(step.isDetached !== true && { prompter }),
      observer: view,
      clock,
      signal: interrupt.signal,
    },
    step.request,
  );
  await view.end(end);
  if (step.isInterrupted === true && end.type === "interrupted") {
    say("The interrupted call is on record.", tour);
    return true;
  }
  return end.type !== "interrupted" && !prompter.hasLeft;
}

const INTERRUPT_AFTER_MS = 300;

interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
  /** Simulates Ctrl-C. */
  after(milliseconds: number): void;
}

function onInterrupt(onStop: () => void, { host, output }: CommandContext): Interrupt {
  const abort = new AbortController();
  const stop = () => {
    onStop();
    abort.abort();
  };
  const onSignal = () => {
    output.notice(""); // The terminal has echoed ^C.
    stop();
  };
  let timer: NodeJS.Timeout | undefined;
  const watch = host.onSignal(["SIGINT"], onSignal);
  return {
    signal: abort.signal,
    after: (milliseconds) => {
      timer = setTimeout(stop, milliseconds);
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
  output.print(output.paint("dim", "$ jp inquiry ls"));
  await listInquiries({ args: [], options: {}, context });
  output.print("");
  output.print(`Stored in ${workspace.files.paths(conversation.id).events}`);
  output.print(`Read it:         ${jp} --workspace ${workspace.root} conversation print newest`);
  output.print(`Start your own:  ${jp} init, then ${jp} query "…"`);
}

/** Longer lines are hard to read. */
const MAX_COLUMNS = 80;

function say(text: string, { context: { output } }: Tour, style?: StyleName): void {
  for (const row of wrapProse(text, Math.min(output.lineWidth, MAX_COLUMNS))) {
    output.print(style === undefined ? row : output.paint(style, row));
  }
}

/** After the first question without an answer, no other is asked. */
export interface LeavingPrompter extends Prompter {
  readonly hasLeft: boolean;
}

function createLeavingPrompter(inner: Prompter): LeavingPrompter {
  let left: Exclude<PromptResult["type"], "answered"> | undefined;
  return {
    channel: inner.channel,
    get hasLeft() {
      return left !== undefined;
    },
    canAsk: () => inner.canAsk(),
    ask: async (request) => {
      const { inquiryId } = request;
      if (left !== undefined) return { type: left, inquiryId };
      const result = await inner.ask(request);
      if (result.type !== "answered") left = result.type;
      return result;
    },
    askPermission: (request) => inner.askPermission(request),
    askDelivery: (request) => inner.askDelivery(request),
  };
}

/** Answers from a file, in order; without a next answer, cancels. For runs without a terminal. */
function createFilePrompter(file: string, notice: (line: string) => void): Prompter {
  const answers = JSON.parse(readFileSync(file, "utf8")) as Json[]; // Written by `createTour`.
  return {
    channel: "file",
    canAsk: () => true,
    ask: async ({ inquiryId, question }) => {
      const next = answers.shift();
      if (next === undefined) return { type: "cancelled", inquiryId };
      const { answer = null, isRemembered } = isJsonObject(next) ? next : { answer: next };
      for (const line of describe(question, answer)) notice(line);
      return { type: "answered", inquiryId, answer, isRemembered: isRemembered === true };
    },
    askPermission: async () => ({ type: "run", isRemembered: false }),
    askDelivery: async () => ({ type: "deliver" }),
  };
}

/** Shows what a terminal would have shown. */
function describe({ text, context, answerType }: InquiryQuestion, answer: Json): readonly string[] {
  const said = answerType.type === "secret" ? "<redacted>" : jsonLine(answer);
  return [
    ...(context === undefined ? [] : neutralize(context.trimEnd()).split("\n")),
    `✔ ${oneLine(text)} ${said} (from the file)`,
  ];
}
