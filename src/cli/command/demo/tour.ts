/** What is shown, step by step: what the person says, what the scripted assistant does about it. */
import { setTimeout } from "node:timers/promises";
import type { Model, ModelEvent, ModelRequest } from "../../../provider/index.ts";
import {
  booleanQuestion,
  type BuiltinTool,
  defineTool,
  secretQuestion,
} from "../../../tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";

export interface TourStep {
  readonly title: string;
  /** What to look at, in a few sentences. */
  readonly about: string;
  /** What the keys do, where the question itself does not say it. */
  readonly keys?: string;
  /** What the person asks for. */
  readonly request: string;
  readonly calls: readonly TourCall[];
  /** What the assistant says when the results are there; `…` stands for the last of them. */
  readonly conclusion: string;
  /** Given where there is no terminal: one for each question, in order. */
  readonly answers: readonly Json[];
  /** As if nobody were there. */
  readonly isDetached?: boolean;
  /** The person is to interrupt it; that does not end the tour. */
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
    about: "The tool shows what it would change, and asks.",
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
    title: "2. Three calls ask the same",
    about:
      "They run side by side and ask one at a time. Say Y once, and the others take your answer from " +
      "memory; the record says so.",
    request: "Deploy it everywhere.",
    calls: ["Frankfurt", "Oslo", "Lisbon"].map((region) => ({
      name: "deploy",
      arguments: { region },
    })),
    conclusion: "That was it: …",
    answers: [{ answer: true, isRemembered: true }],
  },
  {
    title: "3. The assistant asks",
    about: "The model itself can ask, with the tool ask_user.",
    keys: "Arrows choose, typing filters, Tab adds a note, and Other… is an answer in your own words.",
    request: "Tell people about it.",
    calls: [
      {
        name: "ask_user",
        arguments: {
          question: "Where should the announcement go?",
          answer_type: "select",
          options: [
            { value: "blog", description: "a post with a picture" },
            { value: "mail", description: "to everybody who subscribed" },
            { value: "nowhere", description: "it was a small release" },
          ],
        },
      },
    ],
    conclusion: "I got this, with its type: …",
    answers: ["mail"],
  },
  {
    title: "4. A secret",
    about:
      "Type anything. It is not shown, it goes to the tool and to nobody else, and the record only " +
      "says that it was given.",
    request: "Sign the release.",
    calls: [{ name: "sign", arguments: {} }],
    conclusion: "The tool says: …",
    answers: ["correct horse battery staple"],
  },
  {
    title: "5. Nobody is there",
    about:
      "In a script or a job nobody can be asked. A question for a person is then refused, and the " +
      "model is told not to try again: silence never becomes an answer.",
    request: "Publish it, I am away.",
    calls: [
      {
        name: "ask_user",
        arguments: { question: "Publish now?", answer_type: "boolean", default: true },
      },
    ],
    conclusion: "I stop here. I was told: …",
    answers: [],
    isDetached: true,
  },
  {
    title: "6. Ctrl-C",
    about:
      "Press Ctrl-C while the tool works. Everything that was started ends, and what is on record " +
      "stays. (A query asks first: go on, reply, stop, or begin the tools again.)",
    request: "Upload the pictures.",
    calls: [{ name: "upload", arguments: {} }],
    conclusion: "You let it work. …",
    answers: [],
    isInterrupted: true,
  },
];

const deploy = defineTool<{ readonly region: string }>({
  name: "deploy",
  description: "Deploys to a region.",
  parameters: {
    type: "object",
    properties: { region: { type: "string" } },
    required: ["region"],
  },
  run: async ({ region }, { ask }) => {
    const isSure = await ask(booleanQuestion("sure", `Deploy to ${region}?`));
    return isSure ? `deployed to ${region}` : `left ${region} alone`;
  },
});

const sign = defineTool({
  name: "sign",
  description: "Signs the release.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => {
    const passphrase = await ask(secretQuestion("passphrase", "Passphrase of the key?"));
    const { length } = passphrase;
    return `signed, with a passphrase of ${length} ${length === 1 ? "character" : "characters"}`;
  },
});

const UPLOAD_MS = 10_000;

const upload = defineTool({
  name: "upload",
  description: "Uploads pictures, slowly.",
  parameters: { type: "object" },
  run: async (_args, { signal }) => {
    await setTimeout(UPLOAD_MS, undefined, { signal });
    return "The pictures are there.";
  },
});

export const TOUR_TOOLS: readonly BuiltinTool[] = [deploy, sign, upload];

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
