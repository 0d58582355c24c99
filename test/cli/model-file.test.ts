/** `jp conversation file`: copies a file that a model has sent. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import { describeFile } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { jsonLines, Project } from "./support.ts";

const IMAGE = Buffer.from("89504e470d0a1a0a00ff", "hex");
const FILE = describeFile("image/png", IMAGE);

/** A conversation in which the model has sent an image. */
async function projectWithFile() {
  const project = new Project();
  const { data, home, root } = project;
  const environment = { variables: { JP_USER_DATA_DIR: data }, home, platform: process.platform };
  const opened = openWorkspace({ from: root, environment, clock: systemClock, pid: process.pid });
  await using writer = await opened.conversations.create({ title: "Moon" });
  await writer.saveFile?.(FILE, IMAGE);
  await writer.append({ type: "reply_file", timestamp: at(0), ...FILE });
  const { folder } = opened.files.paths(writer.id);
  return { project, id: writer.id, kept: path.join(folder, "files", `${FILE.digest}.png`) };
}

test("a file of the model is named by print and copied by the start of its digest, for the user alone", async () => {
  const { project, id } = await projectWithFile();
  const printed = await project.jp("conversation", "print", id);
  const [, start = ""] = /jp conversation file (\w+)/.exec(printed.stdout) ?? [];
  const target = path.join(project.root, "moon.png");
  const copied = await project.jp("conversation", "file", start, "--id", "Moon", "-o", "moon.png");
  expect([copied, readFileSync(target), statSync(target).mode & 0o777]).toEqual([
    { status: 0, stdout: "", stderr: "" },
    IMAGE,
    0o600,
  ]);
});

test("a file of the model replaces none, and one that is missing or changed is not copied", async () => {
  counters("T-FILE-8");
  const { project, id, kept } = await projectWithFile();
  writeFileSync(path.join(project.root, "mine.png"), "mine");
  const copy = (start: string, name: string) =>
    project.jp("conversation", "file", start, "--id", id, "-o", name);
  const results = [
    await copy(FILE.digest, "mine.png"),
    await copy("0000000000", "a.png"),
    await copy("../../etc", "a.png"),
  ];
  writeFileSync(kept, "something else");
  results.push(await copy(FILE.digest, "a.png"));
  expect(results.map(({ status, stderr }) => [status, stderr.split("\n")[0]])).toEqual([
    [1, `jp: ${path.join(project.root, "mine.png")} could not be written: EEXIST.`],
    [1, `jp: The model has sent no file 0000000000 in ${id}.`],
    [2, "jp: Not the start of a digest: ../../etc"],
    [1, `jp: The store has no file ${FILE.digest}, or not as the model sent it.`],
  ]);
  expect([
    readFileSync(path.join(project.root, "mine.png"), "utf8"),
    existsSync(path.join(project.root, "a.png")),
  ]).toEqual(["mine", false]);
});

test("programs get the digest of a file of the model, and not its bytes", async () => {
  const { project, id } = await projectWithFile();
  const printed = await project.jp("conversation", "print", id, "--format", "json");
  expect(jsonLines(printed)).toContainEqual(
    expect.objectContaining({
      type: "reply_file",
      media_type: "image/png",
      digest: FILE.digest,
      size: IMAGE.length,
    }),
  );
});
