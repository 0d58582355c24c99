/**
 * `node test/telemetry/loading-program.ts`: runs three turns: without an SDK of OpenTelemetry, with one but without
 * `@opentelemetry/api`, and with both. Prints for each whether the package was looked for, how the turn ended, and how many
 * of its events have a `traceparent`, as JSON.
 */
import { registerHooks } from "node:module";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { resumeTurn, runTurn } from "../../src/assemble/index.ts";
import {
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import { booleanQuestion, defineTool } from "../../src/record/tool/index.ts";

const NAME = "@opentelemetry/api";
let isWanted = false;
let isInstalled = false;

registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier !== NAME) return next(specifier, context);
    isWanted = true;
    if (isInstalled) return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${NAME}'`), {
      code: "ERR_MODULE_NOT_FOUND",
    });
  },
});

const ask = defineTool({
  name: "ask",
  description: "Asks.",
  parameters: { type: "object" },
  run: async (_args, tool) => String(await tool.ask(booleanQuestion("sure", "Sure?"))),
});

async function runOne() {
  isWanted = false;
  const conversation = await new MemoryConversationStore().create({});
  const model = new ScriptedModel({
    replies: [[{ type: "tool_call", id: "a", name: "ask" }], "Done."],
  });
  const left = await runTurn({ conversation, model, tools: [ask], defer: true }, "Go.");
  const prompter = new ScriptedPrompter({ answers: [{ answer: true }] });
  const { type } = await resumeTurn(conversation, { model, tools: [ask], prompter });
  const traced = conversation.stream.entries.filter(({ raw }) => "traceparent" in raw).length;
  return { isWanted, ends: [left.type, type], traced };
}

/** As little as an SDK can be. */
function register(): void {
  const span = {
    spanContext: () => ({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 }),
    setAttribute: () => span,
    setAttributes: () => span,
    setStatus: () => span,
    addEvent: () => span,
    end: () => undefined,
  };
  const provider = { getTracer: () => ({ startSpan: () => span }) };
  const registered = { version: "1.9.0", trace: provider };
  Reflect.set(globalThis, Symbol.for("opentelemetry.js.api.1"), registered);
}

const warnings: string[] = [];
process.on("warning", ({ name, message }) => {
  if (name === "JpWarning") warnings.push(message);
});

const without = await runOne();
register();
const uninstalled = await runOne();
isInstalled = true;
const installed = await runOne();
await setImmediate(); // Node warns then.
console.log(JSON.stringify({ without, uninstalled, installed, warnings }));
