import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { diskFolder } from "../../stores/temporary-workspace.fixture.ts";
import { findMentions, nameAttachment, type NamingPlace, readOutsideFile } from "./name.ts";

/** A workspace in which someone works in `src`, next to a home folder with notes. */
function createPlace(): NamingPlace {
  const folder = diskFolder();
  const [root, home] = [path.join(folder, "work"), path.join(folder, "home")];
  mkdirSync(path.join(root, "src", "my files"), { recursive: true });
  mkdirSync(home);
  for (const file of ["src/a.ts", "src/v1.0.", "src/my files/b.md", "top.md"]) {
    writeFileSync(path.join(root, file), "x");
  }
  writeFileSync(path.join(home, "notes.txt"), "notes");
  return { root, cwd: path.join(root, "src"), home };
}

describe("on the command line", () => {
  test.each([
    ["a.ts", "file:///src/a.ts"],
    ["../top.md", "file:///top.md"],
    ["my files", "file:///src/my%20files"],
    ["**/*.ts", "file:///src/**/*.ts"],
    ["!*.test.ts", "file:///src/*.test.ts?exclude=true"],
    ["..", "file:///"],
    ["https://a.b/c?d", "https://a.b/c?d"],
    ["cmd:git diff", "cmd:git diff"],
    ["file:top.md", "file:top.md"],
  ])("%s means %s", (words, uri) => {
    expect(nameAttachment(words, createPlace())).toEqual({ type: "kept", uri });
  });

  test("a file outside the workspace is another matter", () => {
    const place = createPlace();
    const file = path.join(place.home, "notes.txt");
    expect([nameAttachment("~/notes.txt", place), nameAttachment(file, place)]).toEqual([
      { type: "outside", file },
      { type: "outside", file },
    ]);
  });

  test.each([
    ["none.ts", /Cannot attach none\.ts: it does not exist/],
    ["../../*.ts", /does not exist/],
    ["ftp:x", /"ftp:"/],
    ["", /empty path/],
    ["!", /empty path/],
    ["!cmd:ls", /Cannot exclude cmd:ls/],
    ["!~/notes.txt", /Cannot exclude ~\/notes\.txt: it is not a path in the workspace/],
  ])("%s cannot be attached", (words, problem) => {
    expect(() => nameAttachment(words, createPlace())).toThrow(problem);
  });
});

test.each(["jp://jp-c17013123456?select=a:-1", "jp-c17013123456"])(
  "%s is a conversation, and the error says how to attach its text",
  (words) => {
    const hint =
      "Attach what it prints: 'cmd:jp conversation print jp-c17013123456', with --last 1 for its end.";
    expect(() => nameAttachment(words, createPlace())).toThrow(expect.objectContaining({ hint }));
  },
);

describe("a file outside the workspace", () => {
  test("is copied with its name, but not its path", async () => {
    const { home } = createPlace();
    expect(await readOutsideFile(path.join(home, "notes.txt"))).toEqual({
      mediaType: "text/plain",
      data: "bm90ZXM=",
      filename: "notes.txt",
    });
  });

  test("is not copied if it is a folder", async () => {
    await expect(readOutsideFile(createPlace().home)).rejects.toThrow(/it is a folder/);
  });
});

describe("in a message", () => {
  test.each([
    ["Explain @a.ts", ["a.ts"]],
    ["@a.ts and @../top.md, please", ["a.ts", "../top.md"]],
    ["Look (@a.ts).", ["a.ts"]],
    ["@a.ts @a.ts", ["a.ts"]],
    ["What is @v1.0.?", ["v1.0."]],
    ['See @"my files/b.md" now', ["my files/b.md"]],
    ["All of @my", []],
    ["@~/notes.txt", ["~/notes.txt"]],
    ["Mail me@a.ts or @nobody", []],
    ["@. @.. @/ @~ @~/ @", []],
    ["@//etc/passwd", []],
    [`@${"x".repeat(5000)}`, []],
  ])("%j mentions %j, and is sent as it is", (text, paths) => {
    expect(findMentions(text, createPlace())).toEqual({ text, paths, secretPaths: [] });
  });

  test.each([
    ".env",
    ".env/.",
    ".env/",
    "./.env",
    "../src/.env",
    "link.txt",
    "~/.netrc",
    "~/.ssh/x",
  ])("a file that may hold passwords is set apart: @%s", (written) => {
    counters("T-ATT-3");
    const place = createPlace();
    writeFileSync(path.join(place.cwd, ".env"), "KEY=1");
    symlinkSync(".env", path.join(place.cwd, "link.txt"));
    writeFileSync(path.join(place.home, ".netrc"), "password");
    mkdirSync(path.join(place.home, ".ssh"));
    writeFileSync(path.join(place.home, ".ssh", "x"), "key");
    expect(findMentions(`See @${written}`, place)).toMatchObject({
      paths: [],
      secretPaths: [written],
    });
  });

  test.each([
    ["\\@a.ts is a file", "@a.ts is a file"],
    ["\\@nobody", "\\@nobody"],
    ['\\@"my files/b.md"', '@"my files/b.md"'],
  ])("%j mentions nothing, and is sent as %j", (text, sent) => {
    expect(findMentions(text, createPlace())).toEqual({ text: sent, paths: [], secretPaths: [] });
  });
});
