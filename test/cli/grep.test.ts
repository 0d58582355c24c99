import { describe, expect, test } from "vitest";
import { verifies } from "../conformance/manifest.ts";
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
import { placeLegacy, placeRelease } from "./samples.ts";
import { lines, printed, Project } from "./support.ts";

const NOTHING_FOUND = { status: 1, stdout: "", stderr: "" };

/** A conversation with the word in every kind of text. */
function placeEverywhere(project: Project, word: string): string {
  const { id } = project.place({
    second: 0,
    title: `${word} in the title`,
    config: { note: `${word} in the config` },
    events: [
      turnStart(0),
      request(1, `${word} in a request`),
      reasoning(2, `${word} in reasoning`),
      call(3, "call_1", "look", { at: `${word} in an argument` }),
      permission(4, "call_1", { reason: `${word} in a reason` }),
      question(5, "call_1.go", { text: `${word} in a question`, context: `${word} in context` }),
      answer(6, "call_1.go", { answer: `${word} in an answer` }),
      result(7, "call_1", `${word} in a result`),
      turnStart(8),
      structured(9, { deep: [{ text: `${word} in data` }] }),
      message(10, `${word} in a message`),
      { ...request(11, "nothing"), type: "from_the_future", content: `${word} in the future` },
    ],
  });
  return id;
}

describe("a search", () => {
  test("searches decoded text and prints turn and scope", async () => {
    const project = new Project();
    const id = placeEverywhere(project, "needle");
    expect(await project.jp("conversation", "grep", "needle")).toEqual(
      printed(
        lines(
          `${id}::title:needle in the title`,
          `${id}:1:user:needle in a request`,
          `${id}:1:reasoning:needle in reasoning`,
          `${id}:1:tool-call:needle in an argument`,
          `${id}:1:inquiry:needle in context`,
          `${id}:1:inquiry:needle in a question`,
          `${id}:1:tool-result:needle in a result`,
          `${id}:2:structured:needle in data`,
          `${id}:2:assistant:needle in a message`,
        ),
      ),
    );
  });

  test.each([
    ["in the form before there were outcomes", { answer: "hunter2" }],
    ["that were answered", { outcome: "answered", answer: "hunter2" }],
    ["nested in an object", { outcome: "answered", answer: { deep: ["hunter2"] } }],
    ["that a file holds against the rules", { outcome: "redacted", answer: "hunter2" }],
    ["in the reason of one that was cancelled", { outcome: "cancelled", reason: "hunter2" }],
    ["in who answered", { answer: 1, answered_by: { kind: "assistant", model: "hunter2" } }],
  ])("never finds the answers to questions: %s", async (_what, fields) => {
    verifies("082/grep/ignores-responses");
    const project = new Project();
    project.place({
      second: 0,
      config: {},
      events: [question(0, "a.b", { text: "Password?" }), answer(1, "a.b", fields)],
    });
    expect(
      await Promise.all([
        project.jp("conversation", "grep", "hunter2"),
        project.jp("conversation", "grep", "--regex", "h.nter", "--scope", "inquiry"),
      ]),
    ).toEqual([NOTHING_FOUND, NOTHING_FOUND]);
  });

  test("never finds the results of ask_user, which are answers", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        call(1, "call_1", "ask_user", { question: "Which city?" }),
        result(2, "call_1", '{"answer_type":"text","answer":"a city that I keep to myself"}'),
      ],
    });
    expect(await project.jp("conversation", "grep", "city")).toEqual(
      printed(lines(`${id}:1:tool-call:Which city?`)),
    );
  });

  test("finds a question without finding its answer", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    expect(await project.jp("conversation", "grep", "one-time")).toEqual(
      printed(lines(`${id}:2:inquiry:One-time password`)),
    );
  });

  test("searches all conversations, oldest first, and archived ones with --archived", async () => {
    const project = new Project();
    const second = project.place({ second: 2, title: "needle", config: {} });
    const first = project.place({ second: 1, title: "needle", where: "local", config: {} });
    const old = project.place({ second: 0, title: "needle", where: "archive", config: {} });
    expect(
      await Promise.all([
        project.jp("conversation", "grep", "needle", "--ids"),
        project.jp("conversation", "grep", "needle", "--ids", "--archived"),
        project.jp("conversation", "grep", "needle", "--ids", "--id", second.id, "--id", old.id),
      ]),
    ).toEqual([
      printed(lines(first.id, second.id)),
      printed(lines(old.id, first.id, second.id)),
      printed(lines(second.id, old.id)),
    ]);
  });

  test("can be limited to some scopes", async () => {
    const project = new Project();
    const id = placeEverywhere(project, "needle");
    expect(
      await Promise.all([
        project.jp("conversation", "grep", "needle", "--scope", "title"),
        project.jp("conversation", "grep", "needle", "--scope", "user", "--scope", "tool-result"),
      ]),
    ).toEqual([
      printed(lines(`${id}::title:needle in the title`)),
      printed(lines(`${id}:1:user:needle in a request`, `${id}:1:tool-result:needle in a result`)),
    ]);
  });

  test("accepts options before the pattern, as in its usage", async () => {
    const project = new Project();
    const id = placeEverywhere(project, "needle");
    const found = printed(lines(`${id}:1:user:needle in a request`));
    expect(
      await Promise.all([
        project.jp("conversation", "grep", "--scope", "user", "needle"),
        project.jp("conversation", "grep", "--id", id, "needle in a req"),
      ]),
    ).toEqual([found, found]);
  });

  test("counts lines and stops at a maximum", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [message(0, "needle\nhay\nneedle needle"), message(1, "needle")],
    });
    expect(
      await Promise.all([
        project.jp("conversation", "grep", "needle", "--count"),
        project.jp("conversation", "grep", "needle", "--count", "--max-count", "2"),
        project.jp("conversation", "grep", "needle", "-m", "1"),
      ]),
    ).toEqual([
      printed(lines(`${id}:3`)),
      printed(lines(`${id}:2`)),
      printed(lines(`${id}:1:assistant:needle`)),
    ]);
  });

  test("shows each context line once", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [message(0, "one\ntwo\nneedle\nfour\nneedle\nsix\nseven\neight\nneedle")],
    });
    const line = (mark: string, text: string) => `${id}:1:assistant${mark}${text}`;
    expect(await project.jp("conversation", "grep", "needle", "--context", "1")).toEqual(
      printed(
        lines(
          line("-", "two"),
          line(":", "needle"),
          line("-", "four"),
          line(":", "needle"),
          line("-", "six"),
          line("-", "eight"),
          line(":", "needle"),
        ),
      ),
    );
  });
});

describe("a pattern", () => {
  test("is literal, and matches case if it has a capital letter, unless flags say otherwise", async () => {
    const project = new Project();
    const events = [message(0, "Needle needle\nn.edle")];
    const { id } = project.place({ second: 0, config: {}, events });
    const patterns: readonly (readonly [words: readonly string[], found: readonly string[]])[] = [
      [["needle"], ["Needle needle"]],
      [["Needle"], ["Needle needle"]],
      [["NEEDLE"], []],
      [["NEEDLE", "-i"], ["Needle needle"]],
      [["needle n", "-s"], []],
      [["n.edle"], ["n.edle"]],
      [
        ["-r", "^n.edle"],
        ["Needle needle", "n.edle"],
      ],
      [
        ["Needle", "n.e"],
        ["Needle needle", "n.edle"],
      ],
      [["nëedle"], []],
    ];
    const searched = patterns.map(async ([words]) => [
      words,
      await project.jp("conversation", "grep", ...words),
    ]);
    expect(await Promise.all(searched)).toEqual(
      patterns.map(([words, found]) => [
        words,
        found.length === 0
          ? NOTHING_FOUND
          : printed(lines(...found.map((line) => `${id}:1:assistant:${line}`))),
      ]),
    );
  });

  test("is a usage error if it is not a valid regular expression", async () => {
    const project = new Project();
    expect(await project.jp("conversation", "grep", "--regex", "fine", "[")).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(
        "jp: Invalid regular expression: [",
        "Leave out --regex to search for the literal text.",
      ),
    });
  });

  test("is required", async () => {
    const project = new Project();
    expect((await project.jp("conversation", "grep")).status).toBe(2);
  });
});

test("searches records of every format version", async () => {
  const project = new Project();
  const legacy = placeLegacy(project);
  const release = placeRelease(project);
  expect(await project.jp("conversation", "grep", "package.json", "File modified")).toEqual(
    printed(
      lines(`${legacy.id}:1:tool-result:File modified.`, `${release.id}:1:tool-call:package.json`),
    ),
  );
});
