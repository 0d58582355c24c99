/**
 * `jp demo`: a guided tour with real prompts and a real record. It is an embedding program itself: the
 * turns are run through the library, and only the model is scripted.
 */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Prompter, TurnEnd } from "../../../agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../../../config/index.ts";
import { eventsOf } from "../../../conversation/index.ts";
import { runTurn } from "../../../embed/index.ts";
import { createAskUser, createFileTools } from "../../../executor/index.ts";
import {
  type ConversationWriter,
  createWorkspaceFolder,
  openWorkspace,
} from "../../../storage/index.ts";
import { createStatusLine, TerminalPrompter } from "../../../terminal/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { listInquiries } from "../inquiry/ls.ts";
import { withScreen } from "../query/prompter-with-screen.ts";
import { TextView } from "../query/text-view.ts";
import { createFilePrompter } from "./file-prompter.ts";
import { createTourModel } from "./tour-model.ts";
import { TOUR, TOUR_FILE, TOUR_TEXT, type TourStep } from "./tour-steps.ts";
import { TOUR_TOOLS } from "./tour-tools.ts";

export async function demo({ context }: Call<object>): Promise<void> {
  const { output } = context;
  const tour = await createTour(context);
  output.print(
    output.paint("bold", "jp: tools and the assistant ask, and the record says who answered."),
  );
  output.print(
    "The model is scripted, nothing leaves this machine. Esc or Ctrl-C ends the tour at any time.",
  );
  if (tour.answersFile !== undefined) {
    output.print(`There is no terminal here: the answers come from ${tour.answersFile}`);
  }
  for (const step of TOUR) {
    const end = await show(step, tour);
    if (end.type === "interrupted" || isCancelled(tour)) break;
  }
  await tour.conversation.release();
  await showRecord(tour);
}

interface Tour {
  /** Of a workspace of its own: nothing of the user's is touched. */
  readonly context: CommandContext;
  readonly conversation: ConversationWriter;
  readonly person: Prompter;
  readonly answersFile?: string;
}

async function createTour(context: CommandContext): Promise<Tour> {
  const { clock, output, version, onOutputGone } = context;
  const root = await mkdtemp(path.join(tmpdir(), "jp-demo-"));
  await writeFile(path.join(root, TOUR_FILE), TOUR_TEXT);
  await createWorkspaceFolder(root, clock);
  const variables = { JP_USER_DATA_DIR: path.join(root, ".jp-user-data") };
  const environment = { ...context.environment, variables };
  const workspace = openWorkspace({ from: root, environment, clock, pid: process.pid });
  const own = { output, clock, version, environment, cwd: root, workspace, onOutputGone };
  const conversation = await workspace.conversations.create({ title: "The tour" });
  const terminal = new TerminalPrompter();
  if (terminal.canAsk()) return { context: own, conversation, person: terminal };
  const answersFile = path.join(root, "answers.json");
  const answers: readonly Json[] = TOUR.flatMap((step) => step.answers);
  await writeFile(answersFile, `${JSON.stringify(answers, null, 2)}\n`);
  return { context: own, conversation, person: createFilePrompter(answersFile), answersFile };
}

async function show(step: TourStep, tour: Tour): Promise<TurnEnd> {
  const { context, conversation, person } = tour;
  const { output, clock } = context;
  output.print("");
  output.print(output.paint("bold", step.title));
  for (const line of step.about) output.print(line);
  output.print("");
  output.print(`${output.paint("green", "you")}  ${step.request}`);
  output.flush(); // A question may follow.
  const tools = [createAskUser(), ...createFileTools({ root: context.cwd })];
  const toolConfig: Record<string, JsonObject> = Object.fromEntries(
    tools.map(({ tool, config }) => [tool.name, { ...(config as JsonObject), enable: true }]),
  );
  const view = new TextView({
    output,
    status: createStatusLine({ stream: process.stderr, now: () => clock.now().getTime() }),
    clock,
    model: "demo/tour",
    tools: resolveTools(parseConfigOrThrow("the tour", { conversation: { tools: toolConfig } })),
    showsReasoning: true,
    showsCalls: true,
    isStructured: false,
    isVerbose: false,
  });
  using interrupt = onInterrupt();
  const end = await runTurn(
    {
      conversation,
      model: createTourModel(step),
      tools: [...TOUR_TOOLS, ...tools.map(({ tool }) => tool)],
      toolConfig,
      ...(step.isDetached !== true && { prompter: withScreen(person, view) }),
      observer: view,
      clock,
      signal: interrupt.signal,
    },
    step.request,
  );
  await view.end(end);
  return end;
}

/** Whoever does not answer has seen enough; that, too, is on record. */
function isCancelled({ conversation }: Tour): boolean {
  const events = [...eventsOf(conversation.stream.entries)];
  const last = events.findLast((event) => event.type === "inquiry_response");
  return last?.outcome === "cancelled" && last.reason === "user";
}

function onInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const abort = new AbortController();
  const onSignal = () => abort.abort();
  process.on("SIGINT", onSignal);
  return { signal: abort.signal, [Symbol.dispose]: () => process.off("SIGINT", onSignal) };
}

async function showRecord({ context, conversation }: Tour): Promise<void> {
  const { output, workspace } = context;
  output.print("");
  output.print(output.paint("bold", "What is on record: every question, who asked, who answered"));
  output.print(output.paint("dim", "$ jp inquiry ls"));
  await listInquiries({ words: [], options: {}, context });
  output.print("");
  output.print(`The record is ${workspace.files.paths(conversation.id).events}`);
  output.print(`Look around:  jp --workspace ${workspace.root} conversation print newest`);
  output.print('Your own:     jp init, then jp query "…"');
}
