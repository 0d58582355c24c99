/** Conversations that many tests read: one in the current format, one in the oldest. */
import type { JsonObject } from "../../src/util/index.ts";
import type { PlacedConversation, Project } from "./support.ts";
import {
  answer,
  call,
  configDelta,
  message,
  permission,
  question,
  reasoning,
  request,
  result,
  time,
  turnStart,
} from "./records.ts";

/** Split into files, two turns, with every kind of event and an unknown one. */
export function placeRelease(project: Project): PlacedConversation {
  return project.place({
    second: 0,
    title: "Release 1.2",
    slug: "release-1-2",
    config: { assistant: { name: "jp" } },
    events: [
      turnStart(0),
      request(1, "Bump the version."),
      call(2, "call_1", "fs_modify_file", { path: "package.json", line: 3 }),
      permission(3, "call_1", { tool: "fs_modify_file" }),
      question(4, "call_1.apply_changes.1", {
        source: { source: "tool", name: "fs_modify_file" },
        text: "Apply this change?",
        context: "-1.1.4\n+1.2.0",
        default: true,
        tool_call_id: "call_1",
        question_id: "apply_changes",
      }),
      answer(5, "call_1.apply_changes.1", {
        outcome: "answered",
        answer: true,
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
      }),
      result(6, "call_1", "Changed one line."),
      message(7, "The version is 1.2.0."),
      { timestamp: time(8), type: "from_the_future", content: "unheard of" },
      configDelta(9, { assistant: { name: "jp two" } }),
      turnStart(10),
      request(11, "Publish it.", "Ada"),
      reasoning(12, "A password will be needed."),
      call(13, "call_2", "npm_publish", { tag: "next" }),
      question(14, "call_2.otp.1", {
        source: { source: "tool", name: "npm_publish" },
        text: "One-time password",
        answer_type: { type: "secret" },
        tool_call_id: "call_2",
        question_id: "otp",
      }),
      answer(15, "call_2.otp.1", {
        outcome: "redacted",
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
      }),
      question(16, "call_2.announce.1", {
        source: { source: "assistant" },
        text: "Announce it where?",
        answer_type: {
          type: "select",
          options: [{ value: "web", description: "the site" }, { value: "mail" }],
        },
        exclusive: true,
        persistence: "none",
        tool_call_id: "call_2",
        question_id: "announce",
      }),
      answer(17, "call_2.announce.1", { outcome: "cancelled", reason: "no_prompt_backend" }),
      result(18, "call_2", "E401\nwrong password", true),
      message(19, "It is not published."),
    ],
  });
}

/** Packed, without turns, with two-segment ids, repeated ids, and an unanswered question. */
export function placeLegacy(project: Project): PlacedConversation {
  return project.place({
    second: -864_000,
    title: "Segfault in iter_mut",
    slug: "segfault-in-iter-mut",
    events: [
      configDelta(-864_000, { assistant: { model: { id: "google/gemini" } } }),
      request(-863_999, "Why does it crash?"),
      ...askedEdit(-863_998),
      answer(-863_996, "fs_modify_file_0.apply_changes", { answer: true }),
      result(-863_995, "fs_modify_file_0", "File modified."),
      ...askedEdit(-863_994),
      answer(-863_992, "fs_modify_file_0.apply_changes", { answer: false }),
      result(-863_991, "fs_modify_file_0", "Not modified.", true),
      ...askedEdit(-863_990),
      result(-863_988, "fs_modify_file_0", "The inquiry failed.", true),
      message(-863_987, "It is fixed."),
    ],
  });
}

function askedEdit(second: number): readonly JsonObject[] {
  return [
    call(second, "fs_modify_file_0", "fs_modify_file", { path: "a.rs" }),
    question(second + 1, "fs_modify_file_0.apply_changes", {
      source: { source: "tool", name: "fs_modify_file" },
      text: "Do you want to apply the following patch?\n\n-old\n+new",
      default: true,
    }),
  ];
}
