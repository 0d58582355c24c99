/** A pending decision, for tests of notifications. */
import type { DecisionJson } from "../render/index.ts";

/** A question from the tool `deploy`, with everything that a desk knows about it. */
export function pendingNotice(fields: Partial<DecisionJson> = {}): DecisionJson {
  return {
    workspace: "/home/ada/project",
    conversation: "jp-c17673232450",
    title: "Ship version 2",
    id: "call_1.sure.1",
    kind: "question",
    tool: "deploy",
    label: "deploy",
    question: asking("Deploy to production?"),
    acts: true,
    arguments: { token: "an argument" },
    asked_at: "2026-01-02 03:04:05.678",
    ...fields,
  };
}

/** A question with more than a notification may contain. */
export function asking(text: string): DecisionJson["question"] {
  return {
    text,
    answer_type: { type: "text" },
    context: "the whole diff",
    default: "the default answer",
  };
}
