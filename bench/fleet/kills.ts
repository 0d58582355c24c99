/**
 * Runs the commands on a database while parts of it are killed: workers, the desk, the server, and every row of the
 * queue. All turns have to finish, no answer may get lost, and no tool may rerun unless someone allowed it.
 */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConversationEvent, lastTurnOf } from "../../src/record/conversation/index.ts";
import { DeskError } from "../../src/surfaces/desk/client.ts";
import type { DecisionJson } from "../../src/surfaces/desk/index.ts";
import { enqueueTurn } from "../../src/index.ts";
import { type Bench, formatMs } from "../measure.ts";
import { sized } from "../small.ts";
import { Fleet } from "./fleet.ts";
import { Crew, openSite, prepareSite, type Site } from "./site.ts";

const TURNS = sized(600, 20);
const CLIENTS = 8;
/** Longer than a lease. */
const FROZEN_MS = 12_000;
/** How long restarting the server takes. */
const DOWN_MS = 1500;
const MAX_MS = 120_000;

const NAME = "600 turns, while workers, desk, server and queue are killed: until all have finished";

export const fleetKills: Bench = {
  rows: [NAME],
  run: async (folder) => {
    if (process.platform !== "linux") return [];
    await using fleet = await Fleet.start();
    await using model = await CallingModel.start();
    const runsFile = path.join(folder, "runs.txt");
    writeFileSync(runsFile, "");
    const site = prepareSite(folder, fleet, configOf(model, runsFile));
    await enqueueAll(site);
    await using crew = new Crew(site);
    await crew.startWorker(0);
    await crew.startWorker(1);
    await crew.startDesk();
    const client = new Answering(crew);
    const begin = performance.now();
    const late = sleep(MAX_MS * 2, undefined, { ref: false }).then(() => {
      throw new Error(`Not all turns have finished in ${formatMs(MAX_MS * 2)}.`);
    });
    const answering = client.untilDone(() => fleet.countOpen());
    await Promise.race([Promise.all([answering, disturb(fleet, crew)]), late]);
    const took = performance.now() - begin;
    const { doubts, runs } = await checkRecords(site, runsFile, client);
    return [
      {
        name: NAME,
        unit: "ms",
        goal: { most: MAX_MS, text: `${MAX_MS / 1000} s` },
        figures: { time: { value: took, noise: 0 } },
        detail: `${formatMs(took)}; ${client.answered.size} answers, ${runs} runs, ${doubts} calls in doubt that someone was asked about`,
      },
    ];
  },
};

/** One disturbance after the other, while turns finish. */
async function disturb(fleet: Fleet, crew: Crew): Promise<void> {
  const untilFinished = (share: number) => fleet.untilOpen(TURNS * (1 - share));
  await untilFinished(0.1);
  await crew.killWorker(0);
  await crew.startWorker(0);
  await untilFinished(0.25);
  await crew.killDesk();
  await crew.startDesk();
  await untilFinished(0.4);
  await fleet.server.tell("kill");
  await sleep(DOWN_MS);
  await fleet.server.tell("start");
  await untilFinished(0.55);
  crew.signalWorker(1, "SIGSTOP");
  await sleep(FROZEN_MS);
  crew.signalWorker(1, "SIGCONT");
}

/** The tool adds a line to the file for each run. */
function configOf({ url }: CallingModel, runsFile: string): readonly string[] {
  return [
    'assistant.model.id = "llamacpp/bench"',
    `providers.llm.llamacpp.base_url = "${url}"`,
    "[conversation.tools.deploy]",
    'source = "local"',
    'description = "Restarts a service."',
    `command = { program = "echo {{context.conversation_id}} >> '${runsFile}'; sleep 0.05", shell = true }`,
    'run = "ask"',
    "enable = true",
    `subject_ignore = ["${runsFile}"]`,
    "[conversation.tools.deploy.parameters.service]",
    'type = "string"',
  ];
}

async function enqueueAll(site: Site): Promise<void> {
  const store = await openSite(site);
  for (let count = 0; count < TURNS; count += 1) {
    await using conversation = await store.create({});
    await enqueueTurn(conversation, "Restart it.");
  }
  await store.close();
}

/** Answers everything pending over HTTP, and retries if the desk was down. */
class Answering {
  readonly #crew: Crew;
  /** Decisions whose answer the desk has confirmed, by conversation and ID. */
  readonly answered = new Map<string, DecisionJson>();

  constructor(crew: Crew) {
    this.#crew = crew;
  }

  async untilDone(countOpen: () => Promise<number>): Promise<void> {
    for (;;) {
      const items = [...(await this.#find())];
      if (items.length === 0 && (await countOpen()) === 0) return;
      const client = async () => {
        for (let item = items.shift(); item !== undefined; item = items.shift())
          await this.#answer(item);
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      await sleep(50);
    }
  }

  async #find(): Promise<readonly DecisionJson[]> {
    try {
      return (await this.#crew.client.pendingPage({ limit: 100 })).items;
    } catch (error) {
      return this.#passed(error);
    }
  }

  async #answer(item: DecisionJson): Promise<void> {
    const key = `${item.conversation} ${item.id}`;
    const answer = item.kind === "in_doubt" ? "run" : true;
    try {
      await this.#crew.client.answer(item, answer);
      this.answered.set(key, item);
    } catch (error) {
      this.#passed(error);
    }
  }

  /** Ignores the error: if the decision is still pending, it will be listed again. */
  #passed(error: unknown): readonly DecisionJson[] {
    if (error instanceof DeskError) return []; // The desk was down, or could not read the database.
    throw error;
  }
}

/** Throws unless every answer is on record once, and each tool ran as often as allowed. */
async function checkRecords(site: Site, runsFile: string, { answered }: Answering) {
  const store = await openSite(site);
  const lines = readFileSync(runsFile, "utf8").split("\n").filter(Boolean);
  const runs = Map.groupBy(lines, (line) => line);
  let doubts = 0;
  let ends = 0;
  const decided = new Set<string>();
  for (const { id } of await store.list()) {
    const events = lastTurnOf((await store.load(id)).stream.entries);
    const decisions = events.filter(
      (event): event is Decision => event.type === "permission_decision",
    );
    for (const { id: asked } of decisions) {
      if (decided.has(`${id} ${asked}`)) throw new Error(`${id}: ${asked} was decided twice.`);
      decided.add(`${id} ${asked}`);
    }
    const responses = events.filter(({ type }) => type === "tool_call_response").length;
    if (responses !== 1) throw new Error(`${id} has ${responses} results.`);
    ends += events.some(({ type }) => type === "chat_response") ? 1 : 0;
    doubts += decisions.filter(({ action }) => action === "rerun").length;
  }
  await store.close();
  const lost = [...answered.keys()].filter((key) => !decided.has(key));
  if (lost.length > 0) throw new Error(`${lost.length} answers were lost: ${lost[0]}`);
  if (ends !== TURNS) throw new Error(`${ends} of ${TURNS} turns have ended.`);
  const again = [...runs.values()].reduce((sum, { length }) => sum + length - 1, 0);
  if (again > doubts) throw new Error(`${again} runs more than calls, and ${doubts} were allowed.`);
  if (runs.size !== TURNS) throw new Error(`${runs.size} of ${TURNS} tools have run.`);
  return { doubts, runs: lines.length };
}

type Decision = Extract<ConversationEvent, { readonly type: "permission_decision" }>;

/** A model that calls the tool, and replies once it has a result: a llama.cpp server on loopback. */
class CallingModel implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<CallingModel> {
    const model = new CallingModel();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // It listens on a port.
    return `http://127.0.0.1:${port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.method !== "POST") return void response.writeHead(404).end();
    const { messages = [] } = JSON.parse(body) as { readonly messages?: readonly Message[] };
    const call = { name: "deploy", arguments: '{"service":"api"}' };
    const [delta, reason] =
      messages.at(-1)?.role === "tool"
        ? [{ content: "It was restarted." }, "stop"]
        : [
            { tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }] },
            "tool_calls",
          ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const choice of [{ delta }, { delta: {}, finish_reason: reason }]) {
      const chunk = {
        id: "1",
        object: "chat.completion.chunk",
        choices: [{ index: 0, ...choice }],
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  }
}

interface Message {
  readonly role: string;
}
