/**
 * Turns that have waited since before decisions had digests. Nothing says what their answers were about, so a yes is asked
 * for again. The lines are as that version wrote them.
 */
import { describe, expect, test } from "vitest";
import { eventsOf, parseEvent } from "../../src/record/conversation/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { resumeTurn } from "../../src/assemble/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import { booleanQuestion, defineTool } from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";

const CALLED = [
  '{"timestamp":"2026-01-02 03:04:05.678","type":"turn_start"}',
  '{"timestamp":"2026-01-02 03:04:05.678","type":"chat_request","content":"Deploy."}',
  '{"timestamp":"2026-01-02 03:04:05.678","type":"tool_call_request","id":"call_1","name":"deploy","arguments":{"to":"live"}}',
];
const PERMISSION =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_request","id":"call_1.run.1","tool_call_id":"call_1","tool":"deploy","action":"run","arguments":{"to":"live"}}';
const APPROVED =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","decision":"approved","decided_by":{"kind":"user","channel":"scripted"}}';
const APPROVED_FOR_TURN =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","decision":"approved","decided_by":{"kind":"user","channel":"scripted","scope":"turn"}}';
const DENIED =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","decision":"denied","decided_by":{"kind":"user","channel":"scripted"},"reason":"Not on a Friday."}';
const STARTS =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"attempt_start","tool_call_id":"call_1"}';
const QUESTION =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"inquiry_request","id":"call_1.sure.1","source":{"source":"tool","name":"deploy"},"question":{"text":"Deploy now?","answer_type":{"type":"boolean"}},"tool_call_id":"call_1","question_id":"sure","metadata":{"jp_ts":"{\\"tool_call_id\\":\\"call_1\\",\\"question_id\\":\\"sure\\"}"}}';
const YES =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"inquiry_response","outcome":"answered","id":"call_1.sure.1","answer":true,"answered_by":{"kind":"user","channel":"scripted"},"metadata":{"jp_ts":"{\\"answered_by\\":{\\"kind\\":\\"user\\",\\"channel\\":\\"scripted\\"}}"}}';
const YES_BY_CONFIG =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"inquiry_response","outcome":"answered","id":"call_1.sure.1","answer":true,"answered_by":{"kind":"config","key":"conversation.tools.deploy.questions.sure.answer"},"metadata":{"jp_ts":"{\\"answered_by\\":{\\"kind\\":\\"config\\",\\"key\\":\\"conversation.tools.deploy.questions.sure.answer\\"}}"}}';
const NO =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"inquiry_response","outcome":"answered","id":"call_1.sure.1","answer":false,"answered_by":{"kind":"user","channel":"scripted"},"metadata":{"jp_ts":"{\\"answered_by\\":{\\"kind\\":\\"user\\",\\"channel\\":\\"scripted\\"}}"}}';
const DELIVERY =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_request","id":"call_1.deliver.1","tool_call_id":"call_1","tool":"deploy","action":"deliver","result":{"content":"deployed","is_error":false}}';
const DELIVERED =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","action":"deliver","decision":"approved","decided_by":{"kind":"user","channel":"scripted"}}';
const WITHHELD =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","action":"deliver","decision":"denied","decided_by":{"kind":"user","channel":"scripted"}}';
const DOUBT =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_request","id":"call_1.rerun.1","tool_call_id":"call_1","tool":"deploy","action":"rerun","arguments":{"to":"live"}}';
const RERUN =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","action":"rerun","decision":"approved","decided_by":{"kind":"user","channel":"scripted"}}';
const SKIPPED =
  '{"timestamp":"2026-01-02 03:04:05.678","type":"permission_decision","tool_call_id":"call_1","tool":"deploy","action":"rerun","decision":"denied","decided_by":{"kind":"user","channel":"scripted"}}';

const RUNNING = [...CALLED, PERMISSION, APPROVED, STARTS];

/** Asks only where the test says so. */
function deployTool(asks: boolean) {
  return defineTool({
    name: "deploy",
    description: "Deploys.",
    parameters: { type: "object", properties: { to: { type: "string" } } },
    run: async (_args, { ask }) =>
      !asks || (await ask(booleanQuestion("sure", "Deploy now?"))) ? "deployed" : "left alone",
  });
}

interface Resumed {
  readonly asks?: boolean;
  readonly config?: JsonObject;
  readonly script?: PrompterScript;
}

async function resume(lines: readonly string[], { asks = false, config, script }: Resumed = {}) {
  const clock = new FakeClock();
  await using conversation = await new MemoryConversationStore(clock).create({});
  await conversation.append(...lines.map((line) => parseEvent(JSON.parse(line))));
  const prompter = new ScriptedPrompter({
    permissions: [{ type: "run" }],
    answers: [{ answer: true }],
    deliveries: [{ type: "deliver" }],
    ...script,
  });
  await resumeTurn(conversation, {
    model: new ScriptedModel({ replies: ["Fine."] }),
    tools: [deployTool(asks)],
    toolConfig: { deploy: config ?? { run: "ask" } },
    prompter,
    clock,
  });
  const { permissions, questions, deliveries } = prompter;
  const asked = [...permissions, ...questions, ...deliveries].map(
    ({ inquiryId, changed }) => `${inquiryId} (${changed?.join(", ")})`,
  );
  const events = [...eventsOf(conversation.stream.entries)];
  return { asked, added: transcript(events.slice(lines.length)), events };
}

const DONE = ["call_1 gives: deployed", "message: Fine."];

describe("a permission in an older record", () => {
  test.each([
    ["waits", [...CALLED, PERMISSION]],
    ["was given", [...CALLED, PERMISSION, APPROVED]],
    ["was given for the whole turn", [...CALLED, PERMISSION, APPROVED_FOR_TURN]],
  ])("is asked for again if it %s", async (_, lines) => {
    const { asked, added } = await resume(lines);
    expect({ asked, added }).toEqual({
      asked: ["call_1:run:1 (digest)"],
      added: [
        "resumed",
        "call_1.run.1 no longer counts: digest",
        "call_1 waits for permission (run)",
        "call_1 approved (run)",
        "call_1 starts",
        ...DONE,
      ],
    });
  });

  test("is not given to another call of the turn", async () => {
    const other = CALLED.slice(2).map((line) => line.replaceAll("call_1", "call_2"));
    const lines = [...CALLED, ...other, PERMISSION, APPROVED_FOR_TURN, STARTS];
    const ended =
      '{"timestamp":"2026-01-02 03:04:05.678","type":"tool_call_response","id":"call_1","content":"deployed","is_error":false}';
    const { asked } = await resume([...lines, ended]);
    expect(asked).toEqual(["call_2:run:1 (undefined)"]);
  });

  test("that was denied stays denied", async () => {
    const { asked, added } = await resume([...CALLED, PERMISSION, DENIED]);
    expect({ asked, added }).toEqual({
      asked: [],
      added: [
        "resumed",
        expect.stringMatching(/^call_1 gives: .*Not on a Friday\./s),
        "message: Fine.",
      ],
    });
  });
});

describe("a question in an older record", () => {
  const ASKED = [...RUNNING, QUESTION];

  test.each([
    ["waits", ASKED],
    ["was answered", [...ASKED, YES]],
  ])(
    "is asked again with its permission, which the answer does not stand in for: it %s",
    async (_, lines) => {
      const { asked, added, events } = await resume(lines, { asks: true });
      expect({ asked, added }).toEqual({
        asked: ["call_1:run:1 (digest)", "call_1.sure.2 (digest)"],
        added: [
          "resumed",
          "call_1.sure.1 no longer counts: digest",
          "call_1.sure.2 asks: Deploy now?",
          "call_1.sure.2 answered: true",
          "call_1.run.1 no longer counts: digest",
          "call_1 waits for permission (run)",
          "call_1 approved (run)",
          "call_1 starts",
          ...DONE,
        ],
      });
      const digests = events.flatMap((event) => {
        if (event.type === "inquiry_request") return [event.subject?.digest];
        return event.type === "inquiry_response" ? [event.digest] : [];
      });
      const [request, answer] = digests.slice(-2);
      expect([request, answer]).toEqual([answer, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    },
  );

  test.each([
    ["the person said no", NO, "left alone"],
    ["the config answered", YES_BY_CONFIG, "deployed"],
  ])("is not asked again if %s, but the permission is", async (_, answer, result) => {
    const { asked, added } = await resume([...ASKED, answer], { asks: true });
    expect([asked, added.slice(-2)]).toEqual([
      ["call_1:run:1 (digest)"],
      [`call_1 gives: ${result}`, "message: Fine."],
    ]);
  });
});

describe("a result in an older record", () => {
  const ASKED = [...RUNNING, DELIVERY];

  test.each([
    ["waits", ASKED],
    ["was approved", [...ASKED, DELIVERED]],
  ])("is shown to the model only after it was asked again, if it %s", async (_, lines) => {
    const { asked, added } = await resume(lines, { config: { run: "ask", result: "ask" } });
    expect({ asked, added }).toEqual({
      asked: ["call_1:deliver:1 (digest)"],
      added: [
        "resumed",
        "call_1.deliver.1 no longer counts: digest",
        "call_1 waits for permission (deliver)",
        "call_1 approved (deliver)",
        ...DONE,
      ],
    });
  });

  test("that was withheld stays withheld", async () => {
    const { asked, added } = await resume([...ASKED, WITHHELD], { config: { result: "ask" } });
    expect([asked, added.join("\n")]).toEqual([[], expect.not.stringContaining("deployed")]);
  });
});

describe("a call in doubt in an older record", () => {
  const ASKED = [...RUNNING, DOUBT];
  const script = { answers: [{ answer: "run" }] };

  test.each([
    ["waits", ASKED],
    ["was to run again", [...ASKED, RERUN]],
  ])("is asked about again if it %s", async (_, lines) => {
    const { asked, added } = await resume(lines, { script });
    expect({ asked, added }).toEqual({
      asked: ["call_1:rerun:1 (digest)"],
      added: [
        "resumed",
        "call_1.rerun.1 no longer counts: digest",
        "call_1 waits for permission (rerun)",
        "call_1 approved (rerun)",
        "call_1 starts",
        ...DONE,
      ],
    });
  });

  test("that was to be skipped is skipped", async () => {
    const { asked, added } = await resume([...ASKED, SKIPPED], { script });
    expect([asked, added.includes("call_1 starts")]).toEqual([[], false]);
  });
});
