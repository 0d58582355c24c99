/** Something that waits, for tests of notifications. */
import type { WaitingItem } from "./message.ts";

/** A question of the tool `deploy`, with everything that a desk knows about it. */
export function waitingItem(fields: Partial<WaitingItem> = {}): WaitingItem {
  return {
    workspace: "/home/ada/project",
    conversation: "jp-c17673232450",
    title: "Ship version 2",
    id: "call_1.sure.1",
    kind: "question",
    tool: "deploy",
    text: "Deploy to production?",
    answer_type: { type: "boolean" },
    context: "the whole diff",
    default: "the default answer",
    arguments: { token: "an argument" },
    asked_at: "2026-01-02 03:04:05.678",
    ...fields,
  };
}
