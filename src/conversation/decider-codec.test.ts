import { expect, test } from "vitest";
import { deciderToJson, parseDecider } from "./decider-codec.ts";
import type { Decider } from "./event.ts";

test.each<[Decider, string]>([
  [{ kind: "user", channel: "tty" }, '{"kind":"user","channel":"tty"}'],
  [{ kind: "assistant", model: "m-1" }, '{"kind":"assistant","model":"m-1"}'],
  [{ kind: "config", key: "a.b" }, '{"kind":"config","key":"a.b"}'],
  [{ kind: "remembered", from: "q.1" }, '{"kind":"remembered","from":"q.1"}'],
  [{ kind: "policy", key: "a.b" }, '{"kind":"policy","key":"a.b"}'],
  [{ kind: "default" }, '{"kind":"default"}'],
  [{ kind: "unknown", raw: { kind: "vote", of: [1, 2] } }, '{"kind":"vote","of":[1,2]}'],
  [{ kind: "unknown", raw: { of: 1 } }, '{"of":1}'],
])("the decider %j has one form in the record", (decider, json) => {
  expect(JSON.stringify(deciderToJson(decider))).toBe(json);
  expect(parseDecider(JSON.parse(json))).toStrictEqual(decider);
});

test("a decider of a known kind without its field survives as it came", () => {
  const raw = { kind: "user", at: "noon" };
  expect(parseDecider(raw)).toStrictEqual({ kind: "unknown", raw });
});
