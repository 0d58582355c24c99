/**
 * `jp demo`: a guided tour with real prompts and a real record. It is an embedding program itself: the
 * turns are run through the library, and only the model is scripted.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Prompter, PromptResult } from "../../../agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../../../config/index.ts";
import { runTurn } from "../../../embed/index.ts";
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
import { isPlain } from "../../prompter.ts";
import { listInquiries } from "../inquiry.ts";
import { withScreen } from "../query/prompter-with-screen.ts";
import { TextView } from "../query/text-view.ts";
import { createTourModel, TOUR, TOUR_FILE, TOUR_TEXT, TOUR_TOOLS, type TourStep } from "./tour.ts";

export async function demo({ context }: Call<object>): Promise<void> {
  const tour = await createTour(context);
  const { output } = context;
  say("jp: tools and the assistant ask, and the record says who answered.", tour, "bold");
  const ends = tour.isPlain ? "/cancel" : "Esc";
  say(
    `The model is scripted, nothing leaves this machine. ${ends} or Ctrl-C ends the tour at any time.`,
    tour,
  );
  if (tour.answersFile !== undefined) {
    output.print(`There is no terminal here: the answers come from ${tour.answersFile}`);
  }
  for (const step of TOUR) {
    if (await show(step, tour)) continue;
    say("The tour ends here.", tour);
    break;
  }
  await tour.conversation.release();
  await showRecord(tour);
}

interface Tour {
  /** Of a workspace of its own: nothing of the user's is touched. */
  readonly context: CommandContext;
  readonly conversation: ConversationWriter;
  readonly person: Prompter;
  readonly isPlain: boolean;
  /** How this program is called: after `npm start` in a clone, it is not in the path. */
  readonly command: string;
  readonly answersFile?: string;
}

async function createTour(context: CommandContext): Promise<Tour> {
  const { host, clock, output, version, onOutputGone } = context;
  const root = await mkdtemp(path.join(host.temporary, "jp-demo-"));
  await writeFile(path.join(root, TOUR_FILE), TOUR_TEXT);
  await createWorkspaceFolder(root, clock);
  const variables = { JP_USER_DATA_DIR: path.join(root, ".jp-user-data") };
  const environment = { ...context.environment, variables };
  const workspace = openWorkspace({ from: root, environment, clock, pid: host.pid });
  const own = { host, output, clock, version, environment, cwd: root, workspace, onOutputGone };
  const conversation = await workspace.conversations.create({ title: "The tour" });
  const inLines = isPlain(context, {});
  const terminal = new TerminalPrompter({ isPlain: inLines });
  const isStarted = context.environment.variables["npm_lifecycle_event"] === "start";
  const command = isStarted ? path.join("bin", "jp") : "jp";
  const tour = { context: own, conversation, isPlain: inLines, command };
  if (host.mayUseTerminal && terminal.canAsk()) return { ...tour, person: terminal };
  const answersFile = path.join(root, "answers.json");
  const answers: readonly Json[] = TOUR.flatMap((step) => step.answers);
  await writeFile(answersFile, `${JSON.stringify(answers, null, 2)}\n`);
  const person = createFilePrompter(answersFile, (line) => output.notice(line));
  return { ...tour, person, answersFile };
}

/** Whether the person wants to see more. */
async function show(step: TourStep, tour: Tour): Promise<boolean> {
  const { context, conversation, person, isPlain: inLines } = tour;
  const { output, clock } = context;
  output.print("");
  say(step.title, tour, "bold");
  say(inLines ? step.about : [step.about, step.keys].join(" ").trim(), tour);
  output.print("");
  say(`${output.paint("green", "you")}  ${step.request}`, tour);
  output.flush(); // A question may follow.
  const tools = [createAskUser(), ...createFileTools({ root: context.cwd })];
  const toolConfig: Record<string, JsonObject> = Object.fromEntries(
    tools.map(({ tool, config }) => [tool.name, { ...(config as JsonObject), enable: true }]),
  );
  const view = new TextView({
    output,
    status: createStatusLine({
      stream: context.host.stderr,
      isPlain: inLines,
      now: () => clock.now().getTime(),
    }),
    isPlain: inLines,
    clock,
    model: "demo/tour",
    tools: resolveTools(parseConfigOrThrow("the tour", { conversation: { tools: toolConfig } })),
    showsReasoning: true,
    showsCalls: true,
    isStructured: false,
    isVerbose: false,
  });
  const asked = createLeavingPrompter(withScreen(person, view));
  using interrupt = onInterrupt(() => view.noteStop(), context);
  // Where nobody can press it, the tour does.
  if (step.isInterrupted === true && tour.answersFile !== undefined) interrupt.after(PRESSED_MS);
  const end = await runTurn(
    {
      conversation,
      model: createTourModel(step),
      tools: [...TOUR_TOOLS, ...tools.map(({ tool }) => tool)],
      toolConfig,
      ...(step.isDetached !== true && { prompter: asked }),
      observer: view,
      clock,
      signal: interrupt.signal,
    },
    step.request,
  );
  await view.end(end);
  if (step.isInterrupted === true && end.type === "interrupted") {
    say("The call is on record, with its end.", tour);
    return true;
  }
  return end.type !== "interrupted" && !asked.hasLeft;
}

const PRESSED_MS = 300;

interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
  /** As if it had been pressed then. */
  after(milliseconds: number): void;
}

function onInterrupt(onStop: () => void, { host, output }: CommandContext): Interrupt {
  const abort = new AbortController();
  const stop = () => {
    onStop();
    abort.abort();
  };
  const onSignal = () => {
    output.notice(""); // The terminal has written ^C into the line.
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
  say("What is on record: every question, who asked, who answered", tour, "bold");
  output.print(output.paint("dim", "$ jp inquiry ls"));
  await listInquiries({ words: [], options: {}, context });
  output.print("");
  output.print(`The record is ${workspace.files.paths(conversation.id).events}`);
  output.print(`Look around:  ${jp} --workspace ${workspace.root} conversation print newest`);
  output.print(`Your own:     ${jp} init, then ${jp} query "…"`);
}

/** No wider than is good to read. */
const MOST_COLUMNS = 80;

/** Broken at words. */
function say(text: string, { context: { output } }: Tour, style?: StyleName): void {
  for (const row of wrapProse(text, Math.min(output.lineWidth, MOST_COLUMNS))) {
    output.print(style === undefined ? row : output.paint(style, row));
  }
}

export interface LeavingPrompter extends Prompter {
  readonly hasLeft: boolean;
}

function createLeavingPrompter(person: Prompter): LeavingPrompter {
  let left: Exclude<PromptResult["type"], "answered"> | undefined;
  return {
    channel: person.channel,
    get hasLeft() {
      return left !== undefined;
    },
    canAsk: () => person.canAsk(),
    ask: async (request) => {
      const { inquiryId } = request;
      if (left !== undefined) return { type: left, inquiryId };
      const result = await person.ask(request);
      if (result.type !== "answered") left = result.type;
      return result;
    },
    askPermission: (request) => person.askPermission(request),
    askDelivery: (request) => person.askDelivery(request),
  };
}

/** Takes them one after the other; a question for which there is none is cancelled. */
function createFilePrompter(file: string, notice: (line: string) => void): Prompter {
  const answers = JSON.parse(readFileSync(file, "utf8")) as Json[]; // We have written it.
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

/** What somebody at a terminal would have seen. */
function describe({ text, context, answerType }: InquiryQuestion, answer: Json): readonly string[] {
  const said = answerType.type === "secret" ? "<redacted>" : jsonLine(answer);
  return [
    ...(context === undefined ? [] : neutralize(context.trimEnd()).split("\n")),
    `✔ ${oneLine(text)} ${said}, from the file`,
  ];
}
