import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import {
  eventsOf,
  pendingOf,
  readTurnProgress,
  timestampFromDate,
} from "../record/conversation/index.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import {
  booleanQuestion,
  defineTool,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { AnswersFile, resumeTurn, runTurn, type TurnOptions } from "./index.ts";

const VARIABLES = { TOKEN: "hunter2", EMPTY: "" };

function read(text: string, name = "answers.toml"): Promise<AnswersFile> {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, text);
  return AnswersFile.read(file, VARIABLES);
}

/** The lines of the error, without the folder. */
async function problemsIn(text: string, name = "answers.toml"): Promise<readonly string[]> {
  const error: unknown = await read(text, name).catch((thrown: unknown) => thrown);
  if (!(error instanceof Error)) throw new Error("the file was accepted");
  return error.message.split("\n").map((line) => line.slice(line.indexOf(name)));
}

function asked(question: Question, args: JsonObject = {}) {
  return {
    kind: "question",
    tool: "deploy",
    toolCallId: "call_1",
    arguments: args,
    digest: "0",
    question,
  } as const;
}

const SURE = booleanQuestion("sure", "Really?");

/** The answer from the entry for the question. */
function answerTo(file: AnswersFile, question: Question, args?: JsonObject) {
  const given = file.find(asked(question, args));
  return typeof given === "object" ? given.answer : given;
}

describe("reading", () => {
  const ENTRY = { tool: "deploy", question: "sure", answer: true };

  test.each([
    ["answers.toml", '[[answers]]\ntool = "deploy"\nquestion = "sure"\nanswer = true\n'],
    ["answers.json", JSON.stringify({ $schema: "x", answers: [ENTRY] })],
    ["answers.yaml", "answers:\n  - tool: deploy\n    question: sure\n    answer: true\n"],
  ])("takes %s", async (name, text) => {
    const file = await read(text, name);
    expect(file.find(asked(SURE))).toEqual({
      answer: true,
      decidedBy: by("answers[0]"),
    });
  });

  test("names file, line, entry and key of everything that is wrong", async () => {
    const text = `
[[answers]]
tool = 3
question = "sure"
answer = true

[[answers]]
tool = "deploy"
question = "sure"
anwser = true

[[permissions]]
tool = "deploy"
decision = "yes"

[[deliveries]]
tool = "deploy"
decision = "approve"
times = 0
`;
    expect(await problemsIn(text)).toEqual([
      "answers.toml:3: answers[0].tool: expected a string, got number",
      "answers.toml:10: answers[1].anwser: unknown key; did you mean answer?",
      'answers.toml:14: permissions[0].decision: expected "approve" or "deny", got another string',
      'answers.toml:19: deliveries[0].times: expected a whole number from 1, or "any"',
    ]);
  });

  test.each([
    ["[[answer]]\n", "answers.toml:1: answer: unknown key; did you mean answers?"],
    ["answers = 1\n", "answers.toml:1: answers: expected a list of entries, got number"],
    ["[[answers]\n", "answers.toml: 1:11: invalid TOML"],
    [
      '[[answers]]\ntool = "a"\nquestion = "b"\n',
      "answers.toml:1: answers[0]: expected either answer or secret_env",
    ],
    [
      '[[answers]]\ntool = "a"\nquestion = "b"\nanswer = 1\nsecret_env = "TOKEN"\n',
      "answers.toml:1: answers[0]: expected either answer or secret_env",
    ],
    [
      '[[answers]]\ntool = "a"\nquestion = "b"\nsecret_env = "EMPTY"\n',
      "answers.toml:4: answers[0].secret_env: the variable EMPTY is not set",
    ],
    [
      '[[permissions]]\ntool = "a"\ndecision = "approve"\nreason = "x"\n',
      "answers.toml:4: permissions[0].reason: only for the decision deny",
    ],
    [
      '[[permissions]]\ntool = "a"\ndecision = "deny"\narguments = "x"\n',
      "answers.toml:4: permissions[0].arguments: expected an object, got a string",
    ],
  ])("refuses %j", async (text, problem) => {
    const [first = ""] = await problemsIn(text);
    expect(first.slice(0, problem.length)).toBe(problem);
  });

  test("says that the file is missing", async () => {
    const reading = AnswersFile.read("/nowhere/ci.toml", {});
    await expect(reading).rejects.toThrow("Answers file not found: /nowhere/ci.toml");
  });
});

function readEntries(...entries: readonly JsonObject[]): Promise<AnswersFile> {
  return read(JSON.stringify({ answers: entries }), "answers.json");
}

function by(entry: string) {
  return { kind: "answers_file", entry };
}

describe("an entry", () => {
  const entry = { tool: "deploy", question: "sure" };

  test("applies to its tool and question only", async () => {
    const file = await readEntries({ ...entry, answer: true });
    expect([
      file.find({ ...asked(SURE), tool: "other" }),
      answerTo(file, booleanQuestion("other", "Really?")),
      answerTo(file, SURE),
    ]).toEqual([undefined, undefined, true]);
  });

  test("with a text applies to exactly this text", async () => {
    const file = await readEntries({ ...entry, text: "Really?", answer: true });
    expect([answerTo(file, booleanQuestion("sure", "Sure?")), answerTo(file, SURE)]).toEqual([
      undefined,
      true,
    ]);
  });

  test("with arguments applies to calls that have these, and perhaps others", async () => {
    const args = { where: "eu", tags: ["a", { b: 1 }] };
    const file = await readEntries({ ...entry, arguments: args, answer: true });
    expect([
      answerTo(file, SURE, { where: "us", tags: args.tags }),
      answerTo(file, SURE, { where: "eu", tags: ["a", { b: 1, c: 2 }] }),
      answerTo(file, SURE, { where: "eu" }),
      answerTo(file, SURE, { ...args, size: 3 }),
    ]).toEqual([undefined, undefined, undefined, true]);
  });

  test("applies once, unless it says how often, and equal ones apply in order", async () => {
    const file = await readEntries(
      { ...entry, answer: true, times: 2 },
      { ...entry, answer: false },
      { tool: "deploy", question: "free", answer: "x", times: "any" },
    );
    const free = textQuestion("free", "Say.");
    const sure = [1, 2, 3, 4].map(() => answerTo(file, SURE));
    const said = [1, 2, 3, 4].map(() => answerTo(file, free));
    expect([sure, said]).toEqual([
      [true, true, false, undefined],
      ["x", "x", "x", "x"],
    ]);
  });

  test("that names more comes before one that names less, wherever it is in the file", async () => {
    const file = await readEntries(
      { ...entry, answer: false, times: "any" },
      { ...entry, answer: true, arguments: { where: "eu" } },
    );
    expect([answerTo(file, SURE, { where: "eu" }), answerTo(file, SURE, { where: "eu" })]).toEqual([
      true,
      false,
    ]);
  });

  test("may be the user's own words where the question allows that", async () => {
    const options = { options: ["a", "b"] };
    const file = await readEntries({ ...entry, answer: "c", times: 2 });
    expect([
      answerTo(file, selectQuestion("sure", "Which?", { ...options, allowsOther: true })),
      answerTo(file, selectQuestion("sure", "Which?", options)),
    ]).toEqual(["c", "later"]);
  });

  test.each([
    ["a variable", { secret_env: "TOKEN" }, "hunter2"],
    ["the file", { answer: "hunter2" }, "later"],
  ])("answers a secret from %s: %j", async (_, given, answer) => {
    const file = await readEntries({ ...entry, ...given });
    expect(answerTo(file, secretQuestion("sure", "Token?"))).toBe(answer);
  });

  test("does not put a variable on record as an answer that is no secret", async () => {
    const file = await readEntries({ ...entry, secret_env: "TOKEN" });
    expect(answerTo(file, textQuestion("sure", "Name?"))).toBe("later");
  });

  test("decides about calls and their results", async () => {
    const file = await read(`
permissions = [
  { tool = "deploy", arguments = { where = "eu" }, decision = "approve" },
  { tool = "deploy", decision = "deny", reason = "Not there." },
]
deliveries = [{ tool = "deploy", decision = "deny" }]
`);
    const call = { tool: "deploy", toolCallId: "call_1", arguments: { where: "eu" }, digest: "0" };
    const permission = { ...call, kind: "permission" } as const;
    const result = { content: "deployed", isError: false };
    expect([
      file.find(permission),
      file.find({ ...permission, arguments: { where: "us" } }),
      file.find(permission),
      file.find({ ...call, kind: "delivery", result }),
    ]).toEqual([
      { answer: true, decidedBy: by("permissions[0]") },
      { answer: false, note: "Not there.", decidedBy: by("permissions[1]") },
      undefined,
      { answer: false, decidedBy: by("deliveries[0]") },
    ]);
  });
});

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object", properties: { where: { type: "string", default: "eu" } } },
  run: async (_args, { ask }) => {
    const sure = await ask({ ...SURE, exclusive: true, allowsNote: true });
    const token = await ask(secretQuestion("token", "Token?"));
    return `${sure ? "deployed" : "left alone"} with ${token.length} letters`;
  },
});

describe("a turn with an answers file", () => {
  const CALL = [{ type: "tool_call", id: "call_1", name: "deploy" }] as const;
  const ASKING = { run: "ask", result: "ask" } as const;
  const ALL = `
permissions = [{ tool = "deploy", decision = "approve", arguments = { where = "eu" } }]
deliveries = [{ tool = "deploy", decision = "approve" }]
answers = [
  { tool = "deploy", question = "sure", answer = true, note = "at last" },
  { tool = "deploy", question = "token", secret_env = "TOKEN" },
]
`;

  async function run(text: string, options: Partial<TurnOptions> = {}) {
    const clock = new FakeClock();
    const conversation = await new MemoryConversationStore(clock).create({});
    const model = new ScriptedModel({ replies: [CALL, "Done."] });
    const prompter = new ScriptedPrompter({});
    const answers = await read(text);
    const toolConfig = { deploy: ASKING };
    const own = { conversation, model, prompter, answers, clock, tools: [deploy], toolConfig };
    const end = await runTurn({ ...own, ...options }, "Go.");
    const pending = pendingOf(readTurnProgress(eventsOf(conversation.stream.entries)));
    return { ...end, pending, ...own };
  }

  test("asks no one, and records which entry has decided", async () => {
    const { type, events, answers } = await run(ALL);
    const deciders = events.flatMap((event): unknown[] => {
      if (event.type === "permission_decision") return [[event.action, event.decidedBy]];
      if (event.type !== "inquiry_response" || event.outcome === "cancelled") return [];
      return [[event.outcome, event.answeredBy]];
    });
    expect({ type, deciders, unused: answers.explainUnused() }).toEqual({
      type: "done",
      deciders: [
        ["run", by("permissions[0]")],
        ["answered", by("answers[0]")],
        ["redacted", by("answers[1]")],
        ["deliver", by("deliveries[0]")],
      ],
      unused: [],
    });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_call_response",
        content: "deployed with 7 letters",
      }),
    );
    expect(events).toContainEqual(expect.objectContaining({ answer: true, note: "at last" }));
    expect(JSON.stringify(events)).not.toContain("hunter2");
  });

  test.each([
    ["permission", /^permissions.*$/m, 'deploy needs permission to run with {"where":"eu"}'],
    ["question", /^.*"sure".*$/m, 'deploy asks sure "Really?"'],
    ["question", /^.*"token".*$/m, 'deploy asks token "Token?"'],
    ["delivery", /^deliveries.*$/m, "deploy needs permission to show its result"],
  ])("leaves a %s without an entry open, whatever the policy is", async (kind, line, named) => {
    const { type, pending, events, answers } = await run(ALL.replace(line, ""), {
      toolConfig: { deploy: { ...ASKING, detached: "auto" } },
    });
    const [problem = ""] = answers.explainOpen(pending);
    expect({ type, kinds: pending.map((item) => item.kind), problem }).toEqual({
      type: "waiting",
      kinds: [kind],
      problem: expect.stringMatching(/: no entry in \S+\.$/) as unknown,
    });
    expect(problem.startsWith(`${named}: `)).toBe(true);
    expect(events.map((event) => event.type)).not.toContain("tool_call_response");
  });

  test("leaves a question open if its entry does not fit, and says why", async () => {
    const { type, pending, answers } = await run(ALL.replace("answer = true", 'answer = "yes"'));
    expect([type, answers.explainOpen(pending)]).toEqual([
      "waiting",
      ['deploy asks sure "Really?": answers[0] does not fit: expected true or false, got string.'],
    ]);
  });

  test("says that an entry is used up", async () => {
    const twice = defineTool({
      ...deploy,
      name: "deploy",
      run: async (_args, { ask }) => {
        await ask(booleanQuestion("sure", "Really?"));
        return ask(textQuestion("sure", "Really, really?"));
      },
    });
    const { pending, answers } = await run(ALL, { tools: [twice], toolConfig: {} });
    expect(answers.explainOpen(pending)).toEqual([
      'deploy asks sure "Really, really?": answers[0] cannot be used again (times).',
    ]);
  });

  test("names a question on one line, whatever its id is", async () => {
    const forging = defineTool({
      ...deploy,
      name: "deploy",
      run: (_args, { ask }) => ask(textQuestion("one\njp: two", "Really?")),
    });
    const { pending, answers } = await run(ALL, { tools: [forging], toolConfig: {} });
    const unused = await read('answers = [{ tool = "a\\nb", question = "c\\nd", answer = 1 }]');
    expect([answers.explainOpen(pending), unused.explainUnused()]).toEqual([
      [expect.stringMatching(/^deploy asks "one\\njp: two" "Really\?": no entry in .*\.$/)],
      [String.raw`answers[0] was never used: "a\nb" did not ask "c\nd".`],
    ]);
  });

  test("names the entries that nothing has asked for", async () => {
    const { type, answers } = await run(ALL, {
      model: new ScriptedModel({ replies: ["Nothing to do."] }),
    });
    expect([type, answers.explainUnused()]).toEqual([
      "done",
      [
        "answers[0] was never used: deploy did not ask sure.",
        "answers[1] was never used: deploy did not ask token.",
        "permissions[0] was never used: no matching call of deploy needed permission to run.",
        "deliveries[0] was never used: no matching call of deploy needed permission to show its result.",
      ],
    ]);
  });

  test("prefers an entry to a configured answer, and takes that where there is none", async () => {
    const questions = { sure: { answer: false }, token: { answer: "abc" } };
    const { type, events } = await run(ALL.replace(/^.*"token".*$/m, ""), {
      toolConfig: { deploy: { ...ASKING, questions } },
    });
    expect(type).toBe("done");
    expect(events).toContainEqual(expect.objectContaining({ content: "deployed with 3 letters" }));
  });

  test("goes on with another file where the first one had no entry", async () => {
    const { conversation, model } = await run(ALL.replace(/^.*"token".*$/m, ""));
    const end = await resumeTurn(conversation, {
      model,
      answers: await read(ALL),
      tools: [deploy],
      toolConfig: { deploy: ASKING },
    });
    const events = [...eventsOf(conversation.stream.entries)];
    expect(end.type).toBe("done");
    expect(events.filter(({ type }) => type === "inquiry_request")).toHaveLength(2);
    expect(events).toContainEqual(expect.objectContaining({ content: "deployed with 7 letters" }));
  });

  test("decides about a call in doubt", async () => {
    const clock = new FakeClock();
    const timestamp = timestampFromDate(clock.now());
    const conversation = await new MemoryConversationStore(clock).create({});
    await conversation.append(
      { type: "turn_start", timestamp },
      { type: "chat_request", timestamp, content: "Go." },
      { type: "tool_call_request", timestamp, id: "call_1", name: "deploy", arguments: {} },
      { type: "attempt_start", timestamp, toolCallId: "call_1" },
    );
    const entry = '{ tool = "deploy", question = "rerun", answer = "run" },';
    const answers = await read(ALL.replace("answers = [", `answers = [${entry}`));
    const model = new ScriptedModel({ replies: ["Done."] });
    const end = await resumeTurn(conversation, { model, answers, clock, tools: [deploy] });
    expect(end.type).toBe("done");
    const events = [...eventsOf(conversation.stream.entries)];
    expect(events).toContainEqual(expect.objectContaining({ content: "deployed with 7 letters" }));
    expect(events.some(({ type }) => type === "inquiry_request")).toBe(true);
    expect(events).toContainEqual(
      expect.objectContaining({
        action: "rerun",
        decidedBy: by("answers[0]"),
      }),
    );
  });
});

test.each<[JsonObject, unknown]>([
  [{ region: "eu" }, true],
  [{ region: "eu", force: true }, undefined],
  [{ region: "us" }, undefined],
  [{}, undefined],
])("an exact entry matches equal arguments only: %j gets %j", async (args, answer) => {
  counters("T-DECIDE-4");
  const entry = 'tool = "deploy", question = "sure", answer = true, exact = true';
  const file = await read(`answers = [{ ${entry}, arguments = { region = "eu" } }]`);
  expect(answerTo(file, SURE, args)).toBe(answer);
});

test("an exact entry without arguments matches only a call without any", async () => {
  counters("T-DECIDE-4");
  const file = await read(
    'answers = [{ tool = "deploy", question = "sure", answer = true, exact = true }]',
  );
  expect([answerTo(file, SURE, { region: "eu" }), answerTo(file, SURE)]).toEqual([undefined, true]);
});
