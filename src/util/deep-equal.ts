/** Compares data of any depth. */
import { isJsonArray, isJsonObject, type Json } from "./json.ts";

/** As `isDeepStrictEqual` of Node, which is slow to load: it is loaded with the first comparison of two objects. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other)) return Object.is(one, other);
  return process.getBuiltinModule("node:util").isDeepStrictEqual(one, other);
}

/** Compares JSON by its content, without anything of Node. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (isJsonArray(one) && isJsonArray(other)) {
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at]));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return Object.is(one, other);
  const keys = Object.keys(one);
  const isSame = (key: string) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]);
  return keys.length === Object.keys(other).length && keys.every(isSame);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
