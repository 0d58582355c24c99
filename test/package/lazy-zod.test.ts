import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, expect, test } from "vitest";
import * as zod from "zod/v4";

const ROOT = path.join(import.meta.dirname, "../..");
const lazy = createRequire(import.meta.url)("../../scripts/lazy-zod.cjs") as typeof zod;
/** As the packages import it. */
const utils = createRequire(import.meta.resolve("@ai-sdk/openai-compatible"))(
  "@ai-sdk/provider-utils",
) as {
  asSchema(schema: unknown): unknown;
  safeValidateTypes(validated: { value: unknown; schema: unknown }): Promise<object>;
};
const PACKAGES = [
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@openrouter/ai-sdk-provider",
];

/** A schema as the packages write it. */
function reply({ z }: Pick<typeof zod, "z">) {
  const part: zod.ZodType = z.lazy(() =>
    z.object({ text: z.string(), inner: part.optional() }).loose(),
  );
  return z.union([
    z.object({
      id: z.string().nullish(),
      created: z.number().int().min(0).default(7),
      kind: z.enum(["a", "b"]).optional(),
      parts: z.array(part),
      usage: z.record(z.string(), z.unknown()).nullable(),
      size: z.tuple([z.number(), z.literal("px")]).optional(),
      upper: z
        .string()
        .transform((text) => text.toUpperCase())
        .optional(),
    }),
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("error"), message: z.string().regex(/^e/) }),
      z.strictObject({ type: z.literal("ping") }),
    ]),
  ]);
}

describe("a schema that is made when it is used", () => {
  test.each([
    { parts: [{ text: "x", inner: { text: "y", more: 1 } }], usage: null, upper: "up", extra: 1 },
    { id: "1", created: 3, kind: "b", parts: [], usage: { a: [1] }, size: [2, "px"] },
    { parts: [{ text: 1 }], usage: null },
    { type: "error", message: "e1" },
    { type: "error", message: "none" },
    { type: "ping", extra: true },
    null,
    "text",
  ])("says the same of %j as zod itself", async (value) => {
    const expected = await zod.safeParseAsync(reply(zod), value);
    const found = await lazy.safeParseAsync(reply(lazy), value);
    expect(found.success).toBe(expected.success);
    expect(found.data).toEqual(expected.data);
    expect(found.error?.message).toBe(expected.error?.message);
  });

  test("has the JSON Schema that it would have", () => {
    const made = lazy.z.object({ a: lazy.z.string().optional() });
    const expected = zod.z.object({ a: zod.z.string().optional() });
    expect(lazy.toJSONSchema(made)).toEqual(zod.toJSONSchema(expected));
  });

  test("has all that zod's schemas have", () => {
    const kinds = lazy.z.enum(["a", "b"]);
    expect(kinds.options).toEqual(["a", "b"]);
    expect(lazy.z.object({ kinds }).shape.kinds.options).toEqual(["a", "b"]);
    expect(["_zod" in kinds, "~standard" in kinds]).toEqual([true, true]);
    expect(lazy.z.string().safeParse(1).success).toBe(false);
  });

  test.each([{ parts: [], usage: null }, { parts: 1 }])(
    "is a schema of the AI SDK, which is not made anew for each value (%j)",
    async (value) => {
      const schema = reply(lazy);
      expect(utils.asSchema(schema)).toBe(schema);
      const found = await utils.safeValidateTypes({ value, schema });
      expect(found).toEqual(await utils.safeValidateTypes({ value, schema: reply(zod) }));
    },
  );

  test("is neither made for options that are marked as valid nor asked about them", async () => {
    const valid = Object.defineProperty({ a: 1 }, Symbol.for("jp-ts.valid-options"), {
      value: true,
    });
    const shape = {
      get a(): zod.ZodType {
        throw new Error("It was made.");
      },
    };
    const schema = lazy.z.object(shape);
    expect(await lazy.safeParseAsync(schema, valid)).toEqual({ success: true, data: valid });
    expect(await utils.safeValidateTypes({ schema, value: valid })).toHaveProperty("value", valid);
    await expect(lazy.safeParseAsync(schema, { ...valid })).rejects.toThrow("It was made.");
  });
});

describe("the packages of providers", () => {
  test.each(PACKAGES)("%s has no schema that waits for something", (name) => {
    const file = path.join(ROOT, "node_modules", name, "dist", "index.js");
    const waiting = /\.(?:check|refine|superRefine|transform)\(\s*async\b/;
    expect(waiting.exec(readFileSync(file, "utf8"))).toBeNull();
  });

  test.each(PACKAGES)("%s makes schemas only with functions that are known", (name) => {
    const file = path.join(ROOT, "node_modules", name, "dist", "index.js");
    const calls = readFileSync(file, "utf8").matchAll(/(?<![\w$.])z\d*\.(\w+)\(/g);
    const makers = new Set(Array.from(calls, ([, maker = ""]) => maker));
    expect([...makers].filter((maker) => !(maker in lazy.z))).toEqual([]);
  });
});
