import { expect, test } from "vitest";
import { Beginning } from "./settled-turns.ts";

test("a beginning keeps its own items while others continue it", () => {
  const one = new Beginning(["a"]);
  const two = one.continueWith(["b"]);
  const other = one.continueWith(["c", "d"]);
  const three = two.continueWith(["e"]);
  const all = [one, two, other, three];
  expect(all.map((each) => each.between([], []))).toEqual([
    ["a"],
    ["a", "b"],
    ["a", "c", "d"],
    ["a", "b", "e"],
  ]);
  expect(all.map(({ length }) => length)).toEqual([1, 2, 3, 3]);
});

test("a list that is made of a beginning can be changed without changing it", () => {
  const one = new Beginning(["a"]);
  const list = one.between([], []);
  list.push("b");
  expect(one.continueWith(["c"]).between(["<"], [">"])).toEqual(["<", "a", "c", ">"]);
});

test("a beginning says whether a list starts with it", () => {
  const one = new Beginning(["a"]);
  one.continueWith(["b"]);
  expect(one.isStartOf(["a", "c"])).toBe(true);
  expect(one.isStartOf(["c", "a"])).toBe(false);
  expect(one.isStartOf([])).toBe(false);
});

test("a beginning has its items from a position on, and none that others have added", () => {
  const one = new Beginning(["a", "b"]);
  one.continueWith(["c"]);
  expect(one.from(1)).toEqual(["b"]);
});
