/**
 * `node test/support/query-path-program.ts <folder>`: runs `jp query` with a message and a flag in the folder, against a
 * server that plays a provider. Prints the files of src that handle the message or the flag, from the command line until
 * the request reaches the server, in that order, as JSON.
 *
 * A file counts if one of its functions takes or returns plain data that contains the message or the flag. Text alone does
 * not count: what passes it on need not know what it means. What happens behind ports counts too: in the conversation's store
 * and in the turn's observer. A flag is followed until it is a setting of the config, which has many other sources.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { argv, stdout } from "node:process";
import { contains, traceValues } from "./trace-values.ts";

/** A title is made of its first line, and would be taken for a message of one line. */
const MESSAGE = "Which of the two is older?\n\nThe first, or the second?";
const FLAG = "temperature=0.5";
/** Deep enough for a list of events, too shallow for a whole conversation. */
const MAX_LEVELS = 4;
const MODEL = "anthropic/claude-sonnet-4-5";

const files = new Set<string>();
let isUnderWay = true;

traceValues((file, values) => {
  if (!isUnderWay) return;
  const data = values.filter((value) => typeof value === "object");
  const isHandled = data.some((value) => contains(value, [MESSAGE, FLAG], MAX_LEVELS));
  if (isHandled) files.add(file.split(path.sep).join("/"));
});

const { WIRE } = await import("../provider/wire.ts");
const { CaptureServer } = await import("../provider/capture-server.ts");
const { runCommand } = await import("./command-host.ts");

const [, , folder = ""] = argv;
const root = path.join(folder, "project");
mkdirSync(path.join(root, ".jp"), { recursive: true });
await using server = await CaptureServer.start();
server.answer(() => {
  isUnderWay = false;
  const headers = { "content-type": "text/event-stream" };
  return { headers, chunks: WIRE.anthropic({ text: "The first." }) };
});
writeFileSync(
  path.join(root, ".jp", "config.toml"),
  `providers.llm.anthropic.base_url = "${server.url}"\n`,
);
const { stderr } = await runCommand(["query", "--new", "-m", MODEL, "-p", FLAG, MESSAGE], {
  cwd: root,
  variables: {
    HOME: folder,
    JP_USER_DATA_DIR: folder,
    JP_TRUSTED_WORKSPACES: root,
    ANTHROPIC_API_KEY: "none",
  },
});
if (isUnderWay) throw new Error(`no request was made: ${stderr}`);
stdout.write(`${JSON.stringify([...files])}\n`);
