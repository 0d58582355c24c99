/**
 * Turns a question that any of several calls may have asked into questions of the server itself. A person has to answer
 * each of them, every time; a model's prompt is for a model.
 */
import type { SharedQuestion } from "../../mcp/index.ts";
import type { Question } from "../../../record/tool/index.ts";
import type { NeedsInput, ServerQuestions } from "../port.ts";
import { sourceOf, toRecordedQuestions } from "./mcp-executor.ts";
import { describeAddress } from "./mcp-source.ts";
import { createRound, fillRound, promptsOf, questionsOf } from "./question-round.ts";

export function toServerQuestions({
  server,
  request,
  calls,
  closed,
  respond,
}: SharedQuestion): ServerQuestions {
  const { name, allowsSecrets, allowsSampling } = server;
  const source = sourceOf(`mcp.${name}`);
  const round = createRound(
    { type: "asks", requests: [request], isPrerequisite: false },
    { server: name, allowsSecrets, allowsSampling },
  );
  const prompts = round.type === "round" ? promptsOf(round) : new Map<string, never>();
  const needs = (questions: readonly Question[]): NeedsInput => {
    const [question, ...more] = questions.map((each) =>
      prompts.has(each.id) ? each : forPerson(each),
    );
    if (question === undefined) throw new Error("the round has no questions");
    return {
      type: "needs_input",
      question,
      more,
      source,
      isBound: true,
      closed,
      ...(prompts.size > 0 && { prompts }),
    };
  };
  const cancel = () => respond({ action: "cancel" });
  const shared = {
    server: name,
    source,
    calls,
    describeSource: async () => describeAddress(server.address, { server: name, tool: "" }),
    closed,
    cancel,
  };
  if (round.type === "refused") {
    // The record has no text for a model: no call ends.
    const refusal = { reason: "no_prompt_backend", content: "" } as const;
    const refused = { ...needs(toRecordedQuestions(name, [request])), refusal };
    return { ...shared, needs: refused, answer: async () => undefined };
  }
  return {
    ...shared,
    needs: needs(questionsOf(round)),
    answer: async (given) => {
      const filled = await fillRound(round, given);
      if (filled.type === "incomplete") return needs(filled.questions);
      const response = filled.responses.get(request.key);
      if (response === undefined) cancel();
      else respond(response);
      return undefined;
    },
  };
}

function forPerson(question: Question): Question {
  return { ...question, exclusive: true, persistence: "none" };
}
