/**
 * `node test/support/worker-path-program.ts <folder>`: leaves a turn in a database, and runs `jp worker` in the folder, against a
 * server that plays a provider. Prints the files of src that handle the message, from its row in the database until the
 * request reaches the server, in that order, as JSON.
 *
 * A file counts if one of its functions takes or returns plain data that contains the message, or the conversation whose turn it is.
 * Text alone does not count: what passes it on need not know what it means. What happens behind ports counts too.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { argv, stdout } from "node:process";
import { contains, traceValues } from "./trace-values.ts";

const MESSAGE = "Which of the two is older?\n\nThe first, or the second?";
/** Deep enough for a list of events, too shallow for a whole conversation. */
const MAX_LEVELS = 4;
const MODEL = "anthropic/claude-sonnet-4-5";

const files = new Set<string>();
let isUnderWay = false;
let id: string | undefined;

traceValues((file, values) => {
  if (!isUnderWay || id === undefined) return;
  const followed = [MESSAGE, id];
  const data = values.filter((value) => typeof value === "object");
  const isHandled = data.some((value) => contains(value, followed, MAX_LEVELS));
  if (isHandled) files.add(file.split(path.sep).join("/"));
});

const { WIRE } = await import("../provider/wire.ts");
const { CaptureServer } = await import("../provider/capture-server.ts");
const { runCommand } = await import("./command-host.ts");
const { emptyDatabase } = await import("./postgres.ts");

const [, , folder = ""] = argv;
const root = path.join(folder, "project");
mkdirSync(path.join(root, ".jp"), { recursive: true });
const stop = new AbortController();
await using server = await CaptureServer.start();
server.answer(() => {
  isUnderWay = false;
  stop.abort();
  const headers = { "content-type": "text/event-stream" };
  return { headers, chunks: WIRE.anthropic({ text: "The first." }) };
});
writeFileSync(
  path.join(root, ".jp", "config.toml"),
  `providers.llm.anthropic.base_url = "${server.url}"\n`,
);
const host = {
  cwd: root,
  variables: {
    HOME: folder,
    JP_USER_DATA_DIR: folder,
    JP_TRUSTED_WORKSPACES: root,
    JP_STORE: await emptyDatabase(),
    ANTHROPIC_API_KEY: "none",
  },
};
await runCommand(["store", "migrate"], host);
const enqueued = await runCommand(["query", "--enqueue", "-m", MODEL, MESSAGE], host);
id = enqueued.stdout.trim();
if (id === "") throw new Error(`nothing was enqueued: ${enqueued.stderr}`);
isUnderWay = true;
const { stderr } = await runCommand(["worker"], { ...host, interrupt: stop.signal });
if (isUnderWay) throw new Error(`no request was made: ${stderr}`);
stdout.write(`${JSON.stringify([...files])}\n`);
