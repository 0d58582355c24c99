import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { jsonLines, Project } from "./support.ts";

const CONFLICT = "# Do not edit.\n<<<<<<< HEAD\notvo8\n=======\nabc12\n>>>>>>> other\n";

/** A workspace in which something was stored, with this text for an id. Returns the file too. */
async function damaged(text: string) {
  const project = new Project();
  await project.jp("config", "set", "--in", "local", "style.prompt", "plain");
  const file = path.join(project.root, ".jp", ".id");
  const id = readFileSync(file, "utf8").trim().split("\n").at(-1) ?? "";
  writeFileSync(file, text);
  return { project, file, id };
}

test.each([
  ["inquiry", "ls", "--pending"],
  ["inquiry", "ls"],
  ["conversation", "ls"],
  ["conversation", "print"],
  ["query", "Hello."],
  ["config", "show"],
  ["tool", "ls"],
  ["trust"],
  ["undo"],
  ["usage"],
  ["permissions", "ls"],
  ["init"],
])(
  "a command names the file with a damaged id, and leaves it alone: jp %s %s %s",
  async (...words) => {
    counters("T-WORK-27");
    for (const text of [CONFLICT, "", "junk\n"]) {
      const { project, file, id } = await damaged(text);
      const before = snapshotOf(project.root);
      const { status, stdout, stderr } = await project.jp(...words);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr.replaceAll(/\s+/g, " ")).toBe(
        `jp: ${file} is damaged: its last line has to be the id of the workspace. ` +
          `Your data folder has this id for this path: ${id}. To put it back: echo ${id} > ${file} `,
      );
      expect(snapshotOf(project.root)).toEqual(before);
    }
  },
);

test("doctor lists the ids for a damaged one, and exits with status 1", async () => {
  counters("T-WORK-27");
  const { project, file, id } = await damaged(CONFLICT);
  const end = await project.jp("doctor", "--format", "json");
  expect(end.status).toBe(1);
  expect(jsonLines(end)).toContainEqual({
    check: "workspace",
    state: "problem",
    message: `${file} is damaged: its last line has to be the id of the workspace.`,
    hint: `Your data folder has this id for this path: ${id}. To put it back: echo ${id} > ${file}`,
  });
  expect(readFileSync(file, "utf8")).toBe(CONFLICT);
});

test("a list of everything that waits goes on after a damaged id, and exits with status 1", async () => {
  const { project, file } = await damaged(CONFLICT);
  const { status, stderr } = await project.jp("inquiry", "ls", "--pending", "--all");
  expect(status).toBe(1);
  expect(stderr.replaceAll(/\s+/g, " ")).toContain(`${file} is damaged`);
  expect(stderr).not.toContain("Nothing is waiting");
});
