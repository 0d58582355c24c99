/**
 * Load test of the built `jp serve` in its own process, with many clients that listen while many answers arrive: how
 * long an answer takes, and the memory according to /proc, so only on Linux.
 */
import { once } from "node:events";
import { Agent, get, type IncomingMessage, request } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, formatMb, formatMs, JP, run } from "./measure.ts";
import { cpuMsOf, leaveQuestions, memoryOf } from "./desk.ts";
import { DeskProcess } from "../test/desk/support.ts";
import { sized } from "./small.ts";
import { percentile } from "./statistics.ts";
import { benchVariables, writeRecords } from "./workspace.ts";

const CLIENTS = sized(500, 5);
const PER_SECOND = sized(50);
const SECONDS = sized(20, 1);
const EVENTS_EACH = 8;
const MAX_MS = 1000;
const MAX_MB = 200;
/** How long clients may take to receive the last events. */
const SETTLE_MS = 30_000;

const AMONG = "jp serve, 500 clients and 50 answers a second";
const LOAD = { time: `${AMONG}: an answer (p99)`, memory: `${AMONG}: peak memory` };

export const deskLoad: Bench = {
  rows: Object.values(LOAD),
  run: async (folder) => {
    if (process.platform !== "linux") return [];
    const ids = writeRecords(folder, PER_SECOND * SECONDS, EVENTS_EACH);
    await leaveQuestions(folder, ids);
    const variables = benchVariables(folder);
    const words = [JP, "serve", "people", "add", "bench"];
    const { output } = await run(process.execPath, words, { env: variables, cwd: folder });
    const server = await DeskProcess.start({ root: folder, variables });
    try {
      return await measureLoad({ server, token: output.trim() }, ids);
    } finally {
      await server.kill();
    }
  },
};

interface Served {
  readonly server: DeskProcess;
  readonly token: string;
}

/**
 * Answers at a fixed pace, however long each takes. Throws unless all are recorded, and every client is told of each.
 */
async function measureLoad(served: Served, ids: readonly string[]) {
  const listeners: Listener[] = [];
  for (let count = 0; count < CLIENTS; count += 1) listeners.push(await Listener.open(served));
  const cpuBefore = cpuMsOf(served.server);
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  const begin = performance.now();
  const times = await Promise.all(
    ids.map(async (id, index) => {
      const due = begin + (index * 1000) / PER_SECOND;
      await sleep(Math.max(0, due - performance.now()));
      await answer(served, agent, id);
      return performance.now() - due;
    }),
  );
  const took = performance.now() - begin;
  agent.destroy();
  const deadline = performance.now() + SETTLE_MS;
  while (listeners.some(({ answered }) => answered < ids.length) && performance.now() < deadline) {
    await sleep(50);
  }
  const bad = listeners.filter(({ answered }) => answered !== ids.length).length;
  const cpuMs = cpuMsOf(served.server) - cpuBefore;
  const bytes = listeners.reduce((sum, listener) => sum + listener.bytes, 0) / CLIENTS;
  for (const listener of listeners) listener.close();
  if (bad > 0) throw new Error(`${bad} of ${CLIENTS} clients have missed answers.`);
  const perSecond = ((ids.length * 1000) / took).toFixed(1);
  return [
    {
      name: LOAD.time,
      unit: "ms",
      goal: { most: MAX_MS },
      figures: { time: { value: percentile(times, 0.99), noise: 0 } },
      detail: `median ${formatMs(percentile(times, 0.5))} of ${ids.length}; ${perSecond} a second`,
    },
    {
      name: LOAD.memory,
      unit: "MB",
      goal: { most: MAX_MB },
      figures: { size: { value: memoryOf(served.server, "VmHWM"), noise: 0 } },
      detail: `${formatMs(cpuMs)} of CPU; ${formatMb(bytes / 1e6)} of events for each client`,
    },
  ] as const;
}

async function answer({ server, token }: Served, agent: Agent, id: string): Promise<void> {
  const url = `${server.url}/api/v1/conversations/jp-c${id}/inquiries/call_0.apply_changes.1/answer`;
  const sent = request(url, {
    method: "POST",
    agent,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  sent.end('{"answer":true}');
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  if (response.statusCode !== 200) throw new Error(`answer: ${response.statusCode} ${text}`);
}

const ANSWERED = Buffer.from("\nevent: answered\n");

/** Counts answers, and parses nothing else, because this process does so for every client. */
class Listener {
  readonly #response: IncomingMessage;
  #rest = Buffer.alloc(0);
  answered = 0;
  bytes = 0;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.on("data", (chunk: Buffer) => this.#read(chunk));
    response.on("error", () => undefined);
  }

  static async open({ server, token }: Served): Promise<Listener> {
    const headers = { authorization: `Bearer ${token}` };
    const sent = get(`${server.url}/api/v1/events`, { headers, agent: false });
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`events: ${response.statusCode}`);
    return new Listener(response);
  }

  close(): void {
    this.#response.destroy();
  }

  #read(chunk: Buffer): void {
    this.bytes += chunk.length;
    const text = Buffer.concat([this.#rest, chunk]);
    let at = text.indexOf(ANSWERED);
    for (; at !== -1; at = text.indexOf(ANSWERED, at + 1)) this.answered += 1;
    this.#rest = text.subarray(Math.max(0, text.length - ANSWERED.length + 1));
  }
}
