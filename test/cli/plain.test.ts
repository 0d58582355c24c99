import { describe, expect, test } from "vitest";
import { findSandboxProblem } from "../../src/reach/shell/index.ts";
import { ModelServer } from "./model-server.ts";
import { queryProject } from "./query-project.ts";
import { Screen, ScreenProcess } from "./screen.ts";
import { Project } from "./support.ts";

const GO_ON = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
const ASKER = { name: "asker", questions: [GO_ON] };
const REPLIES = [{ text: "I call.", calls: [{ name: "asker" }] }, "See [here](https://x.example)."];

describe("plain text", () => {
  test.each([
    { name: "by the config", config: 'style.prompt = "plain"', variables: { TERM: "xterm" } },
    { name: "by a variable", config: "", variables: { TERM: "xterm", JP_PLAIN: "1" } },
    { name: "on a dumb terminal", config: "", variables: { TERM: "dumb" } },
  ])("is all a query writes, $name", async ({ config, variables }) => {
    await using server = await ModelServer.start(REPLIES);
    const project = queryProject({ server, config, tools: [ASKER] });
    const screen = new ScreenProcess(project, ["q", "x"], {
      variables: { ...variables, NO_COLOR: "1" },
    });
    await screen.answerLines("Y\r");
    const { status, bytes, lines } = await screen.end();
    expect([status, lines.map((line) => line.replace(/[\d.]+s$/, "0s"))]).toEqual([
      0,
      [
        "I call.",
        "• asker()",
        "",
        "Go on?",
        "Type yes, a (yes to this question for the rest of the turn) or no and press",
        "Enter, or say what to do instead.",
        "? for help, /why and words to say no for a reason, /cancel to leave it for",
        "later, or cancel it.",
        "Answer: Y",
        "Answered: Go on? yes to this question for the rest of the turn",
        "✓ asker() 0s",
        '  │ {"q":true}',
        "See here (https://x.example).",
      ],
    ]);
    expect(bytes.includes("\u001b")).toBe(false);
  });

  test("has no links and no cursor movement, even with colors", async () => {
    await using server = await ModelServer.start(REPLIES);
    const project = queryProject({ server, tools: [ASKER] });
    const variables = { TERM: "xterm", JP_PLAIN: "1", FORCE_COLOR: "1" };
    const screen = new ScreenProcess(project, ["q", "x"], { variables });
    await screen.answerLines("n\r");
    const { bytes } = await screen.end();
    // oxlint-disable-next-line no-control-regex -- Looks for control characters.
    expect(bytes.replaceAll(/\u001b\[\d+m/g, "")).not.toMatch(/\u001b|\r(?!\n)/);
  });

  test("can be turned off on a dumb terminal", async () => {
    await using server = await ModelServer.start(REPLIES);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"], { variables: { TERM: "dumb", JP_PLAIN: "0" } });
    await screen.answer(["? Go on?\n  y yes · a yes to", "y"]);
    expect((await screen.end()).status).toBe(0);
  });

  test("is also used for the menu of an interrupted query", async () => {
    await using server = await ModelServer.start([{ text: "The beginning of it", hangs: true }]);
    const variables = { JP_PLAIN: "1", NO_COLOR: "1" };
    const screen = new ScreenProcess(queryProject({ server }), ["q", "x"], { variables });
    await screen.untilShown((lines) => lines.join("\n").includes("The beginning of"));
    screen.type("\u0003");
    await screen.answerLines("s\r");
    const { status, lines } = await screen.end();
    expect([status, lines]).toEqual([
      0,
      [
        "The beginning of^C",
        "",
        "Interrupted",
        "Type c (continue), r (stop and reply), s (stop) or a (abort) and press Enter.",
        "Or just press Enter for c.",
        "? for help, /cancel to continue.",
        "Answer: s",
        "Answered: Interrupted stop",
        "it",
        "Stopped.",
      ],
    ]);
  });

  test("is used in the tour", async () => {
    const screen = new ScreenProcess(new Project({ isBare: true }), ["demo"], {
      variables: { JP_PLAIN: "1", NO_COLOR: "1" },
    });
    // Without a sandbox, jp asks about each command.
    const commands = (await findSandboxProblem()) === undefined ? ["a\r"] : ["y\r", "y\r"];
    const answers = [["y\r"], commands, ["Y\r"], ["2\r"], ["hunter2\r"], ["y\r"]];
    await screen.answerLines(...answers.flatMap((step) => ["\r", ...step]), "\r");
    await screen.until("It runs until you press Ctrl-C.");
    screen.type("\u0003");
    const { status, bytes, lines } = await screen.end();
    expect({
      status,
      isSecretShown: bytes.includes("hunter2"),
      isDrawn: bytes.includes("\u001b"),
      recorded: lines.filter((line) => /^ +(?:"mail"|yes \(you, via cli)/.test(line)),
    }).toEqual({
      status: 0,
      isSecretShown: false,
      isDrawn: false,
      recorded: [
        '    "mail" (you, via terminal), just now  call_1.answer.1',
        "    yes (you, via cli), just now  call_2.publish.1",
      ],
    });
  });
});
