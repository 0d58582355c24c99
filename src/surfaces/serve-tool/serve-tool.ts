/**
 * Runs a tool as a program: reads one call from standard input, writes its outcome to standard output. A tool written
 * with `defineTool` becomes a local tool: `command = "node my-tool.ts"`. Its process has no record, so `once` is not
 * available; `idempotencyKey` comes from jp's call. When asked to check a call, it runs nothing.
 */
import { stdin, stdout, stderr } from "node:process";
import { text } from "node:stream/consumers";
import {
  callCheckToWire,
  outcomeToWire,
  type Tool,
  type ToolCall,
} from "../../record/tool/index.ts";
import {
  type JsonObject,
  messageOf,
  objectField,
  optionalString,
  parseJson,
  type Shape,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** Resolves after writing the outcome. SIGTERM aborts the call. Never throws. */
export async function serveTool(tool: Tool): Promise<void> {
  const abort = new AbortController();
  process.once("SIGTERM", () => abort.abort());
  const output = await runCall(tool, await text(stdin), abort.signal);
  stdout.write(`${JSON.stringify(output)}\n`);
}

/** Runs or checks the call that a document describes. Returns the program's output. Never throws. */
export async function runCall(
  tool: Tool,
  document: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  try {
    const shape = shapeOf(parseJson(document));
    const call = objectField(shape, "tool");
    stringField(call, "name");
    const args = objectField(call, "arguments").value;
    if (readAction(shape) === "check") {
      const checked = { arguments: args, ...readKey(shape), signal, onProgress };
      return callCheckToWire((await tool.checkCall?.(checked)) ?? { type: "unknown" });
    }
    const outcome = await tool.execute({
      arguments: args,
      answers: objectField(call, "answers").value,
      notes: readTexts(call, "notes"),
      bindings: readTexts(call, "bindings"),
      ...readKey(shape),
      signal,
      onProgress,
    });
    return outcomeToWire(outcome);
  } catch (error) {
    const reason = messageOf(error);
    const message = `This program is a jp tool and expects a call on standard input (${reason}).`;
    return outcomeToWire({ type: "error", message, trace: [], transient: false });
  }
}

function onProgress(message: string): void {
  stderr.write(`${message}\n`);
}

/** Not every caller sends an action. */
function readAction(shape: Shape): string | undefined {
  if (shape.value["context"] == null) return undefined;
  return optionalString(objectField(shape, "context"), "action");
}

/** Not every caller sends a key. */
function readKey(shape: Shape): Pick<ToolCall, "idempotencyKey"> {
  if (shape.value["context"] == null) return {};
  const idempotencyKey = optionalString(objectField(shape, "context"), "idempotency_key");
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}

/** Keyed by question id. Empty if absent. */
function readTexts(call: Shape, key: "notes" | "bindings"): Readonly<Record<string, string>> {
  if (call.value[key] == null) return {};
  const texts = objectField(call, key);
  return Object.fromEntries(Object.keys(texts.value).map((id) => [id, stringField(texts, id)]));
}
