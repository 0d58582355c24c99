import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import { Screen } from "./screen.ts";
import { jsonLines, lines, printed, Project } from "./support.ts";

const EXAMPLES = path.join(import.meta.dirname, "..", "..", "examples", "tools");

/** A workspace with a config and files. */
function projectWith(config: string, files: Readonly<Record<string, string>> = {}): Project {
  const project = new Project();
  writeFileSync(path.join(project.root, ".jp", "config.toml"), config);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(project.root, name)), { recursive: true });
    writeFileSync(path.join(project.root, name), text);
  }
  return project;
}

/** A tool that asks one question and prints the answer. */
function asking(answerType: string, more = ""): Project {
  const question = `{"id":"q","text":"What then?","answer_type":${answerType}${more}}`;
  const script = `
const call = JSON.parse(require("fs").readFileSync(0, "utf8")).tool;
console.log("q" in call.answers
  ? "got " + JSON.stringify(call.answers.q)
  : JSON.stringify({ type: "needs_input", question: ${question} }));`;
  const config = '[conversation.tools.asker]\nsource = "local"\ncommand = "node asker.cjs"\n';
  return projectWith(config, { "asker.cjs": script });
}

describe("jp tool run", () => {
  test("passes the arguments to the tool and prints its result", async () => {
    const project = projectWith(`
      [conversation.tools.greet]
      source = "local"
      command = "echo Hello, {{tool.arguments.name}} {{tool.arguments.times}}"
      parameters.name = { type = "string", required = true }
      parameters.times = { type = "integer", default = 1 }
    `);
    expect([
      await project.jp("tool", "run", "greet", "--arg", "name=Ada Lovelace; rm -rf /"),
      await project.jp("tool", "run", "greet", "-a", "name=Ada", "-a", "times:=3"),
      await project.jp("tool", "run", "greet", "--args", '{"name":"Ada","times":"4"}'),
    ]).toEqual([
      printed(lines("Hello, Ada Lovelace; rm -rf / 1")),
      printed(lines("Hello, Ada 3")),
      printed(lines("Hello, Ada 4")),
    ]);
  });

  test("does not run a tool with invalid arguments", async () => {
    const project = projectWith(`
      [conversation.tools.touch]
      source = "local"
      command = "touch made"
      parameters.name = { type = "string", required = true }
    `);
    const { status, stderr } = await project.jp("tool", "run", "touch", "--arg", "nmae=x");
    expect({
      status,
      isNamed: stderr.includes("nmae") && stderr.includes("See: jp tool show touch"),
      isRun: existsSync(path.join(project.root, "made")),
    }).toEqual({ status: 1, isNamed: true, isRun: false });
  });

  test("prints the error of a failing tool on stderr and exits with status 1", async () => {
    const project = projectWith(`
      [conversation.tools.fail]
      source = "local"
      command = { program = "echo broken >&2; exit 3", shell = true }
    `);
    expect(await project.jp("tool", "run", "fail")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines("broken", "Tool 'fail' execution failed."),
    });
  });

  test("fails if the tool asks and no terminal is available, and says what to do", async () => {
    counters("T-RUN-4");
    const project = asking('{"type":"text"}');
    expect(await project.jp("tool", "run", "asker", "--non-interactive")).toEqual({
      status: 3,
      stdout: "",
      stderr: lines(
        "jp: asker asks, and no terminal is available: What then?",
        "Run it on a terminal, or give the answer: --cfg 'conversation.tools.asker.questions.q.answer=…'",
      ),
    });
  });

  test("uses the question's default without a terminal if the config says so", async () => {
    const detached = "conversation.tools.asker.detached";
    const run = (project: Project, policy: string) =>
      project.jp("tool", "run", "asker", "--non-interactive", "--cfg", `${detached}=${policy}`);
    const plain = asking('{"type":"boolean"}', ',"default":false');
    const exclusive = asking('{"type":"boolean"}', ',"default":false,"exclusive":true');
    const [taken, denied, refused] = [
      await run(plain, "defaults"),
      await run(plain, "deny"),
      await run(exclusive, "defaults"),
    ];
    expect([taken, denied.status, refused.status]).toEqual([printed(lines("got false")), 3, 3]);
  });

  test.each([
    ['{"type":"select","options":[]}', "", "a select needs at least one option"],
    ['{"type":"select","options":["a","a"]}', "", 'duplicate option "a"'],
    ['{"type":"boolean"}', ',"default":"maybe"', "expected true or false, got string"],
  ])("explains an invalid question: %s%s", async (type, more, problem) => {
    const { status, stderr } = await asking(type, more).jp("tool", "run", "asker");
    expect([status, stderr.includes(problem)]).toEqual([1, true]);
  });

  test("uses a configured answer, if it fits", async () => {
    const project = asking('{"type":"boolean"}');
    const key = "conversation.tools.asker.questions.q.answer";
    const run = (setting: string) =>
      project.jp("tool", "run", "asker", "--non-interactive", "--cfg", setting);
    expect([await run(`${key}:=true`), await run(`${key}=hunter2`)]).toEqual([
      printed(lines("got true")),
      {
        status: 1,
        stdout: "",
        stderr: lines(
          "jp: The configured answer does not fit: expected true or false, got string.",
          `Change or remove ${key}; write values other than text as JSON: ${key}:=true`,
        ),
      },
    ]);
  });

  test("stops a tool that ignores its answer", async () => {
    const question = '{"id":"q","text":"Again?","answer_type":{"type":"text"}}';
    const project = projectWith(
      `
      [conversation.tools.deaf]
      source = "local"
      command = "cat question.json"
      questions.q.answer = "yes"
    `,
      { "question.json": `{"type":"needs_input","question":${question}}` },
    );
    expect(await project.jp("tool", "run", "deaf")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        "jp: deaf keeps asking, although it got answers: Again?",
        "conversation.limits caps answers without a person.",
      ),
    });
  });

  test("stops a tool that ignores its default", async () => {
    const question = '{"id":"q","text":"Again?","answer_type":{"type":"text"},"default":"x"}';
    const project = projectWith(
      `
      [conversation.tools.deaf]
      source = "local"
      command = "cat question.json"
      detached = "defaults"
    `,
      { "question.json": `{"type":"needs_input","question":${question}}` },
    );
    const { status, stderr } = await project.jp("tool", "run", "deaf", "--non-interactive");
    expect([status, stderr]).toEqual([
      1,
      lines(
        "jp: deaf keeps asking, although it got answers: Again?",
        "conversation.limits caps answers without a person.",
      ),
    ]);
  });

  test("says that the tool asks what config does not name, if config names something else", async () => {
    const project = asking('{"type":"text"}', ',"default":"x"');
    const settings = ["questions.que.answer=1", "detached=defaults"];
    const flags = settings.flatMap((words) => ["--cfg", `conversation.tools.asker.${words}`]);
    const { stdout, stderr } = await project.jp(
      "tool",
      "run",
      "asker",
      "--non-interactive",
      ...flags,
    );
    expect([stdout, stderr]).toEqual([
      'got "x"\n',
      lines(
        'asker asks "q", which conversation.tools.asker.questions does not name. It names "que", which asker has ' +
          'not asked. If that is right, add the table conversation.tools.asker.questions."q".',
      ),
    ]);
  });

  test("lets a tool ask several different questions", async () => {
    const script = `
const { answers } = JSON.parse(require("fs").readFileSync(0, "utf8")).tool;
const id = ["a", "b", "c", "d", "e"].find((each) => !(each in answers));
const question = { id, text: "?", answer_type: { type: "text" } };
console.log(id === undefined ? Object.values(answers).join("") : JSON.stringify({ type: "needs_input", question }));`;
    const answers = ["a", "b", "c", "d", "e"].map((id) => `questions.${id}.answer = "${id}"`);
    const project = projectWith(
      `[conversation.tools.curious]\nsource = "local"\ncommand = "node curious.cjs"\n${answers.join("\n")}\n`,
      { "curious.cjs": script },
    );
    expect(await project.jp("tool", "run", "curious")).toEqual(printed(lines("abcde")));
  });

  test("can run describe_tools", async () => {
    const project = projectWith(`
      [conversation.tools.greet]
      source = "local"
      command = "echo hi"
      summary = "Says hi."
      description = "Says hi, and nothing else."
    `);
    const names = '{"tools":["greet","nothing"]}';
    const { status, stdout } = await project.jp("tool", "run", "describe_tools", "--args", names);
    expect([status, stdout]).toEqual([
      0,
      lines(
        "## greet",
        "",
        "Says hi.",
        "",
        "Says hi, and nothing else.",
        "",
        "---",
        "",
        "No additional documentation available for: nothing",
      ),
    ]);
  });

  test("reports unknown tools and malformed arguments", async () => {
    const project = projectWith("");
    const results = await Promise.all([
      project.jp("tool", "run", "nothing"),
      project.jp("tool", "run", "describe_tools", "--arg", "tools"),
      project.jp("tool", "run", "describe_tools", "--args", "[1]"),
    ]);
    expect(results.map(({ status, stderr }) => [status, stderr.split("\n")[0]])).toEqual([
      [1, "jp: Unknown tool: nothing"],
      [2, "jp: Not an argument: tools"],
      [2, "jp: --args expects a JSON object."],
    ]);
  });
});

describe("a question on a terminal", () => {
  test.each([
    { type: '{"type":"boolean"}', keys: "y", got: "got true" },
    { type: '{"type":"boolean"}', more: ',"default":false', keys: "\r", got: "got false" },
    { type: '{"type":"boolean"}', keys: "Y\r", got: "got true" },
    { type: '{"type":"text"}', keys: "some words\r", got: 'got "some words"' },
    { type: '{"type":"text"}', more: ',"default":"as ever"', keys: "\r", got: 'got "as ever"' },
    { type: '{"type":"secret"}', keys: "hunter2\r", got: 'got "hunter2"' },
    { type: '{"type":"select","options":["a","b","c"]}', keys: "\u001b[B\r", got: 'got "b"' },
  ])("is answered by the keys of its type: $type, $keys", async ({ type, more, keys, got }) => {
    const screen = new Screen(asking(type, more), ["tool", "run", "asker"]);
    await screen.until("What then?");
    screen.type(keys);
    const { status, lines: shown } = await screen.end();
    expect({ status, last: shown.at(-1) }).toEqual({ status: 0, last: got });
  });

  test("does not show the answer if its type is secret", async () => {
    verifies(
      "082/secret/no-echo-at-the-prompt",
      "082/secret/local-tool-declares-it-in-its-output",
      "082/secret/local-tool-gets-it-on-the-next-run",
    );
    const project = asking('{"type":"secret"}');
    writeFileSync(
      path.join(project.root, "asker.cjs"),
      readFileSync(path.join(project.root, "asker.cjs"), "utf8").replace(
        '"got " + JSON.stringify(call.answers.q)',
        '"got " + call.answers.q.length + " characters"',
      ),
    );
    const screen = new Screen(project, ["tool", "run", "asker"]);
    await screen.until("What then?");
    screen.type("hunter2\r");
    const { bytes } = await screen.end();
    expect([bytes.includes("hunter2"), bytes.includes("got 7 characters")]).toEqual([false, true]);
  });

  test.each([
    { name: "Ctrl-C", key: "\u0003" },
    { name: "Escape", key: "\u001b" },
    { name: "Ctrl-D", key: "\u0004" },
  ])("is cancelled by $name", async ({ key }) => {
    const screen = new Screen(asking('{"type":"text"}'), ["tool", "run", "asker"]);
    await screen.until("What then?");
    screen.type(key);
    const { status, lines: shown } = await screen.end();
    expect({ status, last: shown.at(-1) }).toEqual({ status: 130, last: "Cancelled." });
  });

  test("takes words only as the reason of a no, since there is no model to send them to", async () => {
    const screen = new Screen(asking('{"type":"boolean"}'), ["tool", "run", "asker"]);
    await screen.answer(
      ["? What then?", "?\r"],
      ["  words  no, with this reason", "use sed"],
      ["  Enter no, for this reason · Esc clear", "\r"],
    );
    const { bytes, lines: shown } = await screen.end();
    expect(shown).toContain("got false");
    expect(bytes).not.toMatch(/message|instead/);
  });

  test("shows the neutralized context", async () => {
    const more = ',"context":"-old\\u001b[2J\\n+new"';
    const screen = new Screen(asking('{"type":"boolean"}', more), ["tool", "run", "asker"]);
    await screen.until("What then?");
    screen.type("y");
    const { lines: shown } = await screen.end();
    expect(shown.slice(0, 2)).toEqual(["-old␛[2J", "+new"]);
  });
});

test("Ctrl-C ends a running tool and the processes it started", async () => {
  const project = projectWith(`
    [conversation.tools.slow]
    source = "local"
    command = { program = "sleep 60 & echo $! >&2; wait", shell = true }
  `);
  const screen = new Screen(project, ["tool", "run", "slow"]);
  await screen.untilShown((shown) => shown.some((line) => /^\d+$/.test(line)));
  screen.type("\u0003");
  const { status, lines: shown } = await screen.end();
  const pid = Number(shown.find((line) => /^\d+$/.test(line)));
  expect({ status, last: shown.at(-1), isAlive: isAlive(pid) }).toEqual({
    status: 130,
    last: "Cancelled.",
    isAlive: false,
  });
});

describe("the example tools", () => {
  test.each(["backup_sh", "backup_py", "backup_ts"])(
    "%s asks before it overwrites",
    async (tool) => {
      const project = projectWith(readFileSync(path.join(EXAMPLES, "config.toml"), "utf8"), {
        "notes.txt": "one",
      });
      cpSync(EXAMPLES, path.join(project.root, "tools"), { recursive: true });
      // As installed in a project that uses the package.
      mkdirSync(path.join(project.root, "node_modules"));
      symlinkSync(
        path.join(import.meta.dirname, "..", ".."),
        path.join(project.root, "node_modules", "jp-ts"),
      );
      const answer = `conversation.tools.${tool}.questions.overwrite.answer`;
      const run = (...more: readonly string[]) =>
        project.jp("tool", "run", tool, "--non-interactive", "--arg", "path=notes.txt", ...more);
      const saved = () => readFileSync(path.join(project.root, "notes.txt.bak"), "utf8");
      const first = await run();
      writeFileSync(path.join(project.root, "notes.txt"), "two");
      const refused = await run();
      const kept = await run("--cfg", `${answer}:=false`);
      const before = saved();
      const replaced = await run("--cfg", `${answer}:=true`);
      expect([first, refused.status, kept, before, replaced, saved()]).toEqual([
        printed(lines("Saved notes.txt.bak")),
        3,
        printed(lines("The old backup was kept.")),
        "one",
        printed(lines("Saved notes.txt.bak")),
        "two",
      ]);
    },
  );
});

describe("the list of tools", () => {
  test("has the tools of the config and the builtin ones", async () => {
    const project = projectWith(`
      [conversation.tools.greet]
      source = "local.hello"
      command = "echo hi"
      summary = "Says hi."
      enable = "explicit"
      run = "unattended"
    `);
    const listed = jsonLines(await project.jp("tool", "ls", "--format", "json")) as {
      name: string;
    }[];
    expect(listed.find(({ name }) => name === "greet")).toEqual({
      name: "greet",
      source: "local.hello",
      enabled: false,
      allow_toggle: "if_named",
      run: "unattended",
      result: "unattended",
      summary: "Says hi.",
    });
    expect(listed.map(({ name }) => name)).toContain("describe_tools");
  });

  test("has one line for each tool, with the first line of its description", async () => {
    const project = projectWith(`
      [conversation.tools.greet]
      source = "local"
      command = "echo hi"
      description = "Says hi.\\n\\nNever call it twice."
    `);
    const { stdout } = await project.jp("tool", "ls");
    expect(stdout).toMatch(/^on +greet .* Says hi\. …$/m);
    const listed = jsonLines(await project.jp("tool", "ls", "--format", "json"));
    const summary = "Says hi.\n\nNever call it twice.";
    expect(listed).toContainEqual(expect.objectContaining({ name: "greet", summary }));
  });

  test("says which file tools ask before they change anything", async () => {
    const project = projectWith(`
      [conversation.tools.fs_edit.questions.apply_changes]
      answer = true
      [conversation.tools.fs_delete_file]
      run = "ask"
    `);
    const modes = async (...flags: readonly string[]) => {
      const { stdout } = await project.jp("tool", "ls", ...flags);
      const rows = stdout.matchAll(/^o\S+ +(fs_\w+) +fs +builtin +(\w+)/gm);
      return Object.fromEntries([...rows].map(([, name = "", run]) => [name, run]));
    };
    const reading = {
      fs_read_file: "unattended",
      fs_list_files: "unattended",
      fs_grep_files: "unattended",
      fs_edit: "unattended",
      fs_delete_file: "ask",
    };
    const asks = { ...reading, fs_create_file: "asks", fs_modify_file: "asks" };
    const inEdits = { ...asks, fs_modify_file: "unattended" }; // Overwriting is still asked about.
    expect([await modes(), await modes("--cfg", "conversation.mode=edits")]).toEqual([
      asks,
      inEdits,
    ]);
  });

  test("applies -t and -T in order", async () => {
    const project = projectWith(`
      [conversation.tools]
      a = { source = "local", command = "true" }
      b = { source = "local", command = "true", enable = "off" }
      c = { source = "local", command = "true", enable = { state = true, allow_toggle = "if_named" } }
      d = { source = "local", command = "true", enable = "explicit" }
    `);
    const enabled = async (...flags: readonly string[]) => {
      const listed = jsonLines(await project.jp("tool", "ls", "--format", "json", ...flags)) as {
        name: string;
        enabled: boolean;
      }[];
      return listed.filter(({ enabled: isOn }) => isOn).map(({ name }) => name);
    };
    const files = [
      "read_file",
      "list_files",
      "grep_files",
      "create_file",
      "modify_file",
      "edit",
      "delete_file",
    ];
    expect({
      none: await enabled(),
      off: await enabled("-T"),
      on: (await enabled("-t")).filter((name) => !name.startsWith("fs_")),
      named: await enabled("-T", "-t", "d", "-T", "c"),
      group: await enabled("-T", "-t", "fs"),
      last: await enabled("-t", "a", "-T", "a"),
    }).toEqual({
      none: ["ask_user", "tell_user", "describe_tools", "a", "c"],
      off: ["ask_user", "tell_user", "describe_tools", "c"],
      on: ["ask_user", "tell_user", "describe_tools", "web_fetch", "a", "b", "c"],
      named: ["ask_user", "tell_user", "describe_tools", "d"],
      group: ["ask_user", "tell_user", "describe_tools", ...files.map((name) => `fs_${name}`), "c"],
      last: ["ask_user", "tell_user", "describe_tools", "c"],
    });
  });

  test("reports locked and unknown tools", async () => {
    const project = projectWith("");
    const first = async (...flags: readonly string[]) => {
      const { status, stderr } = await project.jp("tool", "ls", ...flags);
      return [status, stderr.split("\n")[0]];
    };
    expect([await first("-T", "describe_tools"), await first("-t", "nothing")]).toEqual([
      [1, "jp: cannot disable `describe_tools`: this tool is configured as locked-on"],
      [1, "jp: Unknown tool or group: nothing"],
    ]);
  });

  test("includes jp tool show, which prints a tool as the model sees it", async () => {
    const project = projectWith(`
      [conversation.tools.greet]
      source = "local"
      command = "echo hi"
      summary = "Says hi."
      parameters.name = { type = "string", required = true, summary = "Whom to greet." }
    `);
    expect(jsonLines(await project.jp("tool", "show", "greet", "--format", "json"))).toEqual([
      {
        name: "greet",
        summary: "Says hi.",
        parameters: {
          type: "object",
          properties: { name: { type: "string", description: "Whom to greet." } },
          required: ["name"],
          additionalProperties: false,
        },
      },
    ]);
  });
});

describe("the config of a builtin tool", () => {
  interface Listed {
    readonly name: string;
    readonly summary: string;
  }

  async function list(project: Project, ...more: readonly string[]): Promise<readonly Listed[]> {
    return jsonLines(await project.jp("tool", "ls", "--format", "json", ...more)) as Listed[];
  }

  test("is merged field by field, for every builtin tool", async () => {
    verifies(
      "083/merge/builtin-defaults-under-user-config",
      "083/merge/single-override-keeps-the-rest",
      "083/merge/holds-for-every-builtin",
    );
    const project = projectWith("");
    const before = await list(project);
    const settings = before.flatMap(({ name }) => [
      "--cfg",
      `conversation.tools.${name}.summary=Mine.`,
    ]);
    expect(await list(project, ...settings)).toEqual(
      before.map((tool) => ({ ...tool, summary: "Mine." })),
    );
  });

  test("can replace the source, and keeps parameters and other defaults", async () => {
    verifies("083/merge/source-may-be-replaced", "083/merge/replaced-source-keeps-other-defaults");
    const project = projectWith(`
      [conversation.tools.describe_tools]
      source = "local"
      command = "echo mine"
    `);
    const run = (...words: readonly string[]) =>
      project.jp("tool", "run", "describe_tools", ...words);
    const [good, bad] = [await run("--args", '{"tools":["x"]}'), await run()];
    expect([good, bad.status, bad.stderr.includes("`tools`: missing")]).toEqual([
      printed(lines("mine")),
      1,
      true,
    ]);
  });
});
