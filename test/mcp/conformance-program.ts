/**
 * A client for the protocol's conformance suite: connects to the server at this address, calls each of its tools, and
 * logs in where the server wants that. A browser that follows each link plays the user.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  loadLogIn,
  loadRedirect,
  type LoginSettings,
  openLogins,
} from "../../src/reach/login/index.ts";
import {
  McpError,
  type McpServer,
  McpServers,
  type RemoteTool,
  ScopeMissing,
} from "../../src/reach/mcp/index.ts";
import { isJsonObject, type JsonObject, parseJson, systemClock } from "../../src/util/index.ts";

const [url = ""] = process.argv.slice(2);
const server = { name: "suite", url };
const { signal } = new AbortController();
/** Hosts give up after a few attempts, too. */
const MAX_LOGINS = 3;
const REDIRECT = "http://127.0.0.1:9/callback";
/** The suite's own document that describes a client. */
const CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json";

const REFUSALS: ReadonlySet<string> = new Set(["mcp_login_required", "mcp_scope_missing"]);

let refusal: McpError | undefined;
const folder = mkdtempSync(path.join(tmpdir(), "jp-conformance-"));
try {
  await run();
} finally {
  rmSync(folder, { recursive: true });
}

async function run(): Promise<void> {
  const logins = await openLogins({ folder, clock: systemClock });
  const common = { isOptional: false, allowsSecrets: false, allowsSampling: false } as const;
  const settings = {
    ...common,
    ...server,
    type: "http",
    headers: {},
    startupTimeoutMs: 10_000,
  } as const;
  await using servers = new McpServers(new Map([[server.name, settings]]), {
    variables: {},
    cwd: ".",
    clientInfo: { name: "jp", version: "0" },
    findLogins: async () => logins,
    onRefusal: ({ error }) => {
      refusal = error;
    },
  });
  for (let count = 0; ; count += 1) {
    const missing = await useServer(servers);
    if (missing === undefined) return;
    if (count === MAX_LOGINS) throw missing;
    await logIn(missing instanceof ScopeMissing ? missing.scopes : []);
    servers.allowRestart();
  }

  async function logIn(scopes: readonly string[]): Promise<void> {
    const { logIn: start } = await loadLogIn();
    const login = await start({
      server,
      settings: { ...contextSettings(), scopes },
      before: logins.find(server),
      redirectUrl: REDIRECT,
      approve: async () => undefined,
      visit,
      now: () => systemClock.now(),
      signal,
    });
    await logins.save(server, login);
  }
}

/** Calls each tool. Returns the error if the user has to log in. */
async function useServer(servers: McpServers): Promise<McpError | undefined> {
  refusal = undefined;
  try {
    const reached = await servers.get(server.name, signal);
    if (reached.type === "absent") throw reached.warning;
    for (const tool of reached.tools) await callTool(reached.server, tool);
    return refusal;
  } catch (error) {
    const isRefusal = error instanceof McpError && REFUSALS.has(error.code);
    if (!isRefusal) throw error;
    return error;
  }
}

/** Accepts every form, with its defaults. */
async function callTool(asked: McpServer, tool: RemoteTool): Promise<void> {
  const given = argumentsOf(tool.inputSchema);
  const call = asked.call({ tool, name: tool.name, arguments: given });
  for (;;) {
    const step = await call.next({ signal });
    if (step.type !== "asks") return;
    const answers = step.requests.map(({ key, params }) => {
      const schema = isJsonObject(params) ? params["requestedSchema"] : undefined;
      return [key, { action: "accept", content: defaultsOf(schema) }] as const;
    });
    call.answer(new Map(answers));
  }
}

function defaultsOf(schema: unknown): JsonObject {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  const fields = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const value = isJsonObject(field) ? field["default"] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function argumentsOf({ properties }: JsonObject): JsonObject {
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return Object.fromEntries(names.map((name) => [name, 1]));
}

/** The suite passes the ids of clients that are registered by hand. */
function contextSettings(): LoginSettings {
  const context = parseJson(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
  const { client_id: id, client_secret: secret } = isJsonObject(context) ? context : {};
  return {
    clientId: typeof id === "string" ? id : CLIENT_DOCUMENT,
    ...(typeof secret === "string" && { clientSecret: secret }),
  };
}

async function visit(link: URL, state: string) {
  const { parseRedirect } = await loadRedirect();
  const { headers } = await fetch(link, { redirect: "manual" });
  const redirect = parseRedirect(headers.get("location") ?? "", REDIRECT, state);
  if (redirect === undefined) throw new Error("The browser was sent elsewhere.");
  return redirect;
}
