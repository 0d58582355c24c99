import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import {
  answer,
  call,
  message,
  permission,
  question,
  request,
  result,
  turnStart,
} from "./records.ts";
import { jsonLines, lines, printed, Project } from "./support.ts";

const ASSISTANT = { source: "assistant" };
const BY_CONFIG = { kind: "policy", key: "conversation.tools.ask_user.run" };

/** The assistant asks where to announce something, and is told. */
function events(): JsonObject[] {
  const rules = { exclusive: true, persistence: "none", note: true };
  const where = { source: ASSISTANT, text: "Where?", answer_type: { type: "text" }, ...rules };
  return [
    turnStart(0),
    request(0, "Announce it."),
    call(1, "call_1", "ask_user", { question: "Where?" }),
    permission(2, "call_1", { tool: "ask_user", decided_by: BY_CONFIG }),
    { ...turnStart(2), type: "attempt_start", tool_call_id: "call_1" },
    question(2, "call_1.answer.1", { ...where, tool_call_id: "call_1", question_id: "answer" }),
    answer(3, "call_1.answer.1", {
      outcome: "answered",
      answer: "in the paper",
      answered_by: { kind: "user", channel: "cli", auth: "os_user", name: "Mia" },
    }),
    { ...turnStart(3), type: "attempt_start", tool_call_id: "call_1" },
    result(3, "call_1", '{"answer_type":"text","answer":"in the paper"}'),
    message(4, "Done."),
  ];
}

function place(): { readonly project: Project; readonly id: string } {
  const project = new Project();
  const { id } = project.place({ second: 0, title: "News", config: {}, events: events() });
  return { project, id };
}

describe("jp conversation verify", () => {
  test("says that everything is as recorded, and changes nothing", async () => {
    const { project, id } = place();
    const before = snapshotOf(project.root, project.data);
    expect(await project.jp("conversation", "verify", id)).toEqual(
      printed(`${id}: 1 turn, all as recorded.\n`),
    );
    expect(snapshotOf(project.root, project.data)).toEqual(before);
  });

  test("runs tools again if asked to, with the recorded answers", async () => {
    const { project, id } = place();
    const verified = await project.jp(
      "conversation",
      "verify",
      id,
      "--tools",
      "live",
      "--format",
      "json",
    );
    expect(jsonLines(verified)).toEqual([{ conversation: id, turns: 1, identical: true }]);
  });

  test.each(["text", "json"])(
    "shows nothing of the record that a terminal would act on: %s",
    async (format) => {
      counters("T-TERM-5");
      const evil = "a\u001b[2J\u009b2J\u202e\nFORGED";
      const project = new Project();
      const turn = [turnStart(0), request(0, "x"), call(1, evil, "ask_user", { question: evil })];
      const permitted = permission(1, evil, { tool: "ask_user", reason: evil });
      const ended = [...turn, permitted, result(2, evil, evil), message(3, "Done.")];
      const { id } = project.place({ second: 0, config: {}, events: ended });
      const { status, stdout, stderr } = await project.jp(
        "conversation",
        "verify",
        id,
        "--format",
        format,
      );
      expect(stdout).toContain("FORGED");
      const raw = /[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]|^FORGED/m.exec(stdout + stderr);
      expect([status, raw]).toEqual([1, null]);
    },
  );

  test("shows the first difference, and exits with status 1", async () => {
    const { project, id } = place();
    const strict = ["-c", "conversation.tools.ask_user.run=skip"];
    expect(await project.jp("conversation", "verify", id, ...strict)).toEqual({
      ...printed(
        lines(
          `${id}: turn 1, call call_1 differs from the record.`,
          "--- recorded",
          "+++ now",
          "  {",
          '    "type": "permission_decision",',
          '    "tool_call_id": "call_1",',
          '    "tool": "ask_user",',
          '-   "decision": "approved",',
          '+   "decision": "denied",',
          '    "decided_by": {',
          '      "kind": "policy",',
          '      "key": "conversation.tools.ask_user.run"',
          "-   }",
          "+   },",
          '+   "cause": "skipped"',
          "  }",
        ),
      ),
      status: 1,
    });
    const { status, stdout } = await project.jp(
      "conversation",
      "verify",
      id,
      ...strict,
      "--format",
      "json",
    );
    expect([status, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        identical: false,
        divergence: {
          turn: 1,
          tool_call_id: "call_1",
          recorded: { decision: "approved" },
          now: { decision: "denied" },
        },
      },
    ]);
  });
});
