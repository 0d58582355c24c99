/** The script of `jp demo`: its steps, the model that plays them, and the tools that it calls. */
import { setTimeout } from "node:timers/promises";
import type { Model, ModelEvent, ModelRequest } from "../../../reach/provider/index.ts";
import {
  booleanQuestion,
  type Tool,
  defineTool,
  secretQuestion,
} from "../../../record/tool/index.ts";
import { type Json, type JsonObject, MAX_TIMER_MS } from "../../../util/index.ts";

export interface TourStep {
  readonly title: string;
  /** Tells the user where to look. */
  readonly about: string;
  /** Explains the keys that the prompt itself does not mention. */
  readonly keys?: string;
  /** The message for the user to send. */
  readonly request: string;
  /** The assistant's replies and calls, in order. */
  readonly replies: readonly TourReply[];
  /** The assistant's last message; `…` stands for the last tool result. */
  readonly conclusion: string;
  /** Used without a terminal: one answer per question, in order. */
  readonly answers: readonly Json[];
  /** For a job that leaves its question open: what to watch for when the user answers it. */
  readonly afterwards?: string;
  /** Config for a turn with jp's own tools, run as by `jp query`. Otherwise, it has the tools of the tour. */
  readonly config?: JsonObject;
  /** Afterwards, the tour shows which rules were saved, what was changed, and how to undo that. */
  readonly isUndone?: boolean;
  /** The user is meant to interrupt this step, which does not end the tour. */
  readonly isInterrupted?: boolean;
}

interface TourReply {
  readonly text?: string;
  readonly calls: readonly TourCall[];
}

interface TourCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The files of the workspace, by name. */
export const TOUR_FILES: Readonly<Record<string, string>> = {
  "README.md": "# weather\n\nThe forecast for tomorrow. This is version 1.1.0.\n",
  "check.sh": "grep version package.json\n",
  "package.json": '{\n  "name": "weather",\n  "version": "1.2.0"\n}\n',
};

/** The config that enables these tools of jp's own. */
function enabling(...names: readonly string[]): JsonObject {
  return { tools: Object.fromEntries(names.map((name) => [name, { enable: true }])) };
}

const CHECK: TourCall = { name: "shell_run", arguments: { command: "sh check.sh" } };

export const TOUR: readonly TourStep[] = [
  {
    title: "1. A session reads files, and makes an edit",
    about:
      "You send a message. The assistant reads what it needs, and the tool that edits shows you the change and asks.",
    keys: "There, y is yes. n and words say no, and what to do instead. ? shows more.",
    request: "Does the README match package.json? If not, correct it.",
    replies: [
      { calls: [{ name: "fs_list_files", arguments: {} }] },
      {
        calls: ["README.md", "package.json"].map((path) => ({
          name: "fs_read_file",
          arguments: { path },
        })),
      },
      {
        text: "The README says 1.1.0, and package.json 1.2.0.",
        calls: [
          {
            name: "fs_modify_file",
            arguments: {
              path: "README.md",
              patterns: [{ old: "version 1.1.0", new: "version 1.2.0" }],
            },
          },
        ],
      },
    ],
    conclusion: "The tool reports: …",
    answers: [true],
    config: { conversation: enabling("fs_list_files", "fs_read_file", "fs_modify_file") },
  },
  {
    title: "2. A command, a rule, a mode, and undo",
    about:
      "A command runs in a sandbox, where this machine has one: without a network, and without your home. The mode " +
      "edits lets changes to files run without asking, because jp undo restores them.",
    keys: "In the sandbox, s and Enter say yes and save a rule: the second command then does not ask.",
    request: "Raise the version to 1.3.0, and check it before and after.",
    replies: [
      { calls: [CHECK] },
      {
        calls: [
          {
            name: "fs_modify_file",
            arguments: { path: "package.json", patterns: [{ old: "1.2.0", new: "1.3.0" }] },
          },
        ],
      },
      { calls: [CHECK] },
    ],
    conclusion: "It is 1.3.0 now.",
    answers: [{ answer: true, saves: "always" }],
    config: { conversation: { mode: "edits", ...enabling("fs_modify_file", "shell_run") } },
    isUndone: true,
  },
  {
    title: "3. Three calls ask the same question",
    about:
      "They run in parallel and ask one at a time. Say yes to all deployments of this turn, and jp reuses your " +
      "answer for the others. The record says so.",
    keys: "a shows what a yes to all covers, and Enter says it.",
    request: "Deploy it everywhere.",
    replies: [
      {
        calls: ["Frankfurt", "Oslo", "Lisbon"].map((region) => ({
          name: "deploy",
          arguments: { region },
        })),
      },
    ],
    conclusion: "Done: …",
    answers: [{ answer: true, isRemembered: true }],
  },
  {
    title: "4. The assistant asks",
    about: "The model can ask too, with the ask_user tool.",
    keys: "Arrow keys choose, typing filters, Tab adds a note, and Other… lets you write your own answer.",
    request: "Announce it.",
    replies: [
      {
        calls: [
          {
            name: "ask_user",
            arguments: {
              question: "Where should the announcement go?",
              answer_type: "select",
              options: [
                { value: "blog", description: "a post with a picture" },
                { value: "mail", description: "to all subscribers" },
                { value: "nowhere", description: "it was a small release" },
              ],
            },
          },
        ],
      },
    ],
    conclusion: "I received a typed answer: …",
    answers: ["mail"],
    config: { conversation: enabling("ask_user") },
  },
  {
    title: "5. A secret",
    about:
      "Type anything. jp does not show it, passes it only to the tool, and records only that you " +
      "answered.",
    request: "Sign the release.",
    replies: [{ calls: [{ name: "sign", arguments: {} }] }],
    conclusion: "The tool says: …",
    answers: ["correct horse battery staple"],
  },
  {
    title: "6. A question outlives its process",
    about:
      "A nightly job cannot ask you. With --defer, its questions wait for you. Without it, your config " +
      "decides what happens to them. Silence never counts as your answer.",
    request: "Publish it tonight.",
    replies: [{ calls: ["run_tests", "publish"].map((name) => ({ name, arguments: {} })) }],
    conclusion: "The tool says: …",
    answers: [],
    afterwards:
      "Later, on another terminal, you answer its question, and the turn continues where it stopped: " +
      "run_tests does not run again.",
  },
  {
    title: "7. Ctrl-C",
    about:
      "Press Ctrl-C while the tool runs. Everything it started is stopped, and the record is kept. " +
      "(Outside of the tour, jp asks first what to do.)",
    request: "Upload the pictures.",
    replies: [{ calls: [{ name: "upload", arguments: {} }] }],
    conclusion: "The tool says: …",
    answers: [],
    isInterrupted: true,
  },
];

/** Long enough for all calls to ask before the first is done. */
const DEPLOYING_MS = 400;

const deploy = defineTool({
  name: "deploy",
  description: "Deploy to a region.",
  parameters: {
    type: "object",
    properties: { region: { type: "string" } },
    required: ["region"],
  },
  questions: {
    sure: booleanQuestion("sure", "Deploy it?", { rememberAs: "all deployments this turn" }),
  },
  run: async ({ region }: { readonly region: string }, { ask, signal }) => {
    const isSure = await ask.sure({ text: `Deploy to ${region}?` });
    if (isSure) await setTimeout(DEPLOYING_MS, undefined, { signal });
    return isSure ? `deployed to ${region}` : `did not deploy to ${region}`;
  },
});

const sign = defineTool({
  name: "sign",
  description: "Sign the release.",
  parameters: { type: "object" },
  questions: { passphrase: secretQuestion("passphrase", "Passphrase for the signing key?") },
  run: async (_args, { ask }) => {
    const { length } = await ask.passphrase();
    return `signed, with a passphrase of ${length} ${length === 1 ? "character" : "characters"}`;
  },
});

const runTests = defineTool({
  name: "run_tests",
  description: "Run the tests.",
  parameters: { type: "object" },
  run: async () => "all tests pass",
});

const publish = defineTool({
  name: "publish",
  description: "Publish the release.",
  parameters: { type: "object" },
  questions: { publish: booleanQuestion("publish", "Publish weather 1.2.0?") },
  run: async (_args, { ask }) => {
    const isSure = await ask.publish();
    return isSure ? "published weather 1.2.0" : "did not publish weather 1.2.0";
  },
});

/** Waits for the user to interrupt: no step ends on its own. */
const upload = defineTool({
  name: "upload",
  description: "Upload pictures, without end.",
  parameters: { type: "object" },
  run: async (_args, { signal }) => {
    await setTimeout(MAX_TIMER_MS, undefined, { signal }); // A timer keeps the process alive.
    return "Uploaded the pictures.";
  },
});

export const TOUR_TOOLS: readonly Tool[] = [deploy, sign, runTests, publish, upload];

export function createTourModel(step: TourStep): Model {
  return { id: "demo/tour", stream: (request) => reply(step, request) };
}

async function* reply(step: TourStep, { parts }: ModelRequest): AsyncGenerator<ModelEvent> {
  const { text, calls } = nextReply(step, parts.events);
  if (text !== undefined) {
    yield { type: "message_delta", text };
    yield { type: "message_end" };
  }
  for (const { id, name, arguments: given } of calls) {
    yield { type: "tool_call_request", id, name, arguments: given };
  }
  yield { type: "response_end", reason: calls.length > 0 ? "tool_calls" : "stop", usage: {} };
}

interface NextReply {
  readonly text?: string | undefined;
  readonly calls: readonly (TourCall & { readonly id: string })[];
}

/** The first reply whose calls are not in this turn yet; after the last one, the conclusion. */
function nextReply(step: TourStep, events: ModelRequest["parts"]["events"]): NextReply {
  const start = events.findLastIndex(({ type }) => type === "chat_request");
  const turn = events.slice(start + 1);
  const called = turn.filter(({ type }) => type === "tool_call_request").length;
  let count = 0;
  for (const { text, calls } of step.replies) {
    if (count === called) {
      return { text, calls: calls.map((call, at) => ({ ...call, id: `call_${count + at + 1}` })) };
    }
    count += calls.length;
  }
  const result = turn.findLast(({ type }) => type === "tool_call_response");
  const said = result?.type === "tool_call_response" ? firstLine(result.content) : "";
  return { text: step.conclusion.replace("…", said), calls: [] };
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
