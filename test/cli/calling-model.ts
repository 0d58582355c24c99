/** A model that calls tools, and the results and outcomes of its calls. */
import type { Json, JsonObject } from "../../src/util/index.ts";
import { type ChatBody, ModelServer, type Reply } from "./model-server.ts";
import { entriesOf, type QueryRecord, without } from "./query-project.ts";

/** Calls each of these tools once, then replies "Done."; `inquiry` answers the requests of the inquiry model. */
export function calling(
  names: readonly string[],
  inquiry: (body: ChatBody) => Reply = () => "must not be asked",
) {
  return ModelServer.start((body) => {
    if (isInquiry(body)) return inquiry(body);
    if (body.messages.some(({ role }) => role === "tool")) return "Done.";
    return { text: "I try.", calls: names.map((name) => ({ name })) };
  });
}

export function isInquiry({ response_format: form }: ChatBody): boolean {
  return form !== undefined;
}

/** The results that the model got, in order. */
export function resultsIn(server: ModelServer): readonly (Json | undefined)[] {
  const last = server.requests.findLast((body) => !isInquiry(body));
  const results = last?.messages.filter(({ role }) => role === "tool") ?? [];
  return results.map(({ content }) => content);
}

/** The outcome of each question. */
export function outcomesIn(record: QueryRecord): readonly JsonObject[] {
  return entriesOf(record, "inquiry_response").map((entry) => without(entry, "type", "id"));
}
