import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { ModelServer } from "./model-server.ts";
import { lines, printed, Project } from "./support.ts";

interface Machine {
  readonly project: Project;
  readonly jp: Project["jp"];
}

/** A folder without a workspace, and a user who has chosen a model for all of them. */
function machine(server?: ModelServer): Machine {
  const project = new Project({ isBare: true });
  const folder = path.join(project.home, "own");
  mkdirSync(folder);
  writeFileSync(path.join(folder, "config.toml"), server?.config ?? "");
  const variables = { JP_GLOBAL_CONFIG_DIR: folder, JP_TRUSTED_WORKSPACES: "" };
  return { project, jp: (...words) => project.jpWith(variables, ...words) };
}

describe("a folder without a workspace", () => {
  test("has conversations, which are found from there again, and nothing is written to it", async () => {
    await using server = await ModelServer.start([{ text: "One." }, { text: "Two." }]);
    const { project, jp } = machine(server);
    const answers = [await jp("query", "--title", "First", "Hi."), await jp("query", "And?")];
    const listed = await jp("conversation", "ls", "--format", "json");
    mkdirSync(path.join(project.root, "inner"));
    const elsewhere = await jp("-w", "inner", "conversation", "ls", "--format", "json");
    expect({
      answers,
      listed: JSON.parse(listed.stdout) as unknown,
      elsewhere,
      files: readdirSync(project.root),
    }).toEqual({
      answers: [printed("One.\n"), printed("Two.\n")],
      listed: expect.objectContaining({ title: "First", place: "local" }) as unknown,
      elsewhere: printed(""),
      files: ["inner"],
    });
  });

  test("keeps its conversations when it becomes a workspace", async () => {
    await using server = await ModelServer.start([{ text: "One." }, { text: "Two." }]);
    const { jp } = machine(server);
    await jp("query", "--title", "First", "Hi.");
    await jp("init", "--non-interactive");
    await jp("query", "And?");
    const { stdout } = await jp("conversation", "ls", "--format", "json");
    expect(JSON.parse(stdout)).toMatchObject({ title: "First", place: "local" });
  });

  test("has settings of its own, which the user keeps", async () => {
    const { project, jp } = machine();
    const set = await jp("config", "set", "user.name", "Ada");
    const refused = await jp("config", "set", "--in", "workspace", "user.name", "Bob");
    expect([set.status, await jp("config", "get", "user.name"), refused]).toEqual([
      0,
      printed("Ada\n"),
      {
        status: 1,
        stdout: "",
        stderr: lines(
          `jp: ${project.root} is not a jp workspace.`,
          "Create one with `jp init`, or select one with --workspace.",
        ),
      },
    ]);
    expect([set.stderr.includes(project.data), readdirSync(project.root)]).toEqual([true, []]);
  });

  test("gives a clone without .jp nothing: no config of it is read, unless the user trusts a file by name", async () => {
    counters("T-WORK-1");
    const { project, jp } = machine();
    const evil = '[conversation.tools.evil]\nsource = "local"\ncommand = "touch pwned"\n';
    writeFileSync(path.join(project.root, ".jp.toml"), evil);
    const show = async (...flags: readonly string[]) =>
      (await jp("tool", "ls", ...flags)).stdout.includes("evil");
    const run = await jp("tool", "run", "--cfg", "@.jp.toml", "evil");
    expect([await show(), await show("--cfg", "@.jp.toml")]).toEqual([false, true]);
    expect([run.status, run.stderr.includes("not trusted"), readdirSync(project.root)]).toEqual([
      1,
      true,
      [".jp.toml"],
    ]);
  });
});
