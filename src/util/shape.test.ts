import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { isJsonObject, jsonTypeOf } from "./json.ts";
import {
  arrayField,
  booleanField,
  fieldPath,
  integerField,
  objectField,
  oneOf,
  optionalBoolean,
  optionalString,
  ShapeError,
  shapeOf,
  stringField,
  unknownFields,
} from "./shape.ts";

const shape = shapeOf(
  {
    text: "a",
    yes: true,
    no: false,
    number: 1.5,
    integer: 3,
    list: [1],
    object: { inner: 1 },
    nothing: null,
  },
  "root",
);

test("fields of the right type are returned", () => {
  expect({
    string: stringField(shape, "text"),
    boolean: booleanField(shape, "no"),
    integer: integerField(shape, "integer"),
    array: arrayField(shape, "list"),
    object: objectField(shape, "object"),
    member: oneOf(shape, "text", ["b", "a"]),
    optionalString: optionalString(shape, "text"),
    optionalBoolean: optionalBoolean(shape, "yes"),
  }).toStrictEqual({
    string: "a",
    boolean: false,
    integer: 3,
    array: [1],
    object: { value: { inner: 1 }, path: "root.object" },
    member: "a",
    optionalString: "a",
    optionalBoolean: true,
  });
});

test("a null optional field counts as absent", () => {
  expect([
    optionalString(shape, "nothing"),
    optionalString(shape, "missing"),
    optionalBoolean(shape, "nothing"),
    optionalBoolean(shape, "missing"),
  ]).toEqual([undefined, undefined, undefined, undefined]);
});

test.each([
  ["root.number", "expected a string, got number", () => stringField(shape, "number")],
  ["root.missing", "expected a string, got nothing", () => stringField(shape, "missing")],
  ["root.list", "expected a string, got array", () => optionalString(shape, "list")],
  ["root.text", "expected true or false, got a string", () => booleanField(shape, "text")],
  ["root.integer", "expected true or false, got number", () => optionalBoolean(shape, "integer")],
  ["root.number", "expected an integer, got number", () => integerField(shape, "number")],
  ["root.text", "expected an integer, got a string", () => integerField(shape, "text")],
  ["root.object", "expected an array, got object", () => arrayField(shape, "object")],
  ["root.list", "expected an object, got array", () => objectField(shape, "list")],
  ["root.nothing", "expected an object, got null", () => objectField(shape, "nothing")],
  ["root.text", 'expected "b" or "c", got another string', () => oneOf(shape, "text", ["b", "c"])],
  ["root.yes", 'expected "b", got boolean', () => oneOf(shape, "yes", ["b"])],
])("a field of the wrong type is rejected with its path: %s, %s", (path, problem, read) => {
  expect(errorOf(read)).toEqual({ path, message: `${path}: ${problem}` });
});

test("an error about the root has no path", () => {
  expect(errorOf(() => shapeOf("text"))).toEqual({
    path: "",
    message: "expected an object, got a string",
  });
});

test("errors never quote a value, which may come from a private file", () => {
  counters("T-PATH-5");
  const record = shapeOf({ flag: "hunter2", time: "hunter2", id: "" });
  const errors = [
    () => booleanField(record, "flag"),
    () => oneOf(record, "flag", ["a", "b"]),
    () => objectField(record, "time"),
    () => shapeOf("hunter2"),
  ].map((read) => errorOf(read)?.message);
  expect(errors).toEqual([
    "flag: expected true or false, got a string",
    'flag: expected "a" or "b", got another string',
    "time: expected an object, got a string",
    "expected an object, got a string",
  ]);
});

test("a path has one name per nested object", () => {
  const inner = objectField(shapeOf({ outer: { inner: {} } }), "outer");
  expect([fieldPath(shapeOf({}), "key"), fieldPath(inner, "key")]).toEqual(["key", "outer.key"]);
});

test("unknown fields keep their order, and are undefined if there are none", () => {
  const known = new Set(["b"]);
  expect([
    JSON.stringify(unknownFields({ c: 1, b: 2, a: 3 }, known)),
    unknownFields({ b: 2 }, known),
    JSON.stringify(unknownFields(JSON.parse('{"__proto__":{"a":1}}'), known)),
  ]).toEqual(['{"c":1,"a":3}', undefined, '{"__proto__":{"a":1}}']);
});

test("isJsonObject rejects arrays, null and everything else", () => {
  const values = [{}, [], null, undefined, "", 0, true];
  expect(values.map((value) => [isJsonObject(value), jsonTypeOf(value)])).toEqual([
    [true, "object"],
    [false, "array"],
    [false, "null"],
    [false, "nothing"],
    [false, "string"],
    [false, "number"],
    [false, "boolean"],
  ]);
});

function errorOf(read: () => unknown): Pick<ShapeError, "path" | "message"> | undefined {
  try {
    read();
  } catch (error) {
    if (error instanceof ShapeError) return { path: error.path, message: error.message };
    throw error;
  }
  return undefined;
}
