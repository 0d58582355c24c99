import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { withAbsoluteLinks } from "../../scripts/packed-readme.ts";
import { makeFolder, ROOT, runOrThrow } from "./tarball.ts";

const README = readFileSync(path.join(ROOT, "README.md"), "utf8");
const SCRIPT = path.join(ROOT, "scripts", "packed-readme.ts");
const REPOSITORY = { type: "git", url: "git+https://github.com/someone/jp.git" };

describe("the README in the package", () => {
  test("has links to the tag of its version, and a picture that a browser can load", () => {
    const packed = withAbsoluteLinks(README, { version: "1.2.3", repository: REPOSITORY });
    const targets = [...packed.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
    expect(targets.filter((target) => !target.startsWith("https://"))).toEqual([]);
    expect(targets).toEqual(
      expect.arrayContaining([
        "https://github.com/someone/jp/raw/v1.2.3/docs/demo.svg",
        "https://github.com/someone/jp/blob/v1.2.3/docs/cookbook.md#choose-a-model",
        "https://github.com/someone/jp/blob/v1.2.3/src/record/tool/question.ts",
      ]),
    );
  });

  test.each([
    ["github:someone/jp"],
    ["someone/jp"],
    ["git@github.com:someone/jp.git"],
    ["https://github.com/someone/jp"],
  ])("understands the repository %s", (repository) => {
    const packed = withAbsoluteLinks("[a](b.md)", { version: "1.0.0", repository });
    expect(packed).toBe("[a](https://github.com/someone/jp/blob/v1.0.0/b.md)");
  });

  test("is unchanged while the repository is unknown", () => {
    expect(withAbsoluteLinks(README, { version: "1.2.3" })).toBe(README);
  });

  test("does not change links that are absolute, or lead to a part of the page", () => {
    const text = "[a](https://example.com/b) [c](#d)";
    expect(withAbsoluteLinks(text, { version: "1.2.3", repository: REPOSITORY })).toBe(text);
  });

  test("is written for packing and put back after it, also if packing was stopped half-way", async () => {
    const folder = makeFolder();
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, "README.md");
    copyFileSync(path.join(ROOT, "README.md"), file);
    const manifest = JSON.stringify({ version: "1.2.3", repository: REPOSITORY });
    writeFileSync(path.join(folder, "package.json"), manifest);
    const act = async (word: string) => {
      await runOrThrow("node", ["--no-warnings", SCRIPT, word], { cwd: folder });
      return readFileSync(file, "utf8");
    };
    const written = withAbsoluteLinks(README, { version: "1.2.3", repository: REPOSITORY });
    expect([
      await act("write"),
      await act("write"),
      await act("restore"),
      await act("restore"),
    ]).toEqual([written, written, README, README]);
  });
});
