/** `demo/tour`: a model that plays its part of the tour, without any network. Never picked for a query. */
import type { Model, ModelEvent, ModelRequest } from "../../../provider/index.ts";
import type { TourStep } from "./tour-steps.ts";

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
