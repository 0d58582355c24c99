import { expect, test } from "vitest";
import { similarNames } from "./create-mcp-tool.ts";

const known = ["read_file", "write_file", "list_folder", "search", "file-read", "delete", "move"];

test("the most similar names come first, at most five", () => {
  expect(similarNames("readfile", known).slice(0, 1)).toEqual(["read_file"]);
  expect(similarNames("READ-FILE", known).slice(0, 2)).toEqual(["read_file", "file-read"]);
  expect(similarNames("serch", known)).toHaveLength(5);
  expect(similarNames("serch", known)[0]).toBe("search");
});

test("without similar names, the first names of the list are used", () => {
  expect(similarNames("zzz", ["b", "a"])).toEqual(["b", "a"]);
  expect(similarNames("zzz", [])).toEqual([]);
});
