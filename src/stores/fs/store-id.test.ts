import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { codeOf } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { ensureStoreId, findStoreId } from "./store-id.ts";

const ID = "0123456789abcdef0123456789abcdef";

function rootWith(text?: string) {
  const root = temporaryFolder();
  mkdirSync(path.join(root, ".jp"));
  const file = path.join(root, ".jp", ".store-id");
  if (text !== undefined) writeFileSync(file, text);
  return { root, file };
}

test("all who make the file at the same moment get the same 128 bits, and one of them has made it", async () => {
  const { root, file } = rootWith();
  expect(findStoreId(root)).toBeUndefined();
  const made = await Promise.all(Array.from({ length: 20 }, () => ensureStoreId(root)));
  const [{ storeId } = { storeId: "" }] = made;
  expect(storeId).toMatch(/^[0-9a-f]{32}$/);
  expect(made.filter(({ isNew }) => isNew)).toEqual([{ storeId, isNew: true }]);
  expect(new Set(made.map((each) => each.storeId))).toEqual(new Set([storeId]));
  expect([findStoreId(root), readdirSync(path.dirname(file))]).toEqual([storeId, [".store-id"]]);
  expect(readFileSync(file, "utf8")).toMatch(/^# .*commit it.*\n[0-9a-f]{32}\n$/);
});

test.each([ID, `${ID}\n`, `# Somebody's own words.\r\n${ID}\r\n`, `${ID}\n# a note behind it\n`])(
  "an id is read and kept: %j",
  async (text) => {
    const { root, file } = rootWith(text);
    expect(await ensureStoreId(root)).toEqual({ storeId: ID, isNew: false });
    expect(readFileSync(file, "utf8")).toBe(text);
  },
);

test.each([
  "",
  "abc12\n",
  ID.toUpperCase(),
  `${ID}0`,
  `${ID} abc12`,
  `'; drop table x; --`,
  `<<<<<<< HEAD\n${ID}\n=======\n${ID.replace("0", "1")}\n>>>>>>> other\n`,
  `${ID}\n${ID.replace("0", "1")}\n`,
  `${"#".repeat(2000)}\n${ID}\n`,
])("what is not one id is an error, and never replaced: %j", async (text) => {
  counters("T-WORK-29");
  const { root, file } = rootWith(text);
  expect(() => findStoreId(root)).toThrow(`${file} is damaged: it has to have one id`);
  expect(await codeOf(ensureStoreId(root))).toBe("workspace_id_damaged");
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("a link, a folder and a link to the folder are not followed", async () => {
  counters("T-WORK-29");
  const outside = rootWith(ID);
  const linked = rootWith();
  symlinkSync(outside.file, linked.file);
  const dangling = rootWith();
  symlinkSync(path.join(outside.root, "x"), dangling.file);
  const folder = rootWith();
  mkdirSync(folder.file);
  const elsewhere = temporaryFolder();
  symlinkSync(path.dirname(outside.file), path.join(elsewhere, ".jp"));
  const roots = [linked.root, dangling.root, folder.root, elsewhere];
  const codes = await Promise.all(roots.map((root) => codeOf(ensureStoreId(root))));
  expect(codes).toEqual(roots.map(() => "read_failed"));
  expect(readdirSync(outside.root)).toEqual([".jp"]);
});
