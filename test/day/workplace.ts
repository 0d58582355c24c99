/**
 * Where the day happens: a small git repository, a model that replies to what it is told, a tool that asks, and an MCP
 * server that asks with a form.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { type ChatBody, ModelServer, type Piece, type Reply } from "../cli/model-server.ts";
import { JP, NODE_COMPILE_CACHE } from "../cli/support.ts";
import { CaptureServer } from "../provider/capture-server.ts";
import { WIRE } from "../provider/wire.ts";

/** The length of its path affects line breaks, so it is always in the same folder. */
const PARENT = "/tmp/jp-day-";
const FOLDER = /jp-day-\w{6}/g;
/** jp names the folder of a folder by its path. The beginning may be above the screen. */
const FOLDER_KEY = /(?<=notes-)(?:[0-9a-f]\n?){16}|^[0-9a-f]{2,15}(?=\/config\.toml$)/gm;
/** The link of the desk works once. */
const LOGIN = /(?<=#login=)(?:[\w-]\n?){43}/g;
const QR_ROW = /^[█▀▄ ]+$/gm;

export interface Workplace {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Sets the clock of jp, which stands still otherwise. */
  setMinute(minute: number): void;
  /** Replaces what differs between runs. */
  normalize(text: string): string;
}

export interface WorkplaceOptions {
  /** The shop is a workspace already, with its tools, and trusted. */
  readonly isPrepared: boolean;
}

export function createWorkplace(model: ScriptedModel, { isPrepared }: WorkplaceOptions): Workplace {
  const root = mkdtempSync(PARENT);
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const at = (...names: readonly string[]) => path.join(root, ...names);
  for (const name of ["bin", "home/.config/jp", "notes", "shop/src/deep"])
    mkdirSync(at(name), { recursive: true });
  writeFileSync(
    at("home", ".config", "jp", "config.toml"),
    [
      "assistant.request.base_backoff_ms = 10",
      // So that the screen says when a tool has started: time does not pass within a step.
      "style.tool_call.progress.delay_secs = 0",
      `providers.llm.llamacpp.base_url = "${model.url}"`,
      `providers.llm.anthropic.base_url = "${model.paidUrl}"`,
      "",
    ].join("\n"),
  );
  for (const [name, content] of Object.entries(FILES)) writeFileSync(at("shop", name), content);
  writeFileSync(at("notes", "list.txt"), "milk\nbread\n");
  writeFileSync(at("clock.cjs"), CLOCK);
  writeFileSync(at("bin", "jp"), `#!/bin/sh\nexec node -r "${at("clock.cjs")}" "${JP}" "$@"\n`);
  writeFileSync(at("bin", "bwrap"), "#!/bin/sh\n"); // The same on all machines. No command runs in it.
  for (const name of ["jp", "bwrap"]) chmodSync(at("bin", name), 0o755);
  const git = (...words: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...words], {
      cwd: at("shop"),
    });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=Add the shop");
  const variables = {
    PATH: [at("bin"), path.dirname(process.execPath), process.env["PATH"]].join(":"),
    HOME: at("home"),
    TMPDIR: root,
    LANG: "C.UTF-8",
    TZ: "UTC",
    PS1: "$ ",
    DAY: root,
    JP_SESSION: "day",
    /** Files are read in the order of the calls, so that calls of one reply ask in their order. */
    UV_THREADPOOL_SIZE: "1",
    NODE_COMPILE_CACHE,
  };
  const setMinute = (minute: number) => {
    writeFileSync(at("next-minute"), `${minute}`);
    renameSync(at("next-minute"), at("minute")); // jp never reads half of it.
  };
  setMinute(0);
  if (isPrepared)
    execFileSync("sh", ["-c", PREPARE], { cwd: at("shop"), env: variables, stdio: "ignore" });
  return {
    folder: at("shop"),
    variables,
    setMinute,
    normalize: (text) =>
      text
        .replaceAll(FOLDER, "jp-day-k3Xw9a")
        .replaceAll(FOLDER_KEY, (found) => found.replaceAll(/./g, "8"))
        .replaceAll(LOGIN, (found) => found.replaceAll(/./g, "x"))
        .replaceAll(QR_ROW, "▀▄█ a row of the QR code"),
  };
}

/** Time only passes between the steps. So ages, ids and durations are always the same. */
const CLOCK = `
const { readFileSync } = require("node:fs");
const START = Date.UTC(2026, 0, 2, 9);
const now = () => START + 60_000 * Number(readFileSync(process.env.DAY + "/minute", "utf8"));
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }
  static now() {
    return now();
  }
};
`;

const PREPARE = `
jp init --non-interactive --allow edit
jp config set assistant.model.id llamacpp/scripted
cat tools.toml >> .jp/config.toml
jp mcp add --in workspace tracker node -- tracker.mjs
jp trust --yes
mkdir .jp/commands
echo 'Review $ARGUMENTS as a maintainer would.' > .jp/commands/review.md
`;

const TOOLS = `
[conversation.tools.release]
source = "local"
command = "node release.cjs"
summary = "Publish a version."
parameters.version.type = "string"

[conversation.tools.check]
source = "local"
command = "sh run-tests.sh"
summary = "Run the tests."
run = "unattended"

[conversation.tools.build]
source = "local"
command = "node build.cjs"
summary = "Build the shop."
`;

/** Never ends by itself. */
const BUILD = `
require("node:fs").writeFileSync("building", "");
console.error("2.4s compiled 12 of 40 files");
setInterval(() => {}, 60_000);
`;

const TESTS = `
i=1
while [ $i -le 31 ]; do echo "ok $i - slug $i"; i=$((i + 1)); done
echo "not ok 32 - Café becomes cafe" >&2
exit 1
`;

const RELEASE = `
const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const channels = ["stable", "beta", "nightly"];
const questions = [
  { id: "channel", text: "Which channel?", answer_type: { type: "select", options: channels } },
  { id: "token", text: "Registry token?", answer_type: { type: "secret" } },
  { id: "sure", text: "Publish it now?", answer_type: { type: "boolean" }, default: false },
];
const question = questions.find(({ id }) => !(id in tool.answers));
if (question) console.log(JSON.stringify({ type: "needs_input", question }));
else console.log("Published " + tool.arguments.version + " as " + tool.answers.channel + ".");
`;

const TRACKER = `
import { createInterface } from "node:readline";
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const inputSchema = { type: "object", properties: { title: { type: "string" } } };
const tools = [{ name: "create_issue", description: "Create an issue.", inputSchema }];
const requestedSchema = {
  type: "object",
  required: ["priority", "assignee"],
  properties: {
    priority: {
      type: "string",
      title: "Priority",
      oneOf: [{ const: "p1", title: "Urgent" }, { const: "p2", title: "Normal" }],
    },
    assignee: { type: "string", title: "Assignee", description: "A user name" },
    notify: { type: "boolean", title: "Notify the team", default: true },
  },
};
let call;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "initialize") {
    const { protocolVersion } = params;
    const serverInfo = { name: "tracker", version: "1" };
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") send({ id, result: { tools } });
  else if (method === "tools/call") {
    call = id;
    const form = { message: "A few details for the issue", requestedSchema };
    send({ id: "form", method: "elicitation/create", params: form });
  } else if (id === "form") {
    const { priority, assignee } = result.content ?? {};
    const text = priority ? "Created #12 (" + priority + ") for " + assignee + "." : "No issue.";
    send({ id: call, result: { content: [{ type: "text", text }] } });
  } else if (id !== undefined) send({ id, error: { code: -32601, message: "unknown" } });
});
`;

const ANSWERS = `
permissions = [{ tool = "release", decision = "approve" }]
answers = [
  { tool = "release", question = "channel", answer = "beta" },
  { tool = "release", question = "token", secret_env = "TOKEN" },
  { tool = "release", question = "sure", answer = true },
]
`;

const SLUG = 'return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");';

const FILES: Readonly<Record<string, string | Buffer>> = {
  "AGENTS.md": "# Shop\nUse tabs. Run `node test.js` after each change.\n",
  "src/slug.js": `export function slug(title) {\n  ${SLUG}\n}\n`,
  "src/cart.js": 'import { slug } from "./slug.js";\nexport const link = (name) => slug(name);\n',
  "logo.png": Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
  "tools.toml": TOOLS,
  "release.cjs": RELEASE,
  "tracker.mjs": TRACKER,
  "build.cjs": BUILD,
  "run-tests.sh": TESTS,
  "ci.toml": ANSWERS,
  "src/deep/my-parser.js": "export const parse = JSON.parse;\n",
  "menu.txt": Buffer.from("Caf\u00e9 cr\u00e8me 3 \u20ac\n".replace("\u20ac", "EUR"), "latin1"),
};

const EXPLANATION = `# How \`slug\` works

It turns a title into a part of a URL:

1. **Lower case** first, so that \`Hello\` and \`hello\` are the same.
2. Each run of other characters becomes one dash. That loses *accented* letters, such as é in Café.

\`\`\`js
export function slug(title) {
  ${SLUG}
}
\`\`\`

| title | slug |
|---|---|
| Hello, world! | \`hello-world-\` |
| Café | \`caf-\` |

See [the standard](https://url.spec.whatwg.org/#url-writing).
`;

const FIX = {
  path: "src/slug.js",
  patterns: [{ old: "title.toLowerCase()", new: 'title.normalize("NFD").toLowerCase()' }],
};

const USE_FIX = { name: "fs_modify_file", arguments: FIX };
const RENAME = {
  name: "fs_modify_file",
  arguments: {
    path: "src/cart.js",
    patterns: [{ old: "(name) => slug(name)", new: "(title) => slug(title)" }],
  },
};
const ADD_TEST = {
  name: "fs_create_file",
  arguments: {
    path: "src/slug.test.js",
    content: 'import { slug } from "./slug.js";\nconsole.log(slug("A"));\n',
  },
};
const TABLE = {
  name: "fs_create_file",
  arguments: {
    path: "src/table.js",
    content: Array.from(
      { length: 240 },
      (_, index) => `export const letter${index} = ${index};\n`,
    ).join(""),
  },
};
const TRIM = {
  name: "fs_modify_file",
  arguments: {
    path: "src/slug.js",
    patterns: [{ old: "return title.normalize", new: "return title.trim().normalize" }],
  },
};
const TRIM_LINK = {
  name: "fs_modify_file",
  arguments: {
    path: "src/cart.js",
    patterns: [{ old: "slug(title)", new: "slug(title.trim())" }],
  },
};
const LEARN = {
  name: "fs_modify_file",
  arguments: {
    path: "AGENTS.md",
    patterns: [{ old: "Use tabs.", new: "Use tabs. Test accents." }],
  },
};
const SURE_CALL = {
  name: "ask_user",
  arguments: { question: "Use the standard?", answer_type: "boolean" },
};
const RELEASE_CALL = { name: "release", arguments: { version: "1.1.0" } };
const ISSUE_CALL = { name: "create_issue", arguments: { title: "Accents are lost" } };

const THOUGHTS = Array.from(
  { length: 6 },
  (_, index) => `${index + 1}. An accent is a letter and a mark, so I could take it apart.\n`,
).join("");

/** By the last line of the user's last message: one after the other, then again from the first. */
const REPLIES: Readonly<Record<string, readonly Reply[]>> = {
  "and its gaps": [{ reasoning: "What does slug do?\nI read the code.", text: EXPLANATION }],
  "Fix it": [{ text: "I normalize the accents first.", calls: [USE_FIX] }],
  "Fix both": [{ calls: [USE_FIX] }],
  "Add a test and rename": [{ calls: [ADD_TEST] }],
  "Trim both": [{ calls: [TRIM, TRIM_LINK] }],
  "Write the table": [{ calls: [TABLE] }],
  "Note it in AGENTS.md": [{ calls: [LEARN] }],
  "Read it": [
    {
      calls: [
        { name: "fs_read_file", arguments: { path: "src/slug.js" } },
        { name: "fs_grep_files", arguments: { pattern: "slug" } },
      ],
    },
  ],
  "Read my list": [{ calls: [{ name: "fs_read_file", arguments: { path: "list.txt" } }] }],
  "Release it": [{ calls: [RELEASE_CALL] }],
  "Release it and file an issue": [{ calls: [RELEASE_CALL, ISSUE_CALL] }],
  "File an issue": [{ calls: [ISSUE_CALL] }],
  "Run the tests": [{ calls: [{ name: "check" }] }],
  "Build it": [{ calls: [{ name: "build" }] }],
  "Ask me": [
    {
      calls: [
        {
          name: "ask_user",
          arguments: {
            question: "Which branch?",
            answer_type: "select",
            options: [
              { value: "main", description: "what everyone has" },
              { value: "next", description: "what comes after" },
            ],
          },
        },
      ],
    },
  ],
  "Ask badly": [
    {
      calls: [
        {
          name: "ask_user",
          arguments: { question: "Which branch?", answer_type: "select", options: [] },
        },
      ],
    },
  ],
  "Take your time": [{ text: "This takes a while, and ", hangs: true }],
  "Be cut off": [{ text: "The first half of", isCut: true }],
  "[Your reply was cut off. Continue exactly where it stopped. Do not repeat anything.]": [
    " the answer, and the rest of it.",
  ],
  "Be busy": [{ status: 503, problem: "try later" }, "Now I can answer."],
  Crash: [{ status: 400, problem: "out of memory" }],
};

/** After the first result. */
const THEN: Readonly<Record<string, Reply>> = {
  "Fix both": { calls: [RENAME] },
  "Add a test and rename": { calls: [RENAME] },
};

const USAGE = { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 };
interface SlowReply {
  readonly text: string;
  readonly rest: readonly Piece[];
  readonly calls?: readonly { readonly name: string; readonly arguments?: JsonObject }[];
}

/** These go on when they are told to. */
const SLOW: Readonly<Record<string, SlowReply>> = {
  "Go slowly": { text: "Step by step", rest: [{ text: ", and done." }] },
  "Think about it": {
    text: "Let me think.",
    rest: [{ reasoning: THOUGHTS }, { text: "I take it apart, then." }],
  },
  "Ask me later": { text: "I have a question", rest: [{ text: "." }], calls: [SURE_CALL] },
};

/** The model that answers everyone in the shop. */
export class ScriptedModel implements AsyncDisposable {
  readonly #asked = new Map<string, number>();
  #server: ModelServer | undefined;
  #paid: CaptureServer | undefined;
  #rest = Promise.withResolvers<void>();

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    model.#server = await ModelServer.start((body) => model.#reply(body), ["scripted", "small"]);
    const headers = { "content-type": "text/event-stream" };
    const chunks = WIRE.anthropic({ text: "Greetings." });
    model.#paid = (await CaptureServer.start()).answer({ headers, chunks });
    return model;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  /** Where a model of Anthropic is, whose prices are known. */
  get paidUrl(): string {
    return this.#paid?.url ?? "";
  }

  /** Sends the next piece of a reply that waits. */
  goOn(): void {
    this.#rest.resolve();
    this.#rest = Promise.withResolvers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    await this.#paid?.[Symbol.asyncDispose]();
  }

  async *#whenTold(pieces: readonly Piece[]): AsyncIterable<Piece> {
    for (const piece of pieces) {
      await this.#rest.promise;
      yield piece;
    }
  }

  #reply(body: ChatBody): Reply {
    const reply = this.#find(body);
    return typeof reply === "string" ? { text: reply, usage: USAGE } : { usage: USAGE, ...reply };
  }

  #find({ messages, response_format: format }: ChatBody): Reply {
    if (format !== undefined) return '{"files":["src/slug.js","src/cart.js"]}';
    const last = messages.at(-1);
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const line = textOf(messages[asked]?.content).trimEnd().split("\n").at(-1) ?? "";
    if (last?.role === "tool") {
      const results = messages.slice(asked).filter(({ role }) => role === "tool");
      const then = results.length === 1 ? THEN[line] : undefined;
      return then ?? `The tool says: ${textOf(last.content).slice(0, 120)}`;
    }
    if (line === "```") return "The tests fail because of accents.";
    const slow = SLOW[line];
    if (slow !== undefined) return { ...slow, rest: this.#whenTold(slow.rest) };
    const count = this.#asked.get(line) ?? 0;
    this.#asked.set(line, count + 1);
    const replies = REPLIES[line];
    return replies?.[count % replies.length] ?? `You said: ${line}`;
  }
}

function textOf(content: Json | undefined): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part) => textOf((part as { readonly text?: Json }).text)).join("\n"); // Parts of a message.
}
