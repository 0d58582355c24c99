// Turns that ask one question, and then do something that should be done once.
import { booleanQuestion, defineTool } from "jp-ts";

/** About a kilobyte, like the reply of a model. */
const REPLY = "The service was restarted, and has read the new certificate. ".repeat(17);

const CALL = {
  type: "tool_call_request",
  id: "call_1",
  name: "deploy",
  arguments: { service: "api", reason: "The new certificate is read at the start." },
};

/** Calls the tool, and says something once it has a result. */
const model = {
  id: "bench/deploys",
  async *stream({ parts }) {
    if (parts.events.at(-1)?.type === "tool_call_response") {
      yield { type: "message_delta", text: REPLY };
      yield { type: "response_end", reason: "stop", usage: {} };
    } else {
      yield CALL;
      yield { type: "response_end", reason: "tool_calls", usage: {} };
    }
  },
};

/** `pool` notes what has run. Whoever listens hears of it. */
export function createTurnParts(conversation, pool) {
  const tool = defineTool({
    name: CALL.name,
    description: "Restarts a service.",
    parameters: {
      type: "object",
      properties: { service: { type: "string" }, reason: { type: "string" } },
    },
    async run(_args, { ask }) {
      const isSure = await ask(booleanQuestion("sure", "Restart it now?"));
      await pool.query({
        name: "ran",
        text: `with ran as (insert into bench.runs (conversation) values ($1) returning conversation)
          select pg_notify('bench', conversation) from ran`,
        values: [conversation],
      });
      return isSure ? "Restarted." : "Not restarted.";
    },
  });
  return { model, tools: [tool], defer: true };
}
