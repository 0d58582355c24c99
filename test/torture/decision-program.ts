/**
 * A program for tests: runs a turn whose calls wait for decisions, or says yes to what waits. Reports acknowledged events
 * and answers. Argument: the plan, as JSON.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Prompter } from "../../src/core/agent/index.ts";
import { parseConfigOrThrow } from "../../src/settings/config/index.ts";
import {
  lastTurnOf,
  parseConversationId,
  readTurnProgress,
} from "../../src/record/conversation/index.ts";
import type { ModelRequest } from "../../src/reach/provider/index.ts";
import {
  answerInquiry,
  createTurn,
  listPending,
  openTools,
  type PendingDecision,
} from "../../src/assemble/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { ScriptedModel, type ScriptedReply } from "../../src/testing/index.ts";
import { systemClock } from "../../src/util/index.ts";
import type { DecisionPlan } from "./plan.ts";
import { acknowledging, report, runWithFault } from "./reporting.ts";

const plan = JSON.parse(process.argv[2] ?? "") as DecisionPlan; // The harness has written it.
const { conversations } = openWorkspace({
  from: plan.root,
  environment: {
    variables: { JP_USER_DATA_DIR: plan.data },
    home: plan.data,
    platform: process.platform,
  },
  clock: systemClock,
  pid: process.pid,
});
/** One tool needs a permission, the other one asks. */
const CONFIG = parseConfigOrThrow("the torture", {
  conversation: {
    tools: {
      ship: { source: "local", run: "ask", command: commandOf("ship.sh") },
      pack: { source: "local", run: "unattended", command: commandOf("pack.sh") },
    },
  },
});

function commandOf(script: string) {
  return { program: "sh", args: [script], shell: false };
}

/** Only others answer. Keeps the process alive until they do. */
const SILENT: Prompter = {
  channel: "silent",
  canAsk: () => true,
  ask: ({ inquiryId, signal }) =>
    new Promise((resolve) => {
      const timer = setInterval(() => undefined, 60_000);
      signal.addEventListener("abort", () => {
        clearInterval(timer);
        resolve({ inquiryId, type: "interrupted" });
      });
    }),
};

await runWithFault(plan.fault, plan.work === "answer" ? answerAll : takeTurn);

async function takeTurn(): Promise<void> {
  await using writer =
    plan.conversation === undefined
      ? await conversations.create({})
      : await conversations.open(parseConversationId(plan.conversation));
  const conversation = acknowledging(writer);
  const machine = {
    root: plan.root,
    workspaceId: "abc12",
    variables: { ...process.env, TORTURE_NOTES: plan.notes },
    version: "0",
    clock: systemClock,
    onWarning: () => undefined,
  };
  await using tools = openTools(machine, CONFIG, { conversation: writer.id });
  const turn = createTurn({
    conversation,
    model: new ScriptedModel({ replies: nextReply }),
    toolbox: tools.toolbox,
    ...(plan.isLive === true ? { prompter: SILENT } : { defer: true }),
  });
  const last = lastTurnOf(writer.stream.entries);
  // The write of a turn's first events may be torn between them. Then no one has said that the message is on record.
  const isAsked = last.some(({ type }) => type === "chat_request");
  const isDone = isAsked && readTurnProgress(last).next === "done";
  const { type } = isDone
    ? { type: "done" }
    : await (isAsked ? turn.resume() : turn.run({ content: "Ship it." }));
  report({ type: "ended", as: type });
}

/** Makes the calls that are not on record. */
function nextReply({ parts }: ModelRequest): ScriptedReply {
  const made = new Set(parts.events.flatMap((event) => ("name" in event ? [event.name] : [])));
  const missing = ["ship", "pack"].filter((name) => !made.has(name));
  if (missing.length === 0) return "It is done.";
  return missing.map((name) => ({ type: "tool_call", id: name, name }) as const);
}

function onProblem(message: string): void {
  report({ type: "failed", code: "unreadable", message });
}

async function answerAll(): Promise<void> {
  const seen = new Set<string>();
  for (;;) {
    const pending = await listPending(conversations, { onProblem });
    const item = pending.find(({ id }) => !seen.has(id));
    if (item === undefined) return;
    seen.add(item.id);
    const result = await answerInquiry(conversations, item, { answer: replyTo(item) });
    report({ type: "answered", id: item.id, as: result.type });
  }
}

/** Yes; or, for a call in doubt, whether it has not run: the person has looked. */
function replyTo({ kind, tool }: PendingDecision): boolean | string {
  if (kind !== "in_doubt") return true;
  const file = path.join(plan.notes, "effects");
  const effects = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return effects.some((line) => line.startsWith(`${tool} `)) ? "skip" : "run";
}
