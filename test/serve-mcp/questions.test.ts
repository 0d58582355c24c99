/** Questions of other agents over HTTP, in both generations of the protocol. */
import { describe, expect, test } from "vitest";
import { ScriptedPrompter } from "../../src/testing/index.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { ask, ERAS, type FormRequest, LEGACY, Served } from "./support.ts";

const SURE = { question: "Sure?", answer_type: "boolean" };
const WHICH = {
  question: "Which one?",
  context: "Both are empty.",
  answer_type: "select",
  options: [{ value: "dev", description: "torn down at night", preview: "a\nb" }, "prod"],
};

const NOBODY_THERE =
  "ask_user cannot run because no interactive terminal is available. Do not retry this tool call " +
  "in this turn; continue without user input or explain what information is missing.";

const DECLINED =
  "The tool 'ask_user' needed an answer, and the client that should have asked the user declined. Whether " +
  "the user did is not known. Do not retry this call in this turn; continue without the answer or explain " +
  "what is missing.";

describe.each(ERAS)("a client %s", (_, era) => {
  test("shows a question to its user, and the record says through which channel", async () => {
    const served = await Served.start();
    const client = await served.connect({
      era,
      name: "editor",
      elicit: () => ({ action: "accept", content: { answer: true } }),
    });
    const told = await ask(client, SURE);
    const text = '{"answer_type":"boolean","answer":true}';
    const timestamp = "2026-01-02 03:04:05.678";
    const callId = "call_m0mjwaidke-000001_1";
    const id = `${callId}.answer.1`;
    expect([told, await served.events()]).toMatchObject([
      { text },
      [
        [
          "Questions of editor",
          [
            { type: "turn_start", timestamp },
            {
              type: "tool_call_request",
              timestamp,
              id: callId,
              name: "ask_user",
              arguments: SURE,
            },
            {
              type: "permission_decision",
              timestamp,
              toolCallId: callId,
              tool: "ask_user",
              action: "run",
              decision: "approved",
              decidedBy: { kind: "policy", key: "conversation.tools.ask_user.run" },
            },
            { type: "attempt_start", timestamp, toolCallId: callId },
            {
              type: "inquiry_request",
              timestamp,
              id,
              source: { source: "assistant" },
              question: {
                text: "Sure?",
                answerType: { type: "boolean" },
                exclusive: true,
                persistence: "none",
                allowsNote: true,
              },
              toolCallId: callId,
              questionId: "answer",
            },
            {
              type: "inquiry_response",
              timestamp,
              id,
              outcome: "answered",
              answer: true,
              answeredBy: { kind: "user", channel: "mcp:editor" },
            },
            { type: "attempt_start", timestamp, toolCallId: callId },
            {
              type: "tool_call_response",
              timestamp,
              id: callId,
              content: text,
              isError: false,
            },
          ],
        ],
      ],
    ]);
  });

  test("shows several questions as one form, one's own words in another, and each is a separate inquiry", async () => {
    const served = await Served.start();
    const forms: FormRequest[] = [];
    const client = await served.connect({
      era,
      elicit: (form) => {
        forms.push(form);
        const chosen = { answer: "dev", answer_2: "x", answer_3: "Other" };
        const content = forms.length === 1 ? chosen : { answer_3_other: "none of these" };
        return { action: "accept", content };
      },
    });
    const more = [
      { question: "Name?", default: "web" },
      { ...WHICH, options: ["a", "b"] },
    ];
    const told = await ask(client, { ...WHICH, strict: true, more });
    expect([told, forms.length, Object.values(await served.record())]).toEqual([
      {
        text: JSON.stringify({
          answer_type: "select",
          answer: "dev",
          more: [
            { answer_type: "text", answer: "x" },
            { answer_type: "select", answer: "none of these", other: true },
          ],
        }),
      },
      2,
      [
        [
          "turn",
          "call_1 calls ask_user",
          "call_1 approved (run)",
          "call_1 starts",
          "call_1.answer.1 asks: Which one?",
          "call_1.answer_2.1 asks: Name?",
          "call_1.answer_3.1 asks: Which one?",
          'call_1.answer.1 answered: "dev"',
          'call_1.answer_2.1 answered: "x"',
          'call_1.answer_3.1 answered: "none of these"',
          "call_1 starts",
          `call_1 gives: ${told["text"] as string}`,
        ],
      ],
    ]);
  });

  test.each(["decline", "cancel"] as const)(
    "that does not show a form is not recorded as its user: %s",
    async (action) => {
      const served = await Served.start();
      const client = await served.connect({ era, elicit: () => ({ action }) });
      const more = [{ question: "Name?" }];
      const [told, form] = [await ask(client, SURE), await ask(client, { ...SURE, more })];
      const lines = Object.values(await served.record())[0] ?? [];
      expect([told, form, lines.filter((line) => line.includes("cancelled"))]).toEqual([
        { text: DECLINED, isError: true },
        { text: DECLINED, isError: true },
        ["call_1.answer.1", "call_2.answer.1", "call_2.answer_2.1"].map(
          (id) => `${id} cancelled: "declined_by_client"`,
        ),
      ]);
    },
  );

  test("that declines to ask for permission is not recorded as its user", async () => {
    const served = await Served.start({}, { run: "ask" });
    const client = await served.connect({ era, elicit: () => ({ action: "decline" }) });
    const told = await ask(client, SURE);
    const [[, events] = ["", []]] = await served.events();
    expect([told, events.at(-2)]).toMatchObject([
      {
        text:
          "Tool 'ask_user' needs the user's permission to run, and the client that should have asked " +
          "declined. Whether the user did is not known. Do not retry this call in this turn; continue " +
          "without it or explain what is missing.",
        isError: true,
      },
      {
        type: "permission_decision",
        decision: "denied",
        decidedBy: { kind: "policy", key: "conversation.tools.ask_user.run" },
        cause: "declined_by_client",
      },
    ]);
  });

  test.each([
    ["of another type", SURE, { answer: "yes" }, "`answer`: expected true or false, got string"],
    [
      "that is not one of the options",
      { ...WHICH, strict: true },
      { answer: "c" },
      '`answer`: expected one of "dev", "prod"',
    ],
    ["that is missing", WHICH, { answer_other: "c" }, "`answer` has no answer"],
  ])("cannot give an answer %s", async (_kind, question, content, problem) => {
    const served = await Served.start();
    const client = await served.connect({ era, elicit: () => ({ action: "accept", content }) });
    const text = `Question prompt failed: ${problem}`;
    expect([
      await ask(client, question),
      Object.values(await served.record())[0]?.slice(5),
    ]).toEqual([
      { text, isError: true },
      ['call_1.answer.1 cancelled: "backend_error"', `call_1 fails: ${text}`],
    ]);
  });

  test("that cannot show forms is refused if no terminal is available", async () => {
    const served = await Served.start();
    const client = await served.connect({ era });
    expect([await ask(client, SURE), Object.values(await served.record())[0]?.slice(5)]).toEqual([
      { text: NOBODY_THERE, isError: true },
      ['call_1.answer.1 cancelled: "no_prompt_backend"', `call_1 fails: ${NOBODY_THERE}`],
    ]);
  });

  test("that cannot show forms has its questions asked at the terminal, with its name", async () => {
    const person = new ScriptedPrompter({ answers: [{ answer: false }] });
    person.auth = "os_user";
    const served = await Served.start({ person });
    const client = await served.connect({ era, name: "a\u001B[2Jgent\n" });
    const told = await ask(client, SURE);
    const [first] = await served.events();
    expect([told, person.questions.map(({ label }) => label), first?.[1].at(-3)]).toEqual([
      { text: '{"answer_type":"boolean","answer":false}' },
      ["Assistant of a␛[2Jgent"],
      expect.objectContaining({
        answeredBy: { kind: "user", channel: person.channel, auth: "os_user" },
      }),
    ]);
  });

  test("gets an error for invalid arguments", async () => {
    const served = await Served.start();
    const client = await served.connect({ era });
    const told = await ask(client, { question: 3 });
    expect([told, Object.values(await served.record())[0]?.length]).toEqual([
      {
        text: "Invalid arguments for tool 'ask_user'. It was not run.\n- `question`: expected string, got 3",
        isError: true,
      },
      3,
    ]);
  });

  test("learns what the server is for, and that its tools change nothing", async () => {
    const served = await Served.start({}, { summary: "Ask.", description: "Ask, and wait." });
    const client = await served.connect({ era });
    const { tools } = await client.listTools();
    expect([client.getInstructions(), tools]).toMatchObject([
      expect.stringMatching(/^Asks the user typed questions, and records /),
      [
        {
          name: "ask_user",
          title: "Ask the user",
          description: "Ask, and wait.",
          annotations: { readOnlyHint: true, openWorldHint: false },
        },
        {
          name: "list_inquiries",
          title: "List questions and decisions",
          annotations: { readOnlyHint: true, openWorldHint: false },
        },
      ],
    ]);
  });

  test("does not see a disabled tool", async () => {
    const served = await Served.start({}, { enable: false });
    const client = await served.connect({ era });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["list_inquiries"]);
    await expect(ask(client, SURE)).rejects.toThrow("Unknown tool: ask_user");
    expect(await served.record()).toEqual({});
  });

  test("gets the configured answer without a prompt", async () => {
    const served = await Served.start({}, { questions: { answer: { answer: true } } });
    const client = await served.connect({ era });
    expect(await ask(client, SURE)).toEqual({ text: '{"answer_type":"boolean","answer":true}' });
  });

  test("asks its user for permission if the config requires it", async () => {
    const served = await Served.start({}, { run: "ask" });
    const forms: string[] = [];
    const client = await served.connect({
      era,
      elicit: ({ message }) => {
        forms.push(message);
        return { action: "accept", content: { answer: true } };
      },
    });
    await ask(client, SURE);
    expect([forms, Object.values(await served.record())[0]?.slice(2, 6)]).toEqual([
      [
        `Tool: "ask_user"\nSource: built into jp\nArguments: ${JSON.stringify(SURE)}\n\nRun ask_user?`,
        "Sure?",
      ],
      [
        "call_1 waits for permission (run)",
        "call_1 approved (run)",
        "call_1 starts",
        "call_1.answer.1 asks: Sure?",
      ],
    ]);
  });

  test("has one conversation for all its calls, which is locked only during a call", async () => {
    const served = await Served.start();
    const open = async () => {
      const [summary] = await served.store.list();
      if (summary === undefined) throw new Error("There is no conversation.");
      await (await served.store.open(summary.id)).release();
    };
    const locked: unknown[] = [];
    const client = await served.connect({
      era,
      elicit: async () => {
        locked.push(await open().catch(({ code }: { code: string }) => code));
        return { action: "accept", content: { answer: true } };
      },
    });
    await ask(client, SURE);
    await open();
    await ask(client, SURE);
    const [lines, ...others] = Object.values(await served.record());
    expect([locked, others, lines?.filter((line) => !line.includes("answer"))]).toEqual([
      ["conversation_locked", "conversation_locked"],
      [],
      [
        "turn",
        "call_1 calls ask_user",
        "call_1 approved (run)",
        "call_1 starts",
        "call_1 starts",
        "turn",
        "call_2 calls ask_user",
        "call_2 approved (run)",
        "call_2 starts",
        "call_2 starts",
      ],
    ]);
  });

  test("gets a new conversation if the old one was removed", async () => {
    const served = await Served.start();
    const client = await served.connect({ era });
    await ask(client, SURE);
    const [first] = await served.store.list();
    if (first !== undefined) await served.store.remove(first.id);
    await ask(client, SURE);
    expect(Object.keys(await served.record())).toEqual(["Questions of tester"]);
  });

  test("may ask several questions at once in one turn, while other clients ask in theirs", async () => {
    const served = await Served.start();
    const answered = Promise.withResolvers<void>();
    const elicit = async ({ message }: FormRequest) => {
      if (message === "Last?") answered.resolve();
      else await answered.promise;
      return { action: "accept" as const, content: { answer: message } };
    };
    const first = await served.connect({ era, name: "first", elicit });
    const second = await served.connect({ era, name: "second", elicit });
    const told = Promise.all([
      ask(first, { question: "One?" }),
      ask(first, { question: "Two?" }),
      ask(second, { question: "Last?" }),
    ]);
    const answers = (await told).map(({ text }) => JSON.parse(text as string) as unknown);
    const events = await served.events();
    expect([
      answers,
      events.map(([title]) => title).toSorted(),
      events.flatMap(([, each]) => problemsOf(each)),
      events.flatMap(([, each]) => each.filter(({ type }) => type === "turn_start")).length,
    ]).toEqual([
      ["One?", "Two?", "Last?"].map((answer) => ({ answer_type: "text", answer })),
      ["Questions of first", "Questions of second"],
      [],
      2,
    ]);
  });
});

test("the name of a client is reduced to one short line", async () => {
  const served = await Served.start();
  const client = await served.connect({ name: `evil\u202E\n${"x".repeat(100)}` });
  await ask(client, SURE);
  expect(Object.keys(await served.record())).toEqual([
    `Questions of evil<U+202E> ${"x".repeat(47)}`,
  ]);
});

test("a client of the first protocol version with forms gets `enumNames`", async () => {
  const served = await Served.start();
  const forms: FormRequest[] = [];
  const client = await served.connect({
    era: LEGACY,
    versions: ["2025-06-18"],
    elicit: (form) => {
      forms.push(form);
      return { action: "accept", content: { answer: "prod" } };
    },
  });
  await ask(client, { ...WHICH, strict: true });
  expect(forms[0]?.requestedSchema["properties"]).toMatchObject({
    answer: { enum: ["dev", "prod"], enumNames: ["dev: torn down at night", "prod"] },
  });
});
