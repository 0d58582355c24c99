import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import type { CommandConfig } from "../../../settings/config/index.ts";
import {
  booleanQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../../record/tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import type { AttemptRequest, AttemptResult, CheckResult, Executor } from "../port.ts";
import {
  createLocalExecutor,
  type LocalEnvironment,
  type LocalToolSettings,
} from "./local-executor.ts";
import { counters } from "../../../../test/security/threats.ts";

let root: string;

beforeAll(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), "jp-local-")));
});

afterAll(() => rmSync(root, { recursive: true }));

interface Options {
  readonly settings?: Partial<LocalToolSettings>;
  readonly request?: Partial<AttemptRequest>;
  readonly environment?: Partial<LocalEnvironment>;
}

function executorOf(command: CommandConfig | undefined, options: Options = {}): Executor {
  const settings: LocalToolSettings = {
    name: "x",
    source: { type: "local" },
    options: {},
    ...(command !== undefined && { command }),
    ...options.settings,
  };
  const environment: LocalEnvironment = {
    workspaceRoot: root,
    workspaceId: "abcde",
    conversationId: "jp-c1",
    variables: process.env,
    ...options.environment,
  };
  return createLocalExecutor(settings, environment);
}

function attempt(
  command: CommandConfig | undefined,
  options: Options = {},
): Promise<AttemptResult> {
  return executorOf(command, options).attempt({
    arguments: {},
    answers: {},
    secretAnswers: [],
    notes: {},
    call: {},
    signal: new AbortController().signal,
    ...options.request,
  });
}

const shell = (script: string, ...args: string[]): CommandConfig => ({
  program: "sh",
  args: ["-c", script, "sh", ...args],
  shell: false,
});

/** A script with `tool` and `context` from its standard input. */
const script = (code: string, ...args: string[]): CommandConfig => ({
  program: process.execPath,
  args: [
    "-e",
    `const { tool, context } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
     const print = (value) => console.log(JSON.stringify(value));
     ${code}`,
    ...args,
  ],
  shell: false,
});

const prints = (value: Json): CommandConfig =>
  shell(`cat <<'JSON'\n${JSON.stringify(value)}\nJSON`);

function check(
  command: CommandConfig,
  settings: Partial<LocalToolSettings> = {},
  { signal } = new AbortController(),
): Promise<CheckResult> | undefined {
  const executor = executorOf(command, { settings: { hasCheck: true, ...settings } });
  return executor.check?.({ arguments: { amount: 2 }, idempotencyKey: "4f1b", signal });
}

describe("a check of a call in doubt", () => {
  test("runs the tool's own command, which is told what to do, and about which call", async () => {
    const result = "JSON.stringify({ tool, context })";
    const checked = await check(script(`print({ type: "done", result: ${result} })`));
    const { tool, context } = JSON.parse(checked?.type === "done" ? checked.content : "{}") as {
      readonly tool: JsonObject;
      readonly context: JsonObject;
    };
    expect([tool, context]).toMatchObject([
      { name: "x", arguments: { amount: 2 }, answers: {} },
      { action: "check", idempotency_key: "4f1b" },
    ]);
  });

  test.each<[Json, CheckResult]>([
    [
      { type: "done", result: "paid" },
      { type: "done", isError: false, content: "paid" },
    ],
    [
      { type: "done", result: { type: "error", message: "no money" } },
      { type: "done", isError: true, content: "no money" },
    ],
    [
      { type: "done", result: { content: [{ type: "text", text: "paid" }] } },
      { type: "done", isError: false, content: "paid" },
    ],
    [{ type: "not_done" }, { type: "not_done" }],
    [{ type: "unknown" }, { type: "unknown" }],
    [{ type: "done" }, { type: "failed" }],
    [{ type: "done", result: 3 }, { type: "failed" }],
    [{ type: "done", result: { type: "success" } }, { type: "failed" }],
    [
      { type: "done", result: { type: "needs_input", question: { id: "a", text: "A?" } } },
      { type: "failed" },
    ],
    [{ type: "success", content: "paid" }, { type: "failed" }],
    ["not_done", { type: "failed" }],
  ])("prints what it has found: %j", async (printed, expected) => {
    expect(await check(prints(printed))).toEqual(expected);
  });

  test.each<[string, CommandConfig]>([
    ["exits with an error", shell(`echo '{"type":"not_done"}'; exit 1`)],
    ["prints too much", shell(`yes | head -c 2000000; echo '{"type":"not_done"}'`)],
    ["does not start", { program: "./missing", args: [], shell: false }],
    ["has a template that cannot be filled in", shell("true", "{{tool.answers.x")],
  ])("has failed if the command %s", async (_, command) => {
    expect(await check(command)).toEqual({ type: "failed" });
  });

  test("is over when the time of the tool is, or the call is stopped", async () => {
    const stopped = new AbortController();
    const running = check(shell("sleep 60"), {}, stopped);
    stopped.abort();
    expect([await check(shell("sleep 60"), { timeoutMs: 20 }), await running]).toEqual([
      { type: "timed_out" },
      { type: "failed" },
    ]);
  });

  test("is possible only if the config says so: any other program would run the call", () => {
    const settings = [{}, { hasCheck: false }, { hasCheck: true }];
    expect(
      settings.map((each) => "check" in executorOf(shell("true"), { settings: each })),
    ).toEqual([false, false, true]);
  });
});

describe("the document on standard input", () => {
  test("contains the tool and its context, and is the same for templates", async () => {
    const result = await attempt(
      {
        program: "sh",
        args: ["-c", 'cat; echo "$@"', "sh", "{{tool}}", "{{context}}"],
        shell: false,
      },
      {
        settings: { options: { strict: true } },
        request: { arguments: { path: "a b" }, answers: { ok: true } },
      },
    );
    const tool = {
      name: "x",
      arguments: { path: "a b" },
      answers: { ok: true },
      options: { strict: true },
    };
    const context = { action: "run", root, workspace_id: "abcde", conversation_id: "jp-c1" };
    const [document = "", templates = ""] =
      result.type === "success" ? result.content.split("\n") : [];
    expect(JSON.parse(document)).toEqual({ tool, context });
    expect(JSON.parse(`[${templates.replace("} {", "},{")}]`)).toEqual([tool, context]);
  });

  test("has the idempotency key of the call, also for templates", async () => {
    const result = await attempt(
      {
        program: "sh",
        args: ["-c", 'cat; echo "$1"', "sh", "{{context.idempotency_key}}"],
        shell: false,
      },
      { request: { idempotencyKey: "4f1b" } },
    );
    const [document = "", template = ""] =
      result.type === "success" ? result.content.split("\n") : [];
    expect([JSON.parse(document), template]).toMatchObject([
      { context: { idempotency_key: "4f1b" } },
      "4f1b",
    ]);
  });

  test("has the bindings of the questions that were answered", async () => {
    const request = { answers: { ok: true }, bindings: { ok: "sha256:1" } };
    expect(await attempt(script("console.log(tool.bindings.ok)"), { request })).toEqual({
      type: "success",
      content: "sha256:1\n",
    });
  });

  test("uses the tool's name in its source, if there is one", async () => {
    const settings: Partial<LocalToolSettings> = { source: { type: "local", tool: "other" } };
    const command = script("console.log(tool.name, process.argv[1])", "{{tool.name}}");
    expect(await attempt(command, { settings })).toEqual({
      type: "success",
      content: "other other\n",
    });
  });

  test("may be left unread", async () => {
    const request = { arguments: { text: "x".repeat(1_000_000) } };
    expect(await attempt(shell("echo done"), { request })).toEqual({
      type: "success",
      content: "done\n",
    });
  });
});

test("a tool runs in the workspace, with the given environment", async () => {
  const environment = { variables: { PATH: process.env["PATH"], A: "b" } };
  expect(await attempt(shell("pwd; echo $A"), { environment })).toEqual({
    type: "success",
    content: `${root}\nb\n`,
  });
});

describe("what a tool prints", () => {
  test("is its result unchanged, if it is not an outcome", async () => {
    const texts = [" a\n\n", "", '{"type":"other"}', '"success"', '{"type":"success"} x', "[1]"];
    const results = await Promise.all(
      texts.map((text) => attempt({ program: "printf", args: ["%s", text], shell: false })),
    );
    expect(results).toEqual(texts.map((content) => ({ type: "success", content })));
  });

  test("is an outcome whatever the exit status is, with or without whitespace around it", async () => {
    const outcomes = [
      [
        `printf '\\n {"type":"success","content":"done"}\\n\\n'; exit 3`,
        { type: "success", content: "done" },
      ],
      [`echo '{"type":"error","message":"no"}'`, { type: "error", content: "no" }],
      [
        `echo '{"type":"error","message":"no","trace":["a","b"],"transient":true}'; kill -9 $$`,
        { type: "error", content: "no\n\nTrace:\na\nb" },
      ],
    ] as const;
    const results = await Promise.all(outcomes.map(([text]) => attempt(shell(text))));
    expect(results).toEqual(outcomes.map(([, result]) => result));
  });

  test("is reported with both streams when it fails without an outcome", async () => {
    const results = [
      await attempt(shell("echo out; echo err >&2; exit 3")),
      await attempt(shell("echo out; kill -9 $$")),
    ];
    expect(results.map((result) => "content" in result && JSON.parse(result.content))).toEqual([
      { message: "Tool 'x' execution failed.", status: 3, stderr: "err\n", stdout: "out\n" },
      { message: "Tool 'x' execution failed.", signal: "SIGKILL", stderr: "", stdout: "out\n" },
    ]);
  });

  test.each<[string, Json, string]>([
    ["a success without content", { type: "success" }, "content: expected a string, got nothing."],
    [
      "a question without a text",
      { type: "needs_input", question: { id: "a", answer_type: "Boolean" } },
      "question.text: expected a string, got nothing.",
    ],
    [
      "a question of no known type",
      { type: "needs_input", question: { id: "a", text: "?", answer_type: { type: "date" } } },
      'question.answer_type.type: expected "boolean" or "select" or "text" or "secret", got another string.',
    ],
    [
      "a question with a binding that is too long",
      {
        type: "needs_input",
        question: { id: "a", text: "?", answer_type: "Boolean", binding: "x".repeat(1025) },
      },
      "question.binding: longer than 1024 bytes. Send a digest instead.",
    ],
  ])("is malformed if it is %s, and the error says how", async (_, value, problem) => {
    expect(await attempt(prints(value))).toEqual({
      type: "error",
      content: `The output of tool 'x' is malformed: ${problem}`,
    });
  });

  test("is truncated if it is too long, and the result says so", async () => {
    const result = await attempt(shell("head -c 2000000 /dev/zero | tr '\\0' a"));
    expect(result).toEqual({
      type: "success",
      content: `${"a".repeat(1024 * 1024)}\n[Truncated: 951424 of 2000000 bytes omitted.]`,
    });
  });

  test("is not a success if it is an outcome that is too long", async () => {
    const command = script('print({ type: "error", message: "a".repeat(2000000) })');
    expect(await attempt(command)).toEqual({
      type: "error",
      content: "The output of tool 'x' is malformed: it is too long.",
    });
  });

  test("to standard error is reported while it runs, and not part of the result", async () => {
    const lines: string[] = [];
    const onProgress = (line: string) => lines.push(line);
    const result = await attempt(shell("echo one >&2; echo two >&2; echo done"), {
      request: { onProgress },
    });
    expect([result, lines]).toEqual([{ type: "success", content: "done\n" }, ["one", "two"]]);
  });
});

describe("a tool that asks", () => {
  test("may do so in either notation", async () => {
    const select = { Select: { options: ["a", "b"] } };
    const questions = [
      { id: "q", text: "?", answer_type: { type: "boolean" }, default: true },
      { id: "q", text: "?", answer_type: "Boolean", pre_amble: "diff" },
      { id: "q", text: "?", answer_type: select },
      { id: "q", text: "?", answer_type: { type: "secret" } },
    ];
    const results = await Promise.all(
      questions.map((question) => attempt(prints({ type: "needs_input", question }))),
    );
    expect(results.map((result) => result.type === "needs_input" && result.question)).toEqual([
      booleanQuestion("q", "?", { default: true }),
      booleanQuestion("q", "?", { context: "diff" }),
      selectQuestion("q", "?", { options: ["a", "b"] }),
      secretQuestion("q", "?"),
    ]);
  });

  test("is the one who asks, by the name in the config, whatever it claims", async () => {
    counters("T-PROV-2");
    verifies("082/source/local-tool-is-always-the-tool", "082/source/local-tool-cannot-change-it");
    const source = { source: "assistant", name: "y" };
    const question = { id: "q", text: "?", answer_type: "Text", source };
    const settings: Partial<LocalToolSettings> = { source: { type: "local", tool: "other" } };
    const command = prints({ type: "needs_input", question, source, name: "other" });
    const request = { arguments: { source, name: "y" }, answers: { source } };
    expect(await attempt(command, { settings, request })).toEqual({
      type: "needs_input",
      question: textQuestion("q", "?"),
      source: { source: "tool", name: "x" },
    });
  });

  test("runs again with one more answer until it has all of them", async () => {
    const command = script(`
      const missing = ["name", "key", "sure"].find((id) => !(id in tool.answers));
      const answer_type = { type: missing === "key" ? "secret" : missing === "name" ? "text" : "boolean" };
      if (missing) print({ type: "needs_input", question: { id: missing, text: missing + "?", answer_type } });
      else print({ type: "success", content: JSON.stringify([tool.arguments, tool.answers]) });
    `);
    const replies: Record<string, Json> = { name: "Eve", key: "s3cret", sure: false };
    const answers: Record<string, Json> = {};
    const secretAnswers: string[] = [];
    const asked: string[] = [];
    let result: AttemptResult;
    for (;;) {
      result = await attempt(command, { request: { arguments: { a: 1 }, answers, secretAnswers } });
      if (result.type !== "needs_input") break;
      const { id, answerType } = result.question;
      asked.push(id);
      answers[id] = replies[id] ?? null;
      if (answerType.type === "secret") secretAnswers.push(id);
    }
    expect(asked).toEqual(["name", "key", "sure"]);
    expect(result).toEqual({ type: "success", content: JSON.stringify([{ a: 1 }, replies]) });
  });
});

describe("a secret answer", () => {
  const request = { answers: { key: "s3cret", user: "eve" }, secretAnswers: ["key"] };

  test("is on standard input, and neither on the command line nor in the environment", async () => {
    verifies("082/secret/local-tool-gets-it-on-the-next-run");
    const command = script(
      `print({ type: "success", content: JSON.stringify({
         stdin: tool.answers, argv: process.argv.slice(1), env: process.env,
         cmdline: require("node:fs").readFileSync(process.platform === "linux" ? "/proc/self/cmdline" : 0, "utf8"),
       }) })`,
      "{{tool}}",
      "{{tool.answers}}",
      "{{tool.answers.user}}",
      "{% for id in tool.answers %}{{id}}{% endfor %}",
      "{{tool.answers|tojson}}",
      "{{debug()}}",
    );
    const result = await attempt(command, { request });
    const { stdin, ...others } = JSON.parse("content" in result ? result.content : "{}");
    expect(stdin).toEqual(request.answers);
    expect(others.argv.slice(1, 4)).toEqual(['{"user":"eve"}', "eve", "user"]);
    expect(JSON.stringify(others)).not.toContain("s3cret");
  });

  test("cannot be used in a template, and the error does not contain it", async () => {
    const commands: CommandConfig[] = [
      { program: "echo", args: ["a", "{{tool.answers.key}}"], shell: false },
      { program: "echo {{tool.answers['key']}}", args: [], shell: true },
    ];
    const results = await Promise.all(commands.map((command) => attempt(command, { request })));
    const problem =
      'cannot be rendered: the answer to "key" is a secret and never appears on a ' +
      "command line. Read it from `tool.answers` on standard input.";
    expect(results).toEqual([
      {
        type: "error",
        content: `Tool 'x' was not run: argument 2, \`{{tool.answers.key}}\`, ${problem}`,
      },
      {
        type: "error",
        content: `Tool 'x' was not run: the program, \`echo {{tool.answers['key']}}\`, ${problem}`,
      },
    ]);
  });
});

describe("a command", () => {
  test("for a shell sees argument values as text, in its program and in its arguments", async () => {
    const command: CommandConfig = {
      program: `printf '%s\\n' {{tool.arguments.a}} "{{tool.arguments.a}}" '{{tool.arguments.a}}'`,
      args: ["{{tool.arguments.a}}", "{{tool.arguments.missing}}"],
      shell: true,
    };
    const a = '\'; echo pwned; "$(echo pwned)" `echo pwned` #';
    expect(await attempt(command, { request: { arguments: { a } } })).toEqual({
      type: "success",
      content: `${a}\n${a}\n${a}\n${a}\nnull\n`,
    });
  });

  test("that is a path is resolved in the workspace", async () => {
    writeFileSync(path.join(root, "tool.sh"), "#!/bin/sh\necho here\n");
    chmodSync(path.join(root, "tool.sh"), 0o755);
    const command = { program: "./tool.sh", args: [], shell: false };
    expect(await attempt(command)).toEqual({ type: "success", content: "here\n" });
  });

  test.each<[string, CommandConfig, string]>([
    [
      "that does not exist",
      { program: "no-such-program", args: [], shell: false },
      "was not started: program no-such-program not found in PATH. Install it, or use its full path.",
    ],
    [
      "whose file does not exist",
      { program: "./no-such-file", args: [], shell: false },
      "was not started: program ./no-such-file, or the interpreter of this script, not found (from ROOT).",
    ],
    [
      "that may not be executed",
      { program: "/etc/passwd", args: [], shell: false },
      "was not started: /etc/passwd is not executable. Make it executable, for instance with `chmod +x`.",
    ],
    [
      "that is empty",
      { program: "{% if false %}a{% endif %}", args: [], shell: false },
      "was not started: its program is empty, or its command line contains a NUL character.",
    ],
    [
      "that is too long",
      {
        program: "echo",
        args: ["{% for i in range(3000) %}{{ tool.arguments.long }}{% endfor %}"],
        shell: false,
      },
      "was not started: its command line is longer than the system allows. " +
        "Let it read its arguments from standard input instead.",
    ],
  ])("%s is an error that says what to do", async (_, command, problem) => {
    const request = { arguments: { long: "x".repeat(1000) } };
    expect(await attempt(command, { request })).toEqual({
      type: "error",
      content: `Tool 'x' ${problem.replace("ROOT", root)}`,
    });
  });

  test("in a workspace that no longer exists is an error that says so", async () => {
    const workspaceRoot = path.join(root, "gone");
    expect(await attempt(shell(":"), { environment: { workspaceRoot } })).toEqual({
      type: "error",
      content: `Tool 'x' was not started: the folder ${workspaceRoot} does not exist.`,
    });
  });

  test("that is missing from the config is an error with its key", async () => {
    expect(await attempt(undefined)).toEqual({
      type: "error",
      content: "Tool 'x' was not run: it has no command. Set `conversation.tools.x.command`.",
    });
  });
});

describe("a tool that is stopped", () => {
  test("is cancelled, whatever it has printed", async () => {
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    const command = shell(`echo '{"type":"success","content":"a"}'; echo up >&2; exec sleep 60`);
    const request = { signal: controller.signal, onProgress };
    expect(await attempt(command, { request })).toEqual({ type: "cancelled" });
  });

  test("because it takes too long is an error with its output", async () => {
    const result = await attempt(shell("echo out; echo err >&2; exec sleep 60"), {
      settings: { timeoutMs: 800 },
    });
    expect([result.type, "content" in result && JSON.parse(result.content)]).toEqual([
      "error",
      {
        message: "Tool 'x' was stopped: it took longer than 0.8 s.",
        stderr: "err\n",
        stdout: "out\n",
      },
    ]);
  });
});
