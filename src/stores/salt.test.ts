import { expect, test } from "vitest";
import { newSalt } from "./salt.ts";

test("salts are long, and all different", () => {
  const salts = Array.from({ length: 100 }, newSalt);
  expect(new Set(salts).size).toBe(100);
  expect(salts.every((salt) => salt.length >= 32)).toBe(true);
});
