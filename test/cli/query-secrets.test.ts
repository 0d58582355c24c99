import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "../conformance/manifest.ts";
import { calling, outcomesIn, resultsIn } from "./calling-model.ts";
import type { ModelServer } from "./model-server.ts";
import { query, queryProject, recordOf, type ScriptedTool } from "./query-project.ts";
import { Screen } from "./screen.ts";
import type { Project } from "./support.ts";

describe("a secret", () => {
  const CANARY = "canary-5f0c1e";
  const SECRET_TOOL: ScriptedTool = {
    name: "asker",
    questions: [{ id: "q", text: "The word?", answer_type: { type: "secret" } }],
    program: "'got ' + tool.answers.q.length + ' characters'",
  };

  /** The files and requests that contain the secret. */
  function leaks(project: Project, server: ModelServer): readonly string[] {
    const folders = [project.root, project.data, project.home, project.temporary];
    const files = folders
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    const encoded = Buffer.from(CANARY).toString("base64").slice(0, -3);
    const isLeak = (text: string) => text.includes(CANARY) || text.includes(encoded);
    return [
      ...files.filter((file) => isLeak(readFileSync(file, "utf8"))),
      ...(isLeak(JSON.stringify(server.requests)) ? ["a request"] : []),
    ];
  }

  test("reaches only the tool if it is from the config", async () => {
    verifies("082/secret/configured-answer-redacted", "082/secret/value-nowhere-in-the-record");
    await using server = await calling(["asker"]);
    const project = queryProject({ server, tools: [SECRET_TOOL] });
    const key = "conversation.tools.asker.questions.q.answer";
    const finished = await query(project, ["one", "-v", "--cfg", `${key}=${CANARY}`], {
      variables: { JP_DEBUG: "1" },
    });
    expect([finished.status, resultsIn(server), leaks(project, server)]).toEqual([
      0,
      [`got ${CANARY.length} characters`],
      [],
    ]);
    expect(`${finished.stdout}${finished.stderr}`).not.toContain(CANARY);
    expect(outcomesIn(recordOf(project))).toEqual([
      { outcome: "redacted", answer: null, answered_by: { kind: "config", key } },
    ]);
  });

  test("typed at the prompt reaches only the tool", async () => {
    verifies("082/secret/prompt-answer-redacted", "082/secret/value-nowhere-in-the-record");
    verifies("082/secret/no-echo-at-the-prompt");
    await using server = await calling(["asker"]);
    const project = queryProject({ server, tools: [SECRET_TOOL] });
    const screen = new Screen(project, ["query", "one"]);
    await screen.until("The word?");
    screen.type(`${CANARY}\r`);
    const { status, bytes } = await screen.end();
    expect([status, resultsIn(server), leaks(project, server), bytes.includes(CANARY)]).toEqual([
      0,
      [`got ${CANARY.length} characters`],
      [],
      false,
    ]);
    expect(outcomesIn(recordOf(project))).toEqual([
      {
        outcome: "redacted",
        answer: null,
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
      },
    ]);
  });

  test("can be given on this terminal if another asks for it, and closes the prompt there", async () => {
    await using server = await calling(["asker"]);
    const project = queryProject({ server, tools: [SECRET_TOOL] });
    const asking = new Screen(project, ["query", "one"]);
    await asking.until("The word?");
    const onCommandLine = await project.jp("inquiry", "answer", "call_1", CANARY);
    const here = new Screen(project, ["inquiry", "answer", "call_1"]);
    await here.until("The word?");
    here.type(`${CANARY}\r`);
    const given = await here.end();
    const { status, bytes, lines } = await asking.end();
    expect([onCommandLine.status, given.status, given.lines.at(-1), status]).toEqual([
      2,
      0,
      "Answered call_1_1.q.1.",
      0,
    ]);
    expect(lines.join("\n")).toContain("asker: answered elsewhere (cli).");
    expect([
      resultsIn(server),
      leaks(project, server),
      (bytes + given.bytes).includes(CANARY),
    ]).toEqual([[`got ${CANARY.length} characters`], [], false]);
    expect(outcomesIn(recordOf(project))).toEqual([
      {
        outcome: "redacted",
        answer: null,
        answered_by: { kind: "user", channel: "cli", auth: "os_user" },
      },
    ]);
  });

  test("is asked for alone if it waits, and nothing else of its turn", async () => {
    const other = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
    const tools = [SECRET_TOOL, { name: "other", questions: [other] }];
    await using server = await calling(["other", "asker"]);
    const project = queryProject({ server, tools });
    await query(project, ["one", "--defer"]);
    const screen = new Screen(project, ["inquiry", "answer", "call_1_2"]);
    await screen.until("The word?");
    screen.type(`${CANARY}\r`);
    const { status, lines } = await screen.end();
    expect([status, lines.slice(-3), leaks(project, server)]).toEqual([
      4,
      [
        'Waiting: other asks "Go on?"',
        '    Source: local command "node other.cjs"',
        "  jp inquiry answer call_1_1.q.1",
      ],
      [],
    ]);
    expect(outcomesIn(recordOf(project))).toEqual([
      {
        outcome: "redacted",
        answer: null,
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
      },
    ]);
  });
});
