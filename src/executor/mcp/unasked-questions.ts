/** Questions of a server that nobody is asked, as they are put on record. */
import type { InputRequest } from "../../mcp/index.ts";
import { type Question, textQuestion } from "../../tool/index.ts";
import { createRound, questionsOf } from "./question-round.ts";

/** One for each field of a form, as if they were asked. */
export function unaskedQuestions(
  server: string,
  requests: readonly InputRequest[],
): readonly Question[] {
  // Nothing comes of them, so that anything may be asked for.
  const rules = { server, allowsSecrets: true, allowsSampling: true };
  return requests.flatMap((request) => {
    const round = createRound({ type: "asks", requests: [request], isPrerequisite: false }, rules);
    return round.type === "round" ? questionsOf(round) : [UNREADABLE];
  });
}

const UNREADABLE = textQuestion("question", "Something that cannot be asked.", {
  persistence: "none",
});
