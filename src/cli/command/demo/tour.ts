/** The script of `jp demo`: its steps, the model that plays them, and the tools that it calls. */
import { setTimeout } from "node:timers/promises";
import type { Model, ModelEvent, ModelRequest } from "../../../provider/index.ts";
import { booleanQuestion, type Tool, defineTool, secretQuestion } from "../../../tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";

export interface TourStep {
  readonly title: string;
  /** Tells the user where to look. */
  readonly about: string;
  /** Explains the keys that the prompt itself does not mention. */
  readonly keys?: string;
  /** The user's message. */
  readonly request: string;
  readonly calls: readonly TourCall[];
  /** The assistant's last message; `…` stands for the last tool result. */
  readonly conclusion: string;
  /** Used without a terminal: one answer per question, in order. */
  readonly answers: readonly Json[];
  /** For a job that leaves its question open: what to watch for when the user answers it. */
  readonly afterwards?: string;
  /** The user is meant to interrupt this step, which does not end the tour. */
  readonly isInterrupted?: boolean;
}

interface TourCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

export const TOUR_FILE = "package.json";
export const TOUR_TEXT = '{\n  "name": "weather",\n  "version": "1.1.0"\n}\n';

export const TOUR: readonly TourStep[] = [
  {
    title: "1. A tool asks",
    about: "The tool shows the change it wants to make, and asks.",
    keys: "One key answers: y or n, Y or N for the rest of the turn, ? for help, Esc to cancel.",
    request: "Raise the version to 1.2.0.",
    calls: [
      {
        name: "fs_modify_file",
        arguments: {
          path: TOUR_FILE,
          patterns: [{ old: '"version": "1.1.0"', new: '"version": "1.2.0"' }],
        },
      },
    ],
    conclusion: "The tool reports: …",
    answers: [true],
  },
  {
    title: "2. Three calls ask the same question",
    about:
      "They run in parallel and ask one at a time. Press Y once, and jp reuses your answer for the " +
      "others. The record says so.",
    request: "Deploy it everywhere.",
    calls: ["Frankfurt", "Oslo", "Lisbon"].map((region) => ({
      name: "deploy",
      arguments: { region },
    })),
    conclusion: "Done: …",
    answers: [{ answer: true, isRemembered: true }],
  },
  {
    title: "3. The assistant asks",
    about: "The model can ask too, with the ask_user tool.",
    keys: "Arrow keys choose, typing filters, Tab adds a note, and Other… lets you write your own answer.",
    request: "Announce it.",
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
    conclusion: "I received a typed answer: …",
    answers: ["mail"],
  },
  {
    title: "4. A secret",
    about:
      "Type anything. jp does not show it, passes it only to the tool, and records only that you " +
      "answered.",
    request: "Sign the release.",
    calls: [{ name: "sign", arguments: {} }],
    conclusion: "The tool says: …",
    answers: ["correct horse battery staple"],
  },
  {
    title: "5. A question outlives its process",
    about:
      "A nightly job cannot ask you. With --defer, its questions wait for you. Without it, your config " +
      "decides what happens to them. Silence never counts as your answer.",
    request: "Publish it tonight.",
    calls: ["run_tests", "publish"].map((name) => ({ name, arguments: {} })),
    conclusion: "The tool says: …",
    answers: [],
    afterwards:
      "Later, on another terminal, you answer its question, and the turn continues where it stopped: " +
      "run_tests does not run again.",
  },
  {
    title: "6. Ctrl-C",
    about:
      "Press Ctrl-C while the tool runs. Everything it started is stopped, and the record is kept. " +
      "(`jp query` asks first whether to continue, reply, stop, or restart the tools.)",
    request: "Upload the pictures.",
    calls: [{ name: "upload", arguments: {} }],
    conclusion: "You let it finish: …",
    answers: [],
    isInterrupted: true,
  },
];

const deploy = defineTool<{ readonly region: string }>({
  name: "deploy",
  description: "Deploy to a region.",
  parameters: {
    type: "object",
    properties: { region: { type: "string" } },
    required: ["region"],
  },
  run: async ({ region }, { ask }) => {
    const rememberAs = "all deployments this turn";
    const isSure = await ask(booleanQuestion("sure", `Deploy to ${region}?`, { rememberAs }));
    return isSure ? `deployed to ${region}` : `did not deploy to ${region}`;
  },
});

const sign = defineTool({
  name: "sign",
  description: "Sign the release.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => {
    const passphrase = await ask(secretQuestion("passphrase", "Passphrase for the signing key?"));
    const { length } = passphrase;
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
  run: async (_args, { ask }) => {
    const isSure = await ask(booleanQuestion("publish", "Publish weather 1.2.0?"));
    return isSure ? "published weather 1.2.0" : "did not publish weather 1.2.0";
  },
});

const UPLOAD_MS = 10_000;

const upload = defineTool({
  name: "upload",
  description: "Upload pictures, slowly.",
  parameters: { type: "object" },
  run: async (_args, { signal }) => {
    await setTimeout(UPLOAD_MS, undefined, { signal });
    return "Uploaded the pictures.";
  },
});

export const TOUR_TOOLS: readonly Tool[] = [deploy, sign, runTests, publish, upload];

export function createTourModel(step: TourStep): Model {
  return { id: "demo/tour", stream: (request) => reply(step, request) };
}

async function* reply(step: TourStep, { parts }: ModelRequest): AsyncGenerator<ModelEvent> {
  const last = parts.events.at(-1);
  if (last?.type === "tool_call_response") {
    yield { type: "message_delta", text: step.conclusion.replace("…", firstLine(last.content)) };
    yield { type: "message_end" };
    yield { type: "response_end", reason: "stop", usage: {} };
    return;
  }
  for (const [index, { name, arguments: given }] of step.calls.entries()) {
    yield { type: "tool_call_request", id: `call_${index + 1}`, name, arguments: given };
  }
  yield { type: "response_end", reason: "tool_calls", usage: {} };
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
