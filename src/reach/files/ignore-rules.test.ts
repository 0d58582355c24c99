import { expect, test } from "vitest";
import { parseIgnoreRules } from "./ignore-rules.ts";

/** A path that ends with a slash is a folder. */
test.each<readonly [rules: string, ignored: readonly string[], kept: readonly string[]]>([
  ["*.log", ["a.log", "deep/down/b.log", "log.log/"], ["a.logs", "log"]],
  ["build/", ["build/", "deep/build/"], ["build", "builds/"]],
  ["/build", ["build", "build/"], ["deep/build"]],
  ["doc/frotz", ["doc/frotz", "doc/frotz/"], ["a/doc/frotz"]],
  ["doc/frotz/", ["doc/frotz/"], ["doc/frotz", "a/doc/frotz/"]],
  ["foo/*", ["foo/test.json", "foo/bar/"], ["foo/bar/hello.c", "foo/"]],
  ["**/foo", ["foo", "a/foo", "a/b/foo/"], ["foob", "a/bfoo"]],
  ["**/foo/bar", ["foo/bar", "a/foo/bar"], ["foo/a/bar"]],
  ["abc/**", ["abc/x", "abc/x/y"], ["abc/", "abc", "x/abc/y"]],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "x/a/b"]],
  ["a**b", ["ab", "axxb", "deep/axb"], ["a/b", "a/x/b"]],
  ["**", ["anything", "at/all/"], []],
  ["*", ["anything", "at/all/"], []],
  ["?.txt", ["a.txt", "é.txt", "𝄞.txt"], [".txt", "ab.txt"]],
  ["[a-c].txt", ["a.txt", "c.txt"], ["d.txt", "-.txt"]],
  ["[!a-c].txt", ["d.txt"], ["a.txt"]],
  ["[^a].txt", ["b.txt"], ["a.txt"]],
  ["[]-].txt", ["].txt", "-.txt"], ["[.txt"]],
  ["[a\\]].txt", ["a.txt", "].txt"], ["\\.txt"]],
  ["# a comment", [], ["# a comment"]],
  ["\\#a", ["#a"], ["\\#a"]],
  ["\\!a", ["!a"], ["a"]],
  ["a\\*", ["a*"], ["ab"]],
  ["trailing   ", ["trailing"], ["trailing   "]],
  ["escaped\\ ", ["escaped "], ["escaped"]],
  ["escaped\\   ", ["escaped "], ["escaped   "]],
  ["backslash\\\\ ", ["backslash\\"], ["backslash\\ "]],
  ["\r\n*.a\r\n", ["x.a"], ["x.b"]],
  ["\uFEFF*.a", ["x.a"], []],
  ["*.log\n!keep.log", ["a.log"], ["keep.log"]],
  ["!keep.log\n*.log", ["keep.log"], []],
  ["\n   \n/\n", [], ["a", " "]],
  ["[unclosed", [], ["[unclosed", "u"]],
  ["ends\\", [], ["ends", "ends\\"]],
  ["[[:alpha:]]", [], ["a", ":"]],
])("%j means what gitignore(5) says", (text, ignored, kept) => {
  const rules = parseIgnoreRules(text);
  const isIgnored = (path: string) => rules.isIgnored(path.replace(/\/$/, ""), path.endsWith("/"));
  expect({ ignored: ignored.filter(isIgnored), kept: kept.filter(isIgnored) }).toEqual({
    ignored,
    kept: [],
  });
});

test("very many names cost little", () => {
  const rules = parseIgnoreRules("b\n".repeat(32_000));
  const names = Array.from({ length: 3000 }, (_, index) => `${"a".repeat(100)}${index}`);
  expect(names.some((name) => rules.isIgnored(name, false))).toBe(false);
});

test("hostile patterns take no more time than others", () => {
  const [spaces, backslashes] = [" ".repeat(50_000), "\\".repeat(50_001)];
  const rules = parseIgnoreRules(
    `${"*a".repeat(500)}b\n${"**/a/".repeat(200)}b\n${spaces}x\n${backslashes}${spaces}x`,
  );
  const name = "a".repeat(5000);
  expect([
    rules.isIgnored(name, false),
    rules.isIgnored(Array.from({ length: 2000 }, () => "a").join("/"), false),
    rules.isIgnored(`${name}b`, false),
  ]).toEqual([undefined, undefined, true]);
});
