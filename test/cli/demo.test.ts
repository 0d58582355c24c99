import path from "node:path";
import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../src/storage/temporary-workspace.fixture.ts";
import { Screen } from "./screen.ts";
import { Project } from "./support.ts";

describe("the tour", () => {
  test("without a terminal takes its answers from a file and touches nothing of the user's", async () => {
    const project = new Project({ isBare: true });
    const { status, stdout } = await project.jp("demo");
    const touched = snapshotOf(project.root, project.data, project.home).map(({ name }) => name);
    expect({
      status,
      isTold: /^No terminal is available: the answers come from \S+answers\.json$/m.test(stdout),
      ends: stdout.match(/(?<=^ {4})\S+ \([^)]*\)(?=, )/gm),
      touched,
    }).toEqual({
      status: 0,
      isTold: true,
      ends: [
        "yes (you, via file)",
        "yes (you, via file)",
        "yes (you said so earlier in this turn)",
        "yes (you said so earlier in this turn)",
        '"mail" (you, via file)',
        "<redacted> (you, via file)",
        "cancelled (no_prompt_backend)",
      ],
      touched: [project.root, project.home],
    });
    const [, root = ""] = /^Read it: +jp --workspace (\S+) /m.exec(stdout) ?? [];
    const look = await project.jp("--workspace", root, "conversation", "show", "newest");
    expect(look.stdout).toContain("Questions   5 answered, 1 redacted, 1 cancelled\n");
  });

  test("ends with its record after a cancelled question", async () => {
    const screen = new Screen(new Project({ isBare: true }), ["demo"], { columns: 40 });
    await screen.until("Apply these");
    screen.type("y");
    await screen.until("Deploy to Frankfurt?");
    screen.type("\u0003");
    const { status, lines } = await screen.end();
    const record = lines.slice(lines.indexOf("$ jp inquiry ls") + 2);
    expect({
      status,
      asked: lines.filter((line) => line.startsWith("✖")),
      calls: lines.filter((line) => line.startsWith("○")),
      isEnded: lines.includes("The tour ends here."),
      record: record.slice(0, record.indexOf("")),
    }).toEqual({
      status: 0,
      asked: ["✖ Deploy to Frankfurt? cancelled"],
      calls: ["Frankfurt", "Oslo", "Lisbon"].map((name) => `○ deploy(region: "${name}") cancelled`),
      isEnded: true,
      record: [
        "  turn 1  fs_modify_file:",
        "    Apply these changes to package.json?",
        "    yes (you, via terminal), just now",
        "    call_1.apply_changes.1",
        ...["Frankfurt", "Oslo", "Lisbon"].flatMap((name, index) => [
          `  turn 2  deploy: Deploy to ${name}?`,
          "    cancelled (user), just now",
          `    call_${index + 1}.sure.1`,
        ]),
      ],
    });
  });

  test("asks on a terminal, keeps a secret, and shows its record", async () => {
    const project = new Project({ isBare: true });
    const screen = new Screen(project, ["demo"]);
    await screen.until("Apply these changes");
    screen.type("y");
    await screen.until("Deploy to Frankfurt?");
    screen.type("Y");
    await screen.until("Where should the announcement go?");
    screen.type("\r");
    await screen.until("Passphrase for the signing key?");
    screen.type("hunter2\r");
    await screen.until(" upload 0.");
    screen.type("\u0003");
    const { status, bytes, lines } = await screen.end();
    expect({
      status,
      isSecretShown: bytes.includes("hunter2"),
      isSigned: bytes.includes("signed, with a passphrase of 7 characters"),
      interrupted: lines.filter((line) => /^○ upload\(\)|^The interrupted call/.test(line)),
      record: lines.find((line) => line.startsWith("Stored in "))?.includes(path.sep),
    }).toEqual({
      status: 0,
      isSecretShown: false,
      isSigned: true,
      interrupted: ["○ upload() stopped", "The interrupted call is on record."],
      record: true,
    });
  });
});
