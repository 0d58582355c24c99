import { describe, expect, test } from "vitest";
import {
  answer,
  call,
  message,
  permission,
  question,
  reasoning,
  request,
  result,
  structured,
  turnStart,
} from "./records.ts";
import { show } from "./screen.ts";
import { type PlacedConversation, Project } from "./support.ts";
import { counters } from "../security/threats.ts";

/** A color that jp never uses, a title, a cleared screen twice, a bell, and text that changes direction. */
const EVIL =
  "x\x1b[45mred\x1b]0;title\x07\x9b2J\x1b[2J\x85\u202eabc\u2066\u200f\u2028\r\b\x7f\nFORGED";

/** What a terminal interprets, except line breaks and tabs. */
const RAW =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/** The styles that jp writes. */
const JP_STYLES = /\x1b\[(?:1|2|22|3[1-6]|39)m/g;

/** A conversation with hostile text in every field that takes text. */
function placeEvil(project: Project): PlacedConversation {
  const decider = { kind: "user", channel: EVIL };
  const placed = project.place({
    second: 0,
    title: EVIL,
    metadata: { labels: { [EVIL]: EVIL }, unknown_key: EVIL },
    config: { [EVIL]: EVIL },
    events: [
      turnStart(0),
      request(1, EVIL, EVIL),
      reasoning(2, EVIL),
      message(3, `${EVIL}\0`),
      structured(4, { [EVIL]: [EVIL] }),
      call(5, EVIL, EVIL, { [EVIL]: EVIL }),
      permission(6, EVIL, { tool: EVIL, reason: EVIL, decided_by: decider }),
      question(7, EVIL, {
        source: { source: "other", name: EVIL },
        text: EVIL,
        context: EVIL,
        default: EVIL,
        answer_type: { type: "select", options: [{ value: EVIL, description: EVIL }] },
        tool_call_id: EVIL,
        question_id: EVIL,
      }),
      answer(8, EVIL, { outcome: "answered", answer: EVIL, answered_by: decider }),
      question(9, "a.b"),
      answer(10, "a.b", { outcome: "cancelled", reason: EVIL }),
      question(11, "a.c"),
      answer(12, "a.c", { answer: { [EVIL]: EVIL }, answered_by: { kind: EVIL } }),
      result(13, EVIL, EVIL),
      { ...request(14, EVIL), type: EVIL, [EVIL]: EVIL },
    ],
  });
  project.activate(placed);
  return placed;
}

const COMMANDS: readonly (readonly [name: string, words: readonly string[]])[] = [
  ["conversation ls", ["conversation", "ls"]],
  ["conversation ls as JSON", ["conversation", "ls", "--format", "json"]],
  ["conversation show", ["conversation", "show"]],
  ["conversation show as JSON", ["conversation", "show", "--format", "json"]],
  ["conversation print", ["conversation", "print", "--full"]],
  ["conversation print as Markdown", ["conversation", "print", "--format", "markdown"]],
  ["conversation print as JSON", ["conversation", "print", "--format", "json"]],
  ["conversation grep", ["conversation", "grep", "--context", "2", "--regex", "forged|red"]],
  ["conversation use", ["conversation", "use", "newest"]],
  ["inquiry ls", ["inquiry", "ls"]],
  ["inquiry ls as JSON", ["inquiry", "ls", "--format", "json"]],
  ["inquiry show", ["inquiry", "show", EVIL]],
  ["inquiry show of a cancelled one", ["inquiry", "show", "a.b"]],
  ["inquiry show as JSON", ["inquiry", "show", EVIL, "--format", "json"]],
];

describe("text from a record", () => {
  test("never reaches the terminal raw in a pipe", async () => {
    counters("T-TERM-5");
    const project = new Project();
    placeEvil(project);
    const found = COMMANDS.map(async ([name, words]) => {
      const { status, stdout, stderr } = await project.jp(...words);
      return [name, { status, raw: RAW.exec(`${stdout}${stderr}`) }];
    });
    expect(await Promise.all(found)).toEqual(
      COMMANDS.map(([name]) => [name, { status: 0, raw: null }]),
    );
  });

  test("never reaches the terminal raw, apart from jp's own colors", async () => {
    counters("T-TERM-5");
    const project = new Project();
    placeEvil(project);
    const found = COMMANDS.map(async ([name, words]) => {
      const { status, bytes } = await show(project, words);
      const text = bytes.replaceAll("\r\n", "\n").replaceAll(JP_STYLES, "");
      return [name, { status, raw: RAW.exec(text) }];
    });
    expect(await Promise.all(found)).toEqual(
      COMMANDS.map(([name]) => [name, { status: 0, raw: null }]),
    );
  });

  test("never becomes a separate line that could be mistaken for jp's own", async () => {
    const project = new Project();
    placeEvil(project);
    const commands = COMMANDS.filter(([name]) => !name.includes("print"));
    const outputs = await Promise.all(commands.map(([, words]) => project.jp(...words)));
    expect(outputs.map(({ stdout, stderr }) => /^FORGED.*/m.exec(`${stdout}${stderr}`))).toEqual(
      commands.map(() => null),
    );
  });

  test("never reaches the terminal raw in the list of conversations that a title matches", async () => {
    const project = new Project();
    project.place({ second: 0, title: EVIL });
    project.place({ second: 1, title: EVIL });
    const { stderr } = await project.jp("conversation", "show", "forged");
    expect(stderr).toContain("matches 2 conversations");
    expect(stderr).not.toMatch(RAW);
  });

  test("never reaches the terminal raw in an error that quotes metadata", async () => {
    const project = new Project();
    project.place({ second: 0, metadata: `{"title": \x1b[45m\x9b2J\u202e}` });
    project.place({ second: 1, metadata: { last_activated_at: EVIL } });
    const { status, stdout } = await project.jp("conversation", "ls");
    expect([status, stdout.split("\n").length]).toEqual([0, 4]);
    expect(stdout).not.toMatch(RAW);
  });
});

describe("warnings and errors", () => {
  test("never contain raw text of an event of the wrong shape", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        permission(0, "call_1", { decision: EVIL }),
        { ...request(1, "Hi."), timestamp: EVIL },
      ],
    });
    const { stderr } = await project.jp("conversation", "print", id);
    expect(stderr.match(/warning/g)).toHaveLength(2);
    expect(stderr).not.toMatch(RAW);
  });

  test("never contain the raw name of a record's folder", async () => {
    const project = new Project();
    const { id } = project.place({ second: 0, slug: EVIL, config: {}, events: "[\n  {" });
    const { stderr } = await project.jp("conversation", "print", id);
    expect(stderr).toContain("warning");
    expect(stderr).not.toMatch(RAW);
  });

  test("never contain raw text of a rejected draft", async () => {
    const project = new Project();
    const { id } = project.place({ second: 0, title: "One", config: {} });
    const editor = project.editor(String.raw`printf '{"title": \302\2332J\342\200\256}' > "$1"`);
    const { stderr } = await project.jpWith(editor, "conversation", "edit", id, "--metadata");
    expect(stderr).toContain("Invalid metadata file");
    expect(stderr).not.toMatch(RAW);
  });

  test("never contain raw text of an argument on the command line", async () => {
    counters("T-TERM-2");
    const project = new Project();
    project.place({ second: 0, title: "One", config: {} });
    const word = "\x1b[45m\x9b2J\u202e";
    const commands = {
      "a target": ["conversation", "show", word],
      "a question": ["inquiry", "show", word],
      "a range of turns": ["conversation", "print", "newest", "--turn", word],
      "a pattern": ["conversation", "grep", "--regex", `[${word}`],
      "a workspace": ["--workspace", `/${word}`, "conversation", "ls"],
      "a command": ["conversation", word],
      "a choice": ["conversation", "ls", "--sort", word],
    };
    const found = Object.entries(commands).map(async ([name, words]) => {
      const { status, stderr } = await project.jp(...words);
      return [name, { isRefused: status !== 0, raw: RAW.exec(stderr) }];
    });
    expect(await Promise.all(found)).toEqual(
      Object.keys(commands).map((name) => [name, { isRefused: true, raw: null }]),
    );
  });
});
