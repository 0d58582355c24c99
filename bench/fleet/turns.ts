/** The turns of `npm run bench -- --fleet`: each asks one question, and then does something that should be done once. */
import type { ResumeOptions } from "../../src/index.ts";
import type { Database } from "../../src/storage/postgres/database.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { booleanQuestion, defineTool } from "../../src/tool/index.ts";

export const CALL = {
  type: "tool_call",
  id: "call_1",
  name: "deploy",
  arguments: { service: "api", reason: "The new certificate is read at the start." },
} as const;

/** About a kilobyte, like the reply of a model. */
const REPLY = "The service was restarted, and has read the new certificate. ".repeat(17);

/** Where the tool notes that it has run. */
export const RUNS_TABLE =
  "create table if not exists public.bench_runs (conversation text, at timestamptz default clock_timestamp())";

export function createTurnParts(
  database: Database | undefined,
  conversation: string,
): ResumeOptions {
  return {
    model: new ScriptedModel({ replies: [REPLY] }),
    tools: [
      defineTool({
        name: CALL.name,
        description: "Restarts a service.",
        parameters: {
          type: "object",
          properties: { service: { type: "string" }, reason: { type: "string" } },
        },
        async run(_args, { ask }) {
          const isSure = await ask(booleanQuestion("sure", "Restart it now?"));
          const text = "insert into public.bench_runs (conversation) values ($1)";
          await database?.query({ text, values: [conversation] });
          return isSure ? "Restarted." : "Not restarted.";
        },
      }),
    ],
  };
}
