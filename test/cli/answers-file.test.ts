import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { calling, resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordsOf, type ScriptedTool } from "./query-project.ts";
import { call, permission, request, time, turnStart } from "./records.ts";
import { jsonLines, lines, type Project } from "./support.ts";

const SURE = { id: "sure", text: "Really?", answer_type: { type: "boolean" }, exclusive: true };
const REGION = {
  id: "region",
  text: "Where?",
  answer_type: { type: "select", options: ["eu", "us"] },
};
const TOKEN = { id: "token", text: "Token?", answer_type: { type: "secret" } };

const deploy: ScriptedTool = {
  name: "deploy",
  questions: [SURE, REGION, TOKEN],
  program: "'to ' + tool.answers.region + ' with ' + tool.answers.token.length",
  settings: 'run = "ask"\nresult = "ask"',
};

const SECRET = { CI_TOKEN: "hunter2" };
const ALL = `
permissions = [{ tool = "deploy", decision = "approve" }]
deliveries = [{ tool = "deploy", decision = "approve" }]
answers = [
  { tool = "deploy", question = "sure", answer = true },
  { tool = "deploy", question = "region", answer = "us" },
  { tool = "deploy", question = "token", secret_env = "CI_TOKEN" },
]
`;

function run(project: Project, file: string, ...words: readonly string[]) {
  writeFileSync(path.join(project.root, "ci.toml"), file);
  return query(project, ["--answers", "ci.toml", ...words, "go"], { variables: SECRET });
}

/** Without the calls that are shown, and the folder of the test. */
function complaints(project: Project, { stderr }: { readonly stderr: string }): string {
  const from = stderr.indexOf("jp: ");
  return stderr.slice(from === -1 ? stderr.length : from).replaceAll(`${project.root}/`, "");
}

describe("jp query --answers", () => {
  test("answers everything from the file, and exits with status 0", async () => {
    await using server = await calling(["deploy"]);
    const project = queryProject({ server, tools: [deploy] });
    const finished = await run(project, ALL);
    expect([finished.status, finished.stdout, resultsIn(server)]).toEqual([
      0,
      "I try.\nDone.\n",
      ["to us with 7"],
    ]);
    expect(finished.stderr).toContain("yes (answers file: answers[0])");
    const [record] = recordsOf(project);
    const deciders = record === undefined ? [] : record.entries.flatMap(deciderIn);
    expect(deciders).toEqual(
      ["permissions[0]", "answers[0]", "answers[1]", "answers[2]", "deliveries[0]"].map(
        (entry) => ({
          kind: "answers_file",
          entry,
        }),
      ),
    );
    const written = readFileSync(path.join(record?.folder ?? "", "events.json"), "utf8");
    expect(written).not.toContain("hunter2");
  });

  test("stops where an entry is missing, and says which and how to continue", async () => {
    await using server = await calling(["deploy"]);
    const project = queryProject({ server, tools: [deploy] });
    const finished = await run(project, ALL.replace(/^.*"region".*$/m, ""));
    expect([finished.status, complaints(project, finished), resultsIn(server)]).toEqual([
      1,
      lines(
        'jp: deploy asks region "Where?": no entry in ci.toml.',
        "The turn is waiting. Fix the file, then run `jp query --continue-turn` with the same --answers.",
      ),
      [],
    ]);
    const [record] = recordsOf(project);
    expect(record && entriesOf(record, "tool_call_response")).toEqual([]);
  });

  test("names the entries that the turn has not used", async () => {
    await using server = await ModelServer.start(["Nothing to do."]);
    const project = queryProject({ server, tools: [deploy] });
    const file =
      '[[answers]]\ntool = "deploy"\nquestion = "sure"\ntext = "Really?"\nanswer = true\n';
    const finished = await run(project, file);
    expect([finished.status, finished.stdout, complaints(project, finished)]).toEqual([
      1,
      "Nothing to do.\n",
      lines(
        'jp: answers[0] was never used: deploy did not ask sure "Really?".',
        "The turn is complete and saved, but it did not ask what the file expects.",
      ),
    ]);
  });

  test("refuses a file that it cannot read before it asks the model", async () => {
    await using server = await ModelServer.start([]);
    const project = queryProject({ server, tools: [deploy] });
    const finished = await run(project, '[[answers]]\ntool = "deploy"\n');
    expect([finished.status, complaints(project, finished), recordsOf(project)]).toEqual([
      1,
      lines(
        "jp: ci.toml:1: answers[0].question: expected a string, got nothing",
        "An answers file has [[answers]], [[permissions]] and [[deliveries]]: see docs/ci.md.",
      ),
      [],
    ]);
  });
});

async function verify(project: Project) {
  const [verified] = jsonLines(await project.jp("conversation", "verify", "--format", "json"));
  return verified;
}

describe("verifying a turn that was answered from a file", () => {
  const IDENTICAL = expect.objectContaining({ turns: 1, identical: true });

  test.each([
    ["a call is denied", '[[permissions]]\ntool = "deploy"\ndecision = "deny"\nreason = "No."\n'],
    ["a result is withheld", ALL.replace(/^(?<start>deliveries.*)"approve"/m, '$<start>"deny"')],
  ])("finds everything as recorded: %s", async (_name, file) => {
    await using server = await calling(["deploy"]);
    const project = queryProject({ server, tools: [deploy] });
    const { status } = await run(project, file);
    expect([status, await verify(project)]).toEqual([0, IDENTICAL]);
  });

  test("finds everything as recorded if the file was completed on the way", async () => {
    await using server = await calling(["deploy"]);
    const project = queryProject({ server, tools: [deploy] });
    const first = await run(project, ALL.replace(/^.*"region".*$/m, ""));
    writeFileSync(path.join(project.root, "ci.toml"), ALL.replace(/^permissions.*$/m, ""));
    const words = ["--continue-turn", "--answers", "ci.toml"];
    const second = await query(project, words, { variables: SECRET });
    expect([first.status, second.stdout, await verify(project)]).toEqual([1, "Done.\n", IDENTICAL]);
  });

  test("finds everything as recorded if a call was invalid, and the next one was not", async () => {
    const calls = [
      { name: "ask_user", arguments: { questions: ["Where?"] } },
      { name: "ask_user", arguments: { question: "Where?", answer_type: "text" } },
    ];
    await using server = await ModelServer.start(({ messages }) => {
      const next = calls[messages.filter(({ role }) => role === "tool").length];
      return next === undefined ? "Done." : { text: "I ask.", calls: [next] };
    });
    const project = queryProject({ server });
    const answer = '[[answers]]\ntool = "ask_user"\nquestion = "answer"\nanswer = "here"\n';
    const { status } = await run(project, answer);
    expect([status, await verify(project)]).toEqual([0, IDENTICAL]);
  });
});

function deciderIn({ answered_by: answered, decided_by: decided }: JsonObject) {
  return answered ?? decided ?? [];
}

/** Calls deploy with each of these, then replies. */
function callingWith(...args: readonly JsonObject[]) {
  return ModelServer.start(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? "Done."
      : { calls: args.map((each) => ({ name: "deploy", arguments: each })) },
  );
}

describe("jp inquiry export --answers", () => {
  const parameters =
    'parameters.where.type = "string"\nparameters.keep.type = ["string", "number", "null"]\n' +
    'parameters.depth = { type = "integer", default = 2 }';
  const tool = { ...deploy, settings: `${deploy.settings}\n${parameters}` };
  const ANY = ALL.replaceAll(" }", ', times = "any" }');

  test("writes what was answered, and a run with that file asks nothing", async () => {
    await using server = await callingWith({ where: "a\nb" }, { where: "a\nb" }, {});
    const project = queryProject({ server, tools: [tool] });
    const first = await run(project, ANY);
    expect(first.status).toBe(0);
    const exported = await project.jp("inquiry", "export", "--answers");
    const variables = { JP_SECRET_DEPLOY_TOKEN: "hunter2" };
    writeFileSync(path.join(project.root, "own.toml"), exported.stdout);
    const again = await query(project, ["-n", "--answers", "own.toml", "go"], { variables });
    expect([again.status, complaints(project, again)]).toEqual([0, ""]);
    // The calls run side by side, so their questions come in any order.
    const entry = '[[permissions]]\ntool = "deploy"';
    const answer = '[[answers]]\ntool = "deploy"\nquestion = "sure"\ntext = "Really?"';
    const args = 'arguments = { where = "a\\nb", depth = 2 }\nexact = true';
    const none = "arguments = { depth = 2 }\nexact = true";
    expect(exported.stdout.trim().split("\n\n")).toEqual(
      expect.arrayContaining([
        `${entry}\n${args}\ndecision = "approve"\ntimes = 2`,
        `${entry}\n${none}\ndecision = "approve"`,
        `${answer}\n${args}\nanswer = true\ntimes = 2`,
        `${answer}\n${none}\nanswer = true`,
      ]),
    );
    expect(exported.stdout).toContain(
      lines(
        "# Secrets are not recorded. Set this variable, or name another.",
        'tool = "deploy"',
        'question = "token"',
        'text = "Token?"',
        'arguments = { where = "a\\nb", depth = 2 }',
        "exact = true",
        'secret_env = "JP_SECRET_DEPLOY_TOKEN"',
      ),
    );
  });

  test.each<[string, Json]>([
    ["null", null],
    ["a large number", 2 ** 63],
  ])("approves nothing for a call whose arguments TOML cannot hold: %s", async (_name, keep) => {
    counters("T-DECIDE-4");
    await using server = await callingWith({ where: "a", keep });
    const project = queryProject({ server, tools: [tool] });
    expect((await run(project, ANY)).status).toBe(0);
    const { stdout } = await project.jp("inquiry", "export", "--answers");
    expect(stdout.trim().split("\n\n").slice(1)).toEqual(
      Array.from({ length: 5 }, () => '# No entry: TOML cannot hold what "deploy" was given.'),
    );
  });

  test("leaves out what settings decide, and notes what has no answer", async () => {
    await using server = await calling(["deploy"]);
    const settings = 'run = "unattended"\ndetached = "deny"';
    const project = queryProject({ server, tools: [{ ...deploy, settings }] });
    await query(project, ["go"]);
    const { stdout } = await project.jp("inquiry", "export", "--answers");
    expect(stdout.split("\n").slice(2)).toEqual([
      "",
      '# No entry: deploy asked sure "Really?" and got no answer: no_prompt_backend.',
      "",
    ]);
  });

  test("leaves out what was made void, and has what was decided instead", async () => {
    const project = queryProject({});
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        request(0, "go"),
        call(1, "call_1", "deploy"),
        permission(2, "call_1", { id: "call_1:run:1", tool: "deploy", action: "run" }),
        { timestamp: time(3), type: "decision_void", id: "call_1:run:1", changed: ["file"] },
        permission(4, "call_1", {
          id: "call_1:run:2",
          tool: "deploy",
          action: "run",
          decision: "denied",
          reason: "No.",
        }),
      ],
    });
    const { stdout } = await project.jp("inquiry", "export", id, "--answers");
    expect(stdout.split("\n").slice(3)).toEqual([
      "[[permissions]]",
      'tool = "deploy"',
      "arguments = {}",
      "exact = true",
      'decision = "deny"',
      'reason = "No."',
      "",
    ]);
  });

  test("keeps to its lines, whatever a model calls", async () => {
    const name = 'x\n[[permissions]]\ntool = "deploy"';
    const events = [
      { type: "turn_start", timestamp: "2026-01-02 03:04:05.0" },
      {
        type: "tool_call_request",
        timestamp: "2026-01-02 03:04:05.0",
        id: "1",
        name,
        arguments: {},
      },
      {
        type: "inquiry_request",
        timestamp: "2026-01-02 03:04:05.0",
        id: "q",
        tool_call_id: "1",
        question_id: "q",
        source: { source: "tool", name },
        question: { text: "Go?", answer_type: { type: "boolean" } },
      },
    ];
    const project = queryProject({});
    project.activate(project.place({ second: 1, events }));
    const { stdout } = await project.jp("inquiry", "export", "--answers");
    expect(stdout).toContain("# No entry: x [[permissions]]");
    expect(stdout).not.toMatch(/^\[\[/m);
  });

  test("writes a new file, and never overwrites one", async () => {
    const project = queryProject({});
    const { id } = project.place({ second: 1 });
    const first = await project.jp("inquiry", "export", id, "--answers", "new.toml");
    const second = await project.jp("inquiry", "export", id, "--answers", "new.toml");
    expect([first.status, first.stdout, existsSync(path.join(project.root, "new.toml"))]).toEqual([
      0,
      "",
      true,
    ]);
    expect([second.status, second.stderr.includes("could not be written: EEXIST")]).toEqual([
      1,
      true,
    ]);
  });

  test("has to be told what to export", async () => {
    const { status, stderr } = await queryProject({}).jp("inquiry", "export");
    expect([status, stderr.split("\n")[0]]).toEqual([2, "jp: --answers is required."]);
  });
});
