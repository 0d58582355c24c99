/** Runs each program of `examples/` as from a clone, and checks its output. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import {
  type AttemptResult,
  createLocalExecutor,
  type Executor,
} from "../src/reach/executor/index.ts";
import { temporaryFolder } from "../src/stores/temporary-workspace.fixture.ts";
import { call, permission, question, request, result, turnStart } from "./cli/records.ts";
import {
  CHAT_BOT,
  NIGHTLY_JOB,
  runNightlyJob,
  tryWebService,
  WEB_SERVICE,
} from "./support/run-examples.ts";
import { tryWebFleet, WEB_FLEET } from "./support/run-web-fleet.ts";
import { type Finished, jsonLines, lines, printed, Project } from "./cli/support.ts";

const EXAMPLES = path.join(import.meta.dirname, "..", "examples");
const STAMP = { timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/) };
const USAGE = {
  ...STAMP,
  type: "token_usage",
  model: "example/small",
  usage: { input: 1, cachedInput: 0, cacheWrites: 0, output: 1, reasoning: 0 },
};
const CLEAN = '{"tool":"clean","origin":{"type":"program"},"arguments":{}}';
const CLEAR = {
  call: {},
  arguments: { path: "tmp.log" },
  answers: {},
  secretAnswers: [],
  notes: {},
  signal: new AbortController().signal,
};
/** An example that runs in this folder. */
function pythonTool(file: string, folder: string): Executor {
  const script = path.join(EXAMPLES, "tools", file);
  const settings = {
    name: path.parse(file).name,
    source: { type: "local" },
    command: { program: "python3", args: [script], shell: false },
    options: {},
    hasCheck: true,
  } as const;
  return createLocalExecutor(settings, {
    workspaceRoot: folder,
    workspaceId: "",
    conversationId: "",
    variables: { PATH: process.env["PATH"] },
  });
}

const BY_POLICY = { kind: "policy", key: "conversation.tools.deploy.run" };

describe("the examples", () => {
  test("include a program that keeps what Node has compiled", async () => {
    expect(await run("fast-start.ts")).toEqual(printed(lines("Started fast")));
  });

  test("include an agent with one tool that asks", async () => {
    const finished = await run("asking-tool.ts");
    const stdout = finished.stdout.replaceAll(/"[0-9a-f]{64}"/g, '"…"');
    const parts = /"parts":\{[^}]*\}/;
    expect({ ...finished, stdout: stdout.replace(parts, '"parts":{}') }).toEqual(
      printed(
        lines(
          '{"type":"turn_start"}',
          '{"type":"chat_request","content":"Deploy version 1.4."}',
          '{"type":"tool_call_request","id":"call_1","name":"deploy","arguments":{"version":"1.4"}}',
          `{"type":"permission_decision","toolCallId":"call_1","tool":"deploy","action":"run","decision":"approved","decidedBy":${JSON.stringify(BY_POLICY)},"digest":"…"}`,
          '{"type":"attempt_start","toolCallId":"call_1"}',
          '{"type":"inquiry_request","id":"call_1.where.1","source":{"source":"tool","name":"deploy"},"question":{"text":"Where to?","answerType":{"type":"select","options":[{"value":"test"},{"value":"live"}]},"exclusive":false,"persistence":"turn"},"toolCallId":"call_1","questionId":"where","subject":{"digest":"…","version":3,"parts":{}},"origin":{"type":"program"},"takes":{"turn":{"code":"question"}}}',
          '{"type":"inquiry_response","id":"call_1.where.1","digest":"…","outcome":"answered","answer":"test","answeredBy":{"kind":"user","channel":"scripted","auth":"program"}}',
          '{"type":"attempt_start","toolCallId":"call_1"}',
          '{"type":"tool_call_response","id":"call_1","content":"Version 1.4 is on test.","isError":false}',
          '{"type":"chat_response","content":{"type":"message","text":"It is done."}}',
          "The assistant: It is done.",
        ),
      ),
    );
  });

  test("include a tool that pays once, though its call runs twice", async () => {
    const printedLines = lines(
      "Paid 12, with a key of 32 characters",
      "Attempt",
      "Attempt",
      "Ordered Emma as a gift, receipt r-1",
    );
    expect(await run("once-tool.ts")).toEqual(printed(printedLines));
  });

  test("include a tool that says whether it has ordered, whatever became of its process", async () => {
    const folder = temporaryFolder();
    const executor = pythonTool("order.py", folder);
    const order = { ...CLEAR, arguments: { title: "Emma" }, idempotencyKey: "4f1b" };
    const before = await executor.check?.(order);
    const ran = await executor.attempt(order);
    const other = await executor.check?.({ ...order, idempotencyKey: "77aa" });
    expect([before, ran, await executor.check?.(order), other]).toEqual([
      { type: "not_done" },
      { type: "success", content: "Emma is ordered.\n" },
      { type: "done", isError: false, content: "Emma is ordered." },
      { type: "not_done" },
    ]);
  });

  test("include a tool that asks again if the file has changed since", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "tmp.log");
    writeFileSync(file, "");
    const executor = pythonTool("clear.py", folder);
    const answered = (asked: AttemptResult, clear: boolean) => {
      const { binding = "" } = asked.type === "needs_input" ? asked.question : {};
      return executor.attempt({ ...CLEAR, answers: { clear }, bindings: { clear: binding } });
    };
    const first = await executor.attempt(CLEAR);
    writeFileSync(file, "important");
    const again = await answered(first, true);
    const kept = [await answered(first, false), readFileSync(file, "utf8")];
    const cleared = [await answered(again, true), readFileSync(file, "utf8")];
    expect([first, again, kept, cleared]).toMatchObject([
      { type: "needs_input", question: { context: "0 bytes." } },
      { type: "needs_input", question: { context: "9 bytes." } },
      [{ type: "success", content: "tmp.log was kept.\n" }, "important"],
      [{ type: "success", content: "tmp.log is empty.\n" }, ""],
    ]);
  });

  test("include data that a schema checks", async () => {
    expect(await run("typed-data.ts")).toEqual(
      printed(lines("Rome: 2800000", 'Asked again: `people`: expected integer, got "many"')),
    );
  });

  test("include a custom prompter, which repeats a question after an invalid answer", async () => {
    expect(await run("custom-prompter.ts", { input: "yes\nperhaps\nyes\n" })).toEqual(
      printed(
        lines(
          CLEAN,
          "assistant asks: Run clean?",
          CLEAN,
          "clean asks: Delete 12 old builds?",
          "clean asks: Delete 12 old builds?",
          "I have cleaned up.",
          "Permission: approved by user Ana (lines)",
          "Answer: true by user Ana (lines)",
        ),
      ),
    );
  });

  test("include a custom prompter that reports the end of input", async () => {
    expect(await run("custom-prompter.ts", { input: "yes\n" })).toEqual(
      printed(
        lines(
          CLEAN,
          "assistant asks: Run clean?",
          CLEAN,
          "clean asks: Delete 12 old builds?",
          "I have cleaned up.",
          "Permission: approved by user Ana (lines)",
        ),
      ),
    );
  });

  test("include a verifier of evidence", async () => {
    const project = new Project();
    const events = [
      turnStart(1),
      call(2, "a", "deploy"),
      permission(3, "a"),
      result(4, "a", "Done."),
    ];
    project.place({ second: 1, config: {}, events });
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    const file = path.join(project.root, "evidence.jsonl");
    const verified = await run("evidence-verifier/verify.ts", { words: [file] });
    expect([verified.status, jsonLines(verified)]).toMatchObject([
      0,
      [{ problems: [], isKeyExpected: false, statements: 4 }],
    ]);
    writeFileSync(file, readFileSync(file).subarray(0, -1));
    const cut = await run("evidence-verifier/verify.ts", { words: [file] });
    expect([cut.status, jsonLines(cut)]).toMatchObject([1, [{ problems: ["truncated"] }]]);
  });

  test("include a bot that asks in a chat, and knows who clicked", async () => {
    expect(await run("chat-bot/bot.ts")).toEqual(printed(lines(...CHAT_BOT)));
  });

  test("include a nightly job, which continues with what its answers file has since", async () => {
    expect(await runNightlyJob(path.join(EXAMPLES, "nightly-job"))).toEqual(NIGHTLY_JOB);
  });

  test("include a web service that can be killed at a question, and while it pays", async () => {
    expect(await tryWebService(path.join(EXAMPLES, "web-service"))).toEqual(WEB_SERVICE);
  }, 120_000);

  test("include a web service with workers on a database, one of which is killed while it pays", async () => {
    expect(await tryWebFleet()).toEqual(WEB_FLEET);
  }, 120_000);

  test("include a question that is answered later, and the turn that goes on", async () => {
    expect(await run("answer-later.ts")).toEqual(
      printed(lines("The job: waiting", "Where to? test: recorded", "The job: It is done.")),
    );
  });

  test("include a payment that two people of a role allow, and the one who asked for it does not", async () => {
    const said = ["Ada: asker", "Sam: wrong_person", "Ben: counted", "Ben: repeated"];
    expect(await run("two-approvers.ts")).toEqual(
      printed(lines("The turn: waiting", ...said, "Eve: recorded", "The tool: Paid 900.")),
    );
  });

  test("include two turns that share an MCP server", async () => {
    expect(await run("mcp-servers.ts")).toEqual(
      printed(
        lines(
          "Back up my notes. It is saved. Questions: 0",
          "Once more. It is replaced. Questions: 1",
        ),
      ),
    );
  });

  test("include an audit report", async () => {
    expect(await run("audit-report/report.ts")).toEqual(
      printed(
        lines(
          "jp-cm0mjwaidke-000001 Release 1.4",
          "  turn 1",
          '    deploy(to: "test")',
          "      run approved by user (scripted)",
          "      deploy asked: Deploy to test?",
          "        Answer: true by user (scripted)",
          '    deploy(to: "live")',
          "      run approved by remembered (call_1:run:1)",
          "      deploy asked: Deploy to live?",
          "        Cancelled (user)",
          "    sign()",
          "      run approved by policy (conversation.tools.sign.run)",
          "      sign asked: With the time?",
          "        Answer: true by config (conversation.tools.sign.questions.stamp.answer)",
          "      sign asked: Passphrase of the key?",
          "        Answer: <redacted> by user (scripted)",
          "    wipe()",
          "      run denied by user (scripted): we need them",
        ),
      ),
    );
  });

  test("include an audit report of a workspace with repeated and missing ids", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      events: [
        turnStart(0),
        request(1, "Go."),
        call(2, "call_1", "deploy", { to: "test" }),
        permission(3, "call_1", { tool: "deploy" }),
        result(4, "call_1", "It is on test."),
        call(5, "call_1", "deploy", { to: "live" }),
        question(6, "deploy.sure", { source: { source: "tool", name: "deploy" }, text: "Sure?" }),
      ],
    });
    expect(
      await run("audit-report/report.ts", { words: [project.root], variables: project.variables }),
    ).toEqual(
      printed(
        lines(
          id,
          "  turn 1",
          '    deploy(to: "test")',
          "      run approved by user (terminal)",
          '    deploy(to: "live")',
          "    deploy asked: Sure?",
          "      No answer",
        ),
      ),
    );
  });

  test("include an AI SDK model, which answers its tool's question", async () => {
    const finished = await run("ai-sdk-model/turn.ts");
    expect({ ...finished, stdout: jsonLines(finished) }).toMatchObject({
      status: 0,
      stdout: [
        { ...STAMP, type: "turn_start" },
        { ...STAMP, type: "chat_request", content: "Deploy the site." },
        { ...STAMP, type: "tool_call_request", id: "call_1", name: "deploy", arguments: {} },
        { ...USAGE, purpose: "reply" },
        {
          ...STAMP,
          type: "permission_decision",
          toolCallId: "call_1",
          tool: "deploy",
          action: "run",
          decision: "approved",
          decidedBy: BY_POLICY,
        },
        { ...STAMP, type: "attempt_start", toolCallId: "call_1" },
        {
          ...STAMP,
          type: "inquiry_request",
          id: "call_1.sure.1",
          source: { source: "tool", name: "deploy" },
          question: {
            text: "Deploy now?",
            answerType: { type: "boolean" },
            exclusive: false,
            persistence: "turn",
          },
          toolCallId: "call_1",
          questionId: "sure",
        },
        { ...USAGE, purpose: "inquiry", inquiryId: "call_1.sure.1" },
        {
          ...STAMP,
          type: "inquiry_response",
          id: "call_1.sure.1",
          outcome: "answered",
          answer: true,
          answeredBy: { kind: "assistant", model: "example/small" },
        },
        { ...STAMP, type: "attempt_start", toolCallId: "call_1" },
        {
          ...STAMP,
          type: "tool_call_response",
          id: "call_1",
          content: "deployed",
          isError: false,
        },
        {
          ...STAMP,
          type: "chat_response",
          content: { type: "message", text: "It is deployed." },
        },
        { ...USAGE, purpose: "reply" },
      ],
      stderr: "",
    });
  });

  test("include tools that are shared with an app that uses the AI SDK", async () => {
    expect(await run("shared-tool/programs.ts")).toEqual(
      printed(
        lines(
          "jp asks: Deploy version 1.4?",
          "jp: Version 1.4 is live.",
          "jp asks: Run rollback?",
          "jp: The user did not approve this call. The tool was not run.",
          "The app asks: Deploy version 1.4?",
          'The app: It says: {"type":"text","value":"Version 1.4 is live."}',
          "To approve: Deploy version 1.4?",
          'After the approval: It says: {"type":"text","value":"Version 1.4 is live."}',
          "The client asks: Deploy version 1.4?",
          'For addToolOutput: {"type":"result","output":"Nothing was deployed."}',
        ),
      ),
    );
  });
});

interface RunOptions {
  readonly words?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Without API keys in the environment. */
async function run(program: string, options: RunOptions = {}): Promise<Finished> {
  const { words = [], variables = { PATH: process.env["PATH"] ?? "" }, input = "" } = options;
  const file = path.join(EXAMPLES, program);
  const child = spawn(process.execPath, [file, ...words], { env: variables, stdio: "pipe" });
  child.stdin.end(input);
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { status, stdout, stderr };
}
