/** What a yes to a change of files is bound to, here and on other machines. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome, ToolCall } from "../../../../record/tool/index.ts";
import { type JsonObject, sha256 } from "../../../../util/index.ts";
import { changeBinding } from "./consent.ts";
import { createFileTools } from "./file-tools.ts";

const LONG = "x".repeat(1024 ** 2 + 1);
const EDIT = [{ old: "one", new: "two" }];

const CALLS: Readonly<Record<string, JsonObject>> = {
  fs_create_file: { path: "src/new/b.txt", content: "new" },
  fs_modify_file: { path: "src/a.txt", patterns: EDIT },
  fs_edit: { files: [{ path: "src/a.txt", patterns: EDIT }] },
  fs_delete_file: { path: "src/long.txt" },
};

function checkout(): string {
  const root = temporaryFolder();
  mkdirSync(path.join(root, "src"));
  writeFileSync(path.join(root, "src", "a.txt"), "one");
  writeFileSync(path.join(root, "src", "long.txt"), LONG);
  return root;
}

async function attempt(root: string, name: string, call: Partial<ToolCall> = {}): Promise<Outcome> {
  const shipped = createFileTools({ root }).find(({ tool }) => tool.name === name);
  const { signal } = new AbortController();
  if (shipped === undefined) throw new Error("no such tool");
  return shipped.tool.execute({ arguments: CALLS[name] ?? {}, answers: {}, signal, ...call });
}

/** The next attempt, with a yes to what was asked. */
async function goOn(root: string, name: string, asked: Outcome, call: Partial<ToolCall> = {}) {
  if (asked.type !== "needs_input") throw new Error("it did not ask");
  const { id, binding = "" } = asked.question;
  const given = { answers: { [id]: true }, bindings: { [id]: binding } };
  return attempt(root, name, { ...given, ...call });
}

describe("a yes to a change", () => {
  test.each(Object.keys(CALLS))("is for the file at its real path (%s)", async (name) => {
    const [one, two] = [checkout(), checkout()];
    const asked = await attempt(one, name);
    expect([(await goOn(two, name, asked)).type, (await goOn(one, name, asked)).type]).toEqual([
      "needs_input",
      "success",
    ]);
  });

  test.each(Object.keys(CALLS))(
    "counts in another folder if machines share the conversation (%s)",
    async (name) => {
      const isShared = true;
      const asked = await attempt(checkout(), name, { isShared });
      expect((await goOn(checkout(), name, asked, { isShared })).type).toBe("success");
    },
  );

  test("never counts for both", async () => {
    const root = checkout();
    const [here, everywhere] = [
      await attempt(root, "fs_modify_file"),
      await attempt(root, "fs_modify_file", { isShared: true }),
    ];
    const results = [
      await goOn(root, "fs_modify_file", here, { isShared: true }),
      await goOn(root, "fs_modify_file", everywhere),
    ];
    expect(results.map(({ type }) => type)).toEqual(["needs_input", "needs_input"]);
  });

  test("is asked for again where the file has other content, or is another one behind a link", async () => {
    counters("T-FILE-7");
    const isShared = true;
    const asked = await attempt(checkout(), "fs_modify_file", { isShared });
    const [changed, linked] = [checkout(), temporaryFolder()];
    writeFileSync(path.join(changed, "src", "a.txt"), "one more");
    mkdirSync(path.join(linked, "lib"));
    writeFileSync(path.join(linked, "lib", "a.txt"), "one");
    symlinkSync("lib", path.join(linked, "src"));
    const results = [
      await goOn(changed, "fs_modify_file", asked, { isShared }),
      await goOn(linked, "fs_modify_file", asked, { isShared }),
    ];
    expect(results.map(({ type }) => type)).toEqual(["needs_input", "needs_input"]);
  });

  test("does not reach a file that a link puts outside of the workspace", async () => {
    const isShared = true;
    const asked = await attempt(checkout(), "fs_modify_file", { isShared });
    const [outside, root] = [checkout(), temporaryFolder()];
    symlinkSync(path.join(outside, "src"), path.join(root, "src"));
    expect(await goOn(root, "fs_modify_file", asked, { isShared })).toMatchObject({
      type: "error",
      message: expect.stringContaining("leads outside the workspace"),
    });
    expect(readFileSync(path.join(outside, "src", "a.txt"), "utf8")).toBe("one");
  });
});

test("the binding of a change is that of its file, its content and the new content", async () => {
  const root = checkout();
  const bindings = await Promise.all(
    [{}, { isShared: true }].map(async (call) => {
      const asked = await attempt(root, "fs_modify_file", call);
      return asked.type === "needs_input" ? asked.question.binding : undefined;
    }),
  );
  const file = path.join(root, "src", "a.txt");
  const contents = `{"sha256":"${sha256("one")}"},{"sha256":"${sha256("two")}"}`;
  const expected = [`["${file}",${contents}]`, `["src/a.txt",${contents}]`].map((text) =>
    sha256(text),
  );
  const change = { file, before: sha256("one"), after: sha256("two") };
  expect(bindings).toEqual(expected);
  expect([changeBinding(change), changeBinding({ ...change, sharedRoot: root })]).toEqual(expected);
});
