import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as earlyZod4 } from "zod3/v4";
import { z as zod3 } from "zod3";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { defineTool } from "./define-tool.ts";
import { type StandardSchema, toJsonSchema, validateWith } from "./standard-schema.ts";

const valibot = v.object({
  what: v.string(),
  count: v.optional(v.number(), 1),
  where: v.optional(v.string()),
});
/** As of a version that has only the method. */
const earlyArktype = type({ what: "string", count: "number = 1", "where?": "string" });
const { jsonSchema: _jsonSchema, ...earlyStandard } = earlyArktype["~standard"];
const schemas = {
  "zod 4": z.object({
    what: z.string(),
    count: z.number().default(1),
    where: z.string().optional(),
  }),
  "an early zod 4": earlyZod4.object({
    what: earlyZod4.string(),
    count: earlyZod4.number().default(1),
    where: earlyZod4.string().optional(),
  }),
  "zod 3": zod3.object({
    what: zod3.string(),
    count: zod3.number().default(1),
    where: zod3.string().optional(),
  }),
  valibot,
  "valibot with its own conversion": toStandardJsonSchema(valibot),
  arktype: type({ what: "string", count: "number = 1", "where?": "string | undefined" }),
  "an early arktype": { in: earlyArktype.in, "~standard": earlyStandard },
};

describe.each(Object.entries(schemas))("a schema of %s", (_library, schema: StandardSchema) => {
  test("has a JSON Schema of what may be written", () => {
    expect(toJsonSchema(schema)).toMatchObject({
      type: "object",
      properties: { what: { type: "string" }, count: { type: "number" }, where: {} },
      required: ["what"],
    });
    expect(toJsonSchema(schema)).not.toHaveProperty("$schema");
  });

  test("applies its defaults", async () => {
    expect(await validateWith(schema, { what: "it" })).toEqual({
      ok: true,
      value: { what: "it", count: 1 },
    });
  });

  test("says what is wrong with each field", async () => {
    const found = await validateWith(schema, { what: 1, count: 1, where: 2 });
    expect(found.ok ? [] : found.problems.toSorted()).toEqual([
      expect.stringMatching(/^`what`: .*string/i),
      expect.stringMatching(/^`where`: .*string/i),
    ]);
  });
});

test("the arguments of a tool have the type that its schema says", () => {
  const about = { name: "move", description: "" };
  type Move = { what: string; count: number; where?: string | undefined };
  defineTool({
    ...about,
    parameters: schemas["zod 4"],
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
  defineTool({
    ...about,
    parameters: schemas["an early zod 4"],
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
  defineTool({
    ...about,
    parameters: schemas["zod 3"],
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
  defineTool({
    ...about,
    parameters: schemas.valibot,
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
  defineTool({
    ...about,
    parameters: schemas["valibot with its own conversion"],
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
  defineTool({
    ...about,
    parameters: schemas.arktype,
    run: (args) => (expectTypeOf(args).toEqualTypeOf<Move>(), ""),
  });
});

test("transformed arguments have the type of the result, and the JSON Schema of what is written", async () => {
  const tools = [
    defineTool({
      name: "double",
      description: "",
      parameters: z.object({ by: z.string().transform(Number) }),
      run: ({ by }) => by * 2,
    }),
    defineTool({
      name: "double",
      description: "",
      parameters: zod3.object({ by: zod3.string().pipe(zod3.coerce.number()) }),
      run: ({ by }) => by * 2,
    }),
    defineTool({
      name: "double",
      description: "",
      parameters: v.object({ by: v.pipe(v.string(), v.transform(Number)) }),
      run: ({ by }) => by * 2,
    }),
    defineTool({
      name: "double",
      description: "",
      parameters: type({ by: "string.numeric.parse" }),
      run: ({ by }) => by * 2,
    }),
  ];
  const { signal } = new AbortController();
  for (const tool of tools) {
    const by = { type: "string" };
    expect(tool.parameters).toMatchObject({ properties: { by }, required: ["by"] });
    expect(await tool.execute({ arguments: { by: "4" }, answers: {}, signal })).toEqual({
      type: "success",
      content: "8",
    });
  }
});

test("a check that JSON Schema cannot express is left to the schema", async () => {
  const checked = [
    z.object({ count: z.number().refine(isEven) }),
    zod3.object({ count: zod3.number().refine(isEven) }),
    v.object({ count: v.pipe(v.number(), v.check(isEven)) }),
  ];
  for (const schema of checked) {
    expect(toJsonSchema(schema)).toMatchObject({ properties: { count: { type: "number" } } });
    expect((await validateWith<unknown>(schema, { count: 3 })).ok).toBe(false);
  }
});

describe("a schema that cannot be converted", () => {
  test.each([
    ["zod 4", z.object({ at: z.date() })],
    ["valibot", v.object({ at: v.date() })],
  ])("is an error with the library's own reason (%s)", (_library, schema) => {
    const parameters: StandardSchema = schema;
    const define = () => defineTool({ name: "x", description: "", parameters, run: () => "" });
    expect(define).toThrow(
      expect.objectContaining({
        code: "schema_unsupported",
        message: expect.stringMatching(
          /^Cannot convert a schema from \w+ to JSON Schema: .*date/is,
        ),
      }),
    );
  });

  test("because its library is unknown, is an error that says what to do", () => {
    const standard = { ...schemas["zod 3"]["~standard"], vendor: "other" };
    expect(() => toJsonSchema({ "~standard": standard })).toThrow(
      expect.objectContaining({
        code: "schema_unsupported",
        message: "jp cannot convert schemas from other to JSON Schema.",
        hint: expect.stringContaining("pass a JSON Schema instead"),
      }),
    );
  });
});

function isEven(value: number): boolean {
  return value % 2 === 0;
}
