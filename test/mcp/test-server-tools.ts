/** The tools of the test server. Each does one thing that a client has to handle. */
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import {
  type CallToolResult,
  ProtocolError,
  Server,
  type Tool,
} from "@modelcontextprotocol/server";
import { ASKING_TOOLS, type Run } from "./asking-tools.ts";

export interface TestServerOptions {
  readonly log: (line: string) => void;
  /** The number of pages of its list of tools; one if absent. */
  readonly pages?: number;
  /** How many times listing the tools fails; never if absent. */
  readonly refusals?: number;
  /** The only versions of the protocol that it supports; all if absent. */
  readonly versions?: string[];
}

const PIXEL = Buffer.from("not really a picture").toString("base64");
/** How long `remember` takes. */
const REMEMBER_MS = 50;
/** What `remember` has stored, by server. */
const memories = new WeakMap<Server, string[]>();
/** The servers whose tool `grow` was called. */
const grown = new WeakSet<Server>();

const TOOLS: Readonly<Record<string, Run>> = {
  ...ASKING_TOOLS,
  echo: ({ given }) => text(String(given["text"])),
  pid: () => text(String(process.pid)),
  variables: () => text(JSON.stringify(process.env)),
  generation: ({ context }) => text(context.mcpReq.envelope === undefined ? "older" : "newer"),
  version: ({ server }) => text(server.getNegotiatedProtocolVersion() ?? ""),
  folder: () => text(process.cwd()),
  large: ({ given }) => text("ä".repeat(Number(given["characters"]))),
  fail: () => ({ ...text("the moon is in the wrong place"), isError: true }),
  refuse: () => {
    throw new ProtocolError(-32_602, "not on a full moon");
  },
  structured: () => ({ content: [], structuredContent: { moon: "full" } }),
  mismatched: () => ({ ...text("as text"), structuredContent: { moon: 3 } }),
  everything: () => ({
    content: [
      { type: "text", text: "first" },
      { type: "image", mimeType: "image/png", data: PIXEL },
      { type: "audio", mimeType: "audio/wav", data: PIXEL },
      { type: "resource_link", name: "moon.txt", uri: "file:///moon.txt" },
      { type: "resource", resource: { uri: "file:///a.txt", text: "embedded" } },
      { type: "resource", resource: { uri: "file:///a.bin", mimeType: "x/y", blob: PIXEL } },
      { type: "text", text: "last" },
    ],
  }),
  crash: () => {
    process.stderr.write("going down\n");
    process.exit(7);
  },
  wait: ({ context, log }) => {
    log("waiting");
    context.mcpReq.signal.addEventListener("abort", () => log("cancelled"));
    return new Promise(() => undefined);
  },
  meta: ({ context: { mcpReq } }) => {
    const { _meta: meta } = mcpReq;
    return text(JSON.stringify(meta));
  },
  progress: async ({ context }) => {
    const { _meta: meta } = context.mcpReq;
    const progressToken = meta?.progressToken ?? 0;
    for (const message of [undefined, "halfway", "done"]) {
      await context.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: 1, total: 3, ...(message !== undefined && { message }) },
      });
    }
    return text("finished");
  },
  /** Sends `line` endlessly, with TOKEN and COUNT replaced, and reads nothing meanwhile. */
  flood: ({ given, context }) => {
    const { _meta: { progressToken = 0 } = {} } = context.mcpReq;
    const line = JSON.stringify(given["line"]).replace('"TOKEN"', JSON.stringify(progressToken));
    let count = 0;
    const write = () => {
      do count += 1;
      while (process.stdout.write(`${line.replace("COUNT", String(count))}\n`));
      process.stdout.once("drain", write);
    };
    process.stdin.pause();
    write();
    return new Promise(() => undefined);
  },
  /** The same, but only when it is cancelled. */
  flood_when_cancelled: (call) => {
    call.context.mcpReq.signal.addEventListener("abort", () => void TOOLS["flood"]?.(call));
    call.log("waiting");
    return new Promise(() => undefined);
  },
  grow: async ({ server }) => {
    grown.add(server);
    await server.sendToolListChanged();
    return text("grown");
  },
  remember: async ({ server, given }) => {
    const memory = memories.get(server) ?? [];
    memories.set(server, memory);
    await delay(REMEMBER_MS);
    memory.push(String(given["text"]));
    return text(`remembered ${memory.length}`);
  },
  recall: ({ server }) => text((memories.get(server) ?? []).join(", ")),
  grandchild: () => text(String(startWaiting(false))),
  escaped: () => text(String(startWaiting(true))),
};

const READ_ONLY: ReadonlySet<string> = new Set([
  "recall",
  "ask_reading",
  "ask_model_reading",
  "ask_and_return_reading",
]);

/** Starts a process that inherits our standard streams, in our process group or in a new one. */
function startWaiting(detached: boolean): number | undefined {
  const wait = "setInterval(() => undefined, 1000)";
  return spawn(process.execPath, ["-e", wait], { stdio: "inherit", detached }).pid;
}

export function createTestServer(options: TestServerOptions): Server {
  const { log, pages = 1, refusals = 0, versions } = options;
  let refusalsLeft = refusals;
  const server = new Server(
    { name: "test", version: "1.0.0" },
    {
      capabilities: { tools: { listChanged: true } },
      ...(versions !== undefined && { supportedProtocolVersions: versions }),
    },
  );
  server.setRequestHandler("tools/list", ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    refusalsLeft -= 1;
    if (refusalsLeft >= 0) throw new ProtocolError(-32_603, "the list is on the moon");
    log(`listed page ${page}`);
    // The named tools are on the last page, after pages with one tool each.
    if (page + 1 < pages) return { tools: [toTool(`filler_${page}`)], nextCursor: `${page + 1}` };
    const names = [...Object.keys(TOOLS), ...(grown.has(server) ? ["grown"] : [])];
    return { tools: names.map(toTool) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const run = TOOLS[params.name];
    if (run === undefined) return { ...text(`no tool ${params.name}`), isError: true };
    return run({ server, given: params.arguments ?? {}, context, log });
  });
  return server;
}

function toTool(name: string): Tool {
  return {
    name,
    description: `Does ${name}. It is only there for tests.`,
    inputSchema: {
      type: "object",
      properties: { text: { type: "string", description: "What to say." } },
      ...(name === "echo" && { required: ["text"] }),
    },
    ...(READ_ONLY.has(name) && { annotations: { readOnlyHint: true } }),
    ...(name === "mismatched" && {
      outputSchema: { type: "object", properties: { moon: { type: "string" } } },
    }),
  };
}

function text(value: string): CallToolResult {
  return { content: [{ type: "text", text: value }] };
}
