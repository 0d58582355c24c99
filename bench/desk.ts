/**
 * The built `jp serve` in its own process, with many conversations: its memory and CPU time according to /proc, so
 * only on Linux, how soon a client learns of a question, and many clients at once.
 */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConversationWriter } from "../src/stores/index.ts";
import { DeskProcess } from "../test/desk/support.ts";
import { questionTurn, writeEvents } from "./data.ts";
import { type Bench, formatMb, formatMs, JP, type Result, run } from "./measure.ts";
import { sized } from "./small.ts";
import { percentile } from "./statistics.ts";
import { benchVariables, openBenchWorkspace, recordFolder, writeRecords } from "./workspace.ts";

const FINISHED = sized(10_000);
const PENDING = sized(1000);
const EVENTS_EACH = 8;
const CLIENTS = sized(500, 5);
/** Includes at least one refresh of the pending decisions, which happens every 30 seconds. */
const IDLE_MS = sized(35_000);
const LISTENING_MS = sized(60_000, 500);
const QUESTION_EVERY_MS = 100;
const MAX_MB = 150;
const MAX_IDLE_PERCENT = 1;
const MAX_DELAY_MS = 200;

const AMONG = "jp serve, 10,000 conversations and 1,000 questions";
const DESK = {
  memory: `${AMONG}: peak memory`,
  idle: `${AMONG}: CPU while nothing happens`,
  delay: `${AMONG}: a client knows of another (p99)`,
  lastDelay: `${AMONG}: the last of 500 clients knows of another (p99)`,
  clients: `${AMONG}: peak memory after 500 clients for a minute`,
};

export const desk: Bench = {
  rows: Object.values(DESK),
  run: async (folder) => {
    if (process.platform !== "linux") return [];
    const ids = writeRecords(folder, FINISHED + PENDING, EVENTS_EACH);
    await leaveQuestions(folder, ids.slice(0, PENDING));
    const variables = benchVariables(folder);
    const words = [JP, "serve", "people", "add", "bench"];
    const { output: token } = await run(process.execPath, words, { env: variables, cwd: folder });
    const server = await DeskProcess.start({ root: folder, variables });
    try {
      const served: Served = { server, token: token.trim() };
      const idle = await measureIdle(served);
      const memory = await measureMemory(served);
      await using writer = await openBenchWorkspace(folder).conversations.create({});
      const one = await measureClients(served, writer, 1);
      const many = await measureClients(served, writer, CLIENTS);
      const delays = [delayResult(DESK.delay, one), delayResult(DESK.lastDelay, many)];
      return [memory, idle, ...delays, clientsResult(many)];
    } finally {
      await server.kill();
    }
  },
};

/** Leaves what a process would: a record that ends with a question, and its marker. */
export async function leaveQuestions(folder: string, ids: readonly string[]): Promise<void> {
  const markers = path.join(await openBenchWorkspace(folder).ensureUserFolder(), "open-turns");
  mkdirSync(markers, { recursive: true });
  for (const id of ids) {
    writeEvents(recordFolder(folder, `${id}-bench`), "Waiting", questionTurn(0));
    writeFileSync(path.join(markers, `jp-c${id}`), `${id}-bench\n`);
  }
}

interface Served {
  readonly server: DeskProcess;
  readonly token: string;
}

/** In megabytes: the peak, or the current value. */
export function memoryOf({ pid }: DeskProcess, field: "VmHWM" | "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return (Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / 1e6;
}

/** Linux counts a process's CPU time in hundredths of a second. */
const TICK_MS = 10;

export function cpuMsOf({ pid }: DeskProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, is the second field and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function measureIdle(served: Served): Promise<Result> {
  const before = cpuMsOf(served.server);
  await sleep(IDLE_MS);
  const used = cpuMsOf(served.server) - before;
  return {
    name: DESK.idle,
    unit: "% of a core",
    goal: { most: MAX_IDLE_PERCENT },
    figures: { cpu: { value: (used / IDLE_MS) * 100, noise: 0 } },
    detail: `${formatMs(used)} in ${formatMs(IDLE_MS)}; ${formatMs(before)} to start`,
  };
}

/** The memory for serving the page's requests, including a search through everything. */
async function measureMemory(served: Served): Promise<Result> {
  const started = memoryOf(served.server, "VmHWM");
  for (const list of ["inquiries?state=pending", "conversations", "inquiries"]) {
    await readPage(served, list);
  }
  for (const search of ["conversations?text=nowhere", "inquiries?text=nowhere"]) {
    let next: string | undefined;
    do {
      const after: string = next === undefined ? "" : `&cursor=${encodeURIComponent(next)}`;
      next = await readPage(served, `${search}${after}`);
    } while (next !== undefined);
  }
  const megabytes = memoryOf(served.server, "VmHWM");
  return {
    name: DESK.memory,
    unit: "MB",
    goal: { most: MAX_MB },
    figures: { size: { value: megabytes, noise: 0 } },
    detail: `after searches through all of them; ${formatMb(started)} before`,
  };
}

async function readPage({ server, token }: Served, list: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${server.url}/api/v1/${list}`, { headers });
  if (!response.ok) throw new Error(`${list}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { next?: string }).next; // As the API describes it.
}

/** A client of the event stream, whose events are numbered without gaps. */
class Client {
  readonly #response: IncomingMessage;
  #rest = "";
  first: number | undefined;
  last: number | undefined;
  isComplete = true;
  onEvent: (text: string) => void = () => undefined;
  onEnd: () => void = () => undefined;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    response.on("error", () => undefined);
    response.on("close", () => {
      this.isComplete = false;
      this.onEnd();
    });
  }

  static async open({ server, token }: Served): Promise<Client> {
    const headers = { authorization: `Bearer ${token}` };
    const request = get(`${server.url}/api/v1/events`, { headers, agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`events: ${response.statusCode}`);
    return new Client(response);
  }

  close(): void {
    this.#response.destroy();
  }

  #read(chunk: string): void {
    const blocks = `${this.#rest}${chunk}`.split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (!block.startsWith("id: ")) continue;
      const id = Number(block.slice("id: ".length, block.indexOf("\n")));
      this.first ??= id;
      this.isComplete &&= this.last === undefined || id === this.last + 1;
      this.last = id;
      this.onEvent(block);
    }
  }
}

interface Listened {
  /** For each question, the time from the start of its append until the last client has it. */
  readonly delays: readonly number[];
  readonly events: number;
  readonly cpuMs: number;
  /** Peak memory. */
  readonly megabytes: { readonly halfway: number; readonly end: number };
}

/** Asks in a conversation, and throws unless every client gets every event in order. */
async function measureClients(
  served: Served,
  writer: ConversationWriter,
  count: number,
): Promise<Listened> {
  const clients = await Promise.all(Array.from({ length: count }, () => Client.open(served)));
  const delays: number[] = [];
  const cpuBefore = cpuMsOf(served.server);
  const begin = performance.now();
  let halfway: number | undefined;
  while (performance.now() < begin + LISTENING_MS) {
    if (performance.now() > begin + LISTENING_MS / 2) halfway ??= memoryOf(served.server, "VmHWM");
    asked += 1;
    const turn = questionTurn(asked);
    await writer.append(...turn.slice(0, -1));
    const seen = Promise.all(clients.map((client) => untilAsked(client, `"call_${asked}.`)));
    const start = performance.now();
    await writer.append(...turn.slice(-1));
    await seen;
    delays.push(performance.now() - start);
    await sleep(QUESTION_EVERY_MS);
  }
  const cpuMs = cpuMsOf(served.server) - cpuBefore;
  const megabytes = { halfway: halfway ?? 0, end: memoryOf(served.server, "VmHWM") };
  const [{ first = 0, last = 0 } = {}] = clients;
  const isSame = (client: Client) =>
    client.isComplete && client.first === first && client.last === last;
  const bad = clients.filter((client) => !isSame(client)).length;
  for (const client of clients) {
    client.onEnd = () => undefined;
    client.close();
  }
  if (bad > 0) throw new Error(`${bad} of ${count} clients have missed events.`);
  return { delays, events: last - first + 1, cpuMs, megabytes };
}

/** The number of the last question. */
let asked = 0;

function untilAsked(client: Client, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.onEnd = () => reject(new Error(`A client was disconnected after event ${client.last}.`));
    client.onEvent = (text) => {
      if (text.includes("\nevent: pending\n") && text.includes(id)) resolve();
    };
  });
}

/** No goal for many clients: this process reads for all of them, which takes part of that time. */
function delayResult(name: string, { delays }: Listened): Result {
  return {
    name,
    unit: "ms",
    ...(name === DESK.delay && { goal: { most: MAX_DELAY_MS } }),
    figures: { time: { value: percentile(delays, 0.99), noise: 0 } },
    detail: `median ${formatMs(percentile(delays, 0.5))} of ${delays.length}, writing and syncing included`,
  };
}

function clientsResult({ events, cpuMs, megabytes }: Listened): Result {
  return {
    name: DESK.clients,
    unit: "MB",
    figures: { size: { value: megabytes.end, noise: 0 } },
    detail:
      `${formatMb(megabytes.halfway)} after half of it; all got all ${events} events in order; ` +
      `${formatMs(cpuMs)} of CPU`,
  };
}
