/**
 * Makes a program of a tool: one call on standard input, its outcome on standard output. So a tool
 * written with `defineTool` is a local tool like any other: `command = "node my-tool.ts"`.
 */
import { stdin, stdout, stderr } from "node:process";
import { text } from "node:stream/consumers";
import { type BuiltinTool, type Outcome, outcomeToWire } from "../tool/index.ts";
import { messageOf, objectField, parseJson, shapeOf, stringField } from "../util/index.ts";

/** Resolves when the outcome is written. SIGTERM aborts the call. Never throws. */
export async function serveTool(tool: BuiltinTool): Promise<void> {
  const abort = new AbortController();
  process.once("SIGTERM", () => abort.abort());
  const outcome = await answer(tool, await text(stdin), abort.signal);
  stdout.write(`${JSON.stringify(outcomeToWire(outcome))}\n`);
}

async function answer(tool: BuiltinTool, document: string, signal: AbortSignal): Promise<Outcome> {
  try {
    const call = objectField(shapeOf(parseJson(document)), "tool");
    stringField(call, "name");
    return await tool.execute({
      arguments: objectField(call, "arguments").value,
      answers: objectField(call, "answers").value,
      signal,
      onProgress: (message) => stderr.write(`${message}\n`),
    });
  } catch (error) {
    const reason = messageOf(error);
    const message = `This program is a tool of jp: it expects a call on standard input (${reason}).`;
    return { type: "error", message, trace: [], transient: false };
  }
}
