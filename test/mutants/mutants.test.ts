import { expect, test } from "vitest";
import { applyMutant, mutantsOf } from "./mutants.ts";

function mutatedTexts(text: string): readonly string[] {
  return mutantsOf(text).map((mutant) => applyMutant(text, mutant));
}

test.each<[string, readonly string[]]>([
  ["const is = a && b;", ["const is = a || b;"]],
  ["const is = a <= b;", ["const is = a < b;"]],
  ["const is = (a) === (b);", ["const is = (a) !== (b);"]],
  ["const is = !(a);", ["const is = (a);"]],
  ["const all = [a, ...b];", ["const all = [...[], ...b];", "const all = [a, ...[]];"]],
  ["const one = { a, ...b };", ["const one = { ...{}, ...b };", "const one = { a, ...{} };"]],
  ["const limit = 10;", ["const limit = 11;"]],
  ["const is = true;", ["const is = false;"]],
  ["const some = all.filter(isGood);", ["const some = all;"]],
  ["const one = a ? b : c;", ["const one = !(a) ? b : c;"]],
])("a mutant has one small mistake: %s", (text, mutants) => {
  expect(mutatedTexts(text)).toEqual(mutants);
});

test("statements, guards and waiting are left out", () => {
  const text = "async function run() { if (isDone) return; await stop(); }";
  expect(mutatedTexts(text)).toEqual([
    "async function run() {  await stop(); }",
    "async function run() { if (!(isDone)) return; await stop(); }",
    "async function run() { if (isDone) return; ; }",
    "async function run() { if (isDone) return;  stop(); }",
  ]);
});

test("conditions in SQL are changed", () => {
  const text = "query(`select id from jp.turns where a = $1 and b is null for update`);";
  const changed = mutatedTexts(text).slice(1);
  expect(changed.map((each) => /where (.*)`/.exec(each)?.[1])).toEqual([
    "a <> $1 and b is null for update",
    "a = $1 or b is null for update",
    "a = $1 and b is not null for update",
    "a = $1 and b is null ",
  ]);
});

test("types and imports have no mutants", () => {
  const text = 'import { a } from "./a.ts";\ntype B = 1 | true;\ninterface C { readonly d: 2 }';
  expect(mutantsOf(text)).toEqual([]);
});
