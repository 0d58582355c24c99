/** Data from MCP servers: results, lists of tools, questions and schemas. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import { Client } from "@modelcontextprotocol/client";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ParameterConfig } from "../../src/settings/config/index.ts";
import { toFieldValue } from "../../src/reach/executor/mcp/form-field.ts";
import {
  createRound,
  fillRound,
  questionsOf,
} from "../../src/reach/executor/mcp/question-round.ts";
import { mergeParameters } from "../../src/reach/executor/mcp/remote-description.ts";
import { checkArguments } from "../../src/reach/json-schema/check-arguments.ts";
import { type FormField, parseElicitation } from "../../src/reach/mcp/index.ts";
import { toInputRequests } from "../../src/reach/mcp/pending-calls.ts";
import { listTools, toCallResult } from "../../src/reach/mcp/remote-tool.ts";
import { type AnswerType, explainMisfit } from "../../src/record/tool/index.ts";
import {
  isJpError,
  isJsonObject,
  type Json,
  type JsonObject,
  ShapeError,
} from "../../src/util/index.ts";
import { fuzz, thrownBy } from "./fuzz.ts";
import { explainGrowth } from "./growth.ts";
import { changedJson, hostileJson, withDepths } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";
import { ScriptedTransport } from "../mcp/scripted-server.ts";

const MEBIBYTE = 1024 * 1024;

const block: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constant("text"), text: hostileText }),
  fc.record({
    type: fc.constantFrom("image", "audio"),
    data: fc.constantFrom("", "AA==", "AAA=", "AAAA"),
    mimeType: hostileText,
  }),
  fc.record({ type: fc.constant("resource_link"), name: hostileText, uri: hostileText }),
  fc.record({
    type: fc.constant("resource"),
    resource: fc.oneof(
      fc.record({ uri: hostileText, text: hostileText }),
      fc.record({ uri: hostileText, blob: fc.constant("AAAA") }),
    ),
  }),
);

const callResult = fc.record(
  {
    content: fc.array(block, { maxLength: 3 }),
    structuredContent: fc.dictionary(hostileText, hostileJson, { maxKeys: 2 }),
    isError: fc.boolean(),
    resultType: fc.constantFrom("complete", "input_required"),
  },
  { requiredKeys: ["content"] },
);

fuzz(
  "a result becomes text within the size limit, or the SDK rejects it",
  250,
  fc.asyncProperty(changedJson(callResult).filter(isJsonObject), async (result) => {
    const outcome = await callWith(result);
    if (outcome === undefined) return;
    expect(["success", "error"]).toContain(outcome.type);
    expect(Buffer.byteLength(outcome.content)).toBeLessThan(MEBIBYTE + 200);
    if (outcome.type === "error") expect(outcome.content).not.toBe("");
  }),
);

/** Slow patterns have a separate test. */
const QUICK_PATTERNS = ["(", "^a", "\\p{L}+", "[^]{0,9}", "^$"];

const fieldSchema: fc.Arbitrary<unknown> = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom("string", "number", "integer", "boolean"),
      title: hostileText,
      description: hostileText,
      default: hostileJson,
      pattern: fc.constantFrom(...QUICK_PATTERNS),
      format: fc.constantFrom("email", "uri", "date", "date-time", "password", "toString"),
      minLength: fc.nat(3),
      maxLength: fc.nat(3),
      minimum: fc.double(),
      multipleOf: fc.constantFrom(0, 0.1, -1, 3),
    },
    { requiredKeys: ["type"] },
  ),
  fc.record(
    {
      type: fc.constant("string"),
      enum: fc.array(hostileText, { minLength: 1, maxLength: 3 }),
      enumNames: fc.array(hostileText, { maxLength: 3 }),
      default: hostileText,
    },
    { requiredKeys: ["type", "enum"] },
  ),
  fc.record({
    type: fc.constant("array"),
    items: fc.record({
      anyOf: fc.array(fc.record({ const: hostileText, title: hostileText }), { maxLength: 3 }),
    }),
    minItems: fc.nat(3),
  }),
);

const elicitation: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({
    mode: fc.constantFrom("form", undefined),
    message: hostileText,
    requestedSchema: fc.record({
      type: fc.constant("object"),
      properties: fc
        .array(fc.tuple(fc.oneof(hostileText, fc.constant("__proto__")), fieldSchema), {
          maxLength: 3,
        })
        .map((entries) => Object.fromEntries(entries)),
      required: fc.oneof(fc.array(hostileText, { maxLength: 2 }), hostileJson),
    }),
  }),
  fc.record({
    mode: fc.constant("url"),
    message: hostileText,
    url: fc.oneof(fc.webUrl(), hostileText, fc.constant("javascript:alert(1)")),
    elicitationId: hostileText,
  }),
);

fuzz(
  "a question of a server is parsed, or rejected with a reason",
  600,
  fc.property(fc.oneof(changedJson(elicitation), hostileJson), (marked) => {
    const error = thrownBy(() => parseElicitation(withDepths(marked)));
    if (error !== undefined) expect(error).toBeInstanceOf(ShapeError);
  }),
);

const requests = fc
  .array(
    fc.tuple(
      hostileText,
      fc.record({
        method: fc.constantFrom("elicitation/create", "elicitation/create", "roots/list"),
        params: elicitation,
      }),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((entries) => Object.fromEntries(entries));

fuzz(
  "requests of a server become valid questions, whose answers are valid responses",
  200,
  fc.asyncProperty(
    changedJson(requests),
    fc.infiniteStream(hostileJson),
    async (marked, stream) => {
      const asked = withDepths(marked);
      if (!isJsonObject(asked)) return;
      const asks = {
        type: "asks",
        requests: toInputRequests(asked),
        isPrerequisite: false,
      } as const;
      const round = createRound(asks, {
        server: "a server",
        allowsSecrets: true,
        allowsSampling: false,
      });
      if (round.type === "refused") {
        expect(round.reason.length).toBeLessThan(2000);
        return;
      }
      const questions = questionsOf(round);
      const ids = questions.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { id, text, answerType, default: suggested } of questions) {
        expect([id === "", text === "", id.length > 250]).toEqual([false, false, false]);
        if (suggested !== undefined) expect(explainMisfit(answerType, suggested)).toBeUndefined();
      }
      const answers = questions.map(({ id, answerType }): [string, Json] => [
        id,
        fittingAnswer(answerType, stream),
      ]);
      const filled = await fillRound(round, { answers: Object.fromEntries(answers) });
      if (filled.type === "complete") {
        expect([...filled.responses.keys()]).toEqual(round.requests.map(({ key }) => key));
      } else expect(filled.questions.every(({ id }) => ids.includes(id))).toBe(true);
    },
  ),
);

/** Unusual pieces of schemas. Generating them would take longer than testing with them. */
const PIECES: readonly JsonObject[] = [
  {},
  { type: "string", minLength: 1, default: "a" },
  { type: "integer", minimum: 1e308, default: "1" },
  { type: ["array", "null"], items: { type: "number" }, uniqueItems: true },
  { type: "x", multipleOf: 0 },
  { type: 1, minLength: "1", required: "a", properties: [], items: 3, enum: {} },
  { pattern: "(" },
  { pattern: "^a", format: "regex" },
  { format: "email", maxLength: -1 },
  { format: "toString" },
  { enum: [null, "a", { a: [1] }], const: 1 },
  { const: { __proto__: 1 } },
  { type: "number", minimum: 5, maximum: -5, exclusiveMinimum: 9, exclusiveMaximum: 0 },
  { type: ["number", "boolean"], multipleOf: 7 },
  { type: "string", minLength: 99, maxLength: 0, format: "ipv6" },
  { minItems: 9, maxItems: 0, uniqueItems: true },
  { enum: Array.from({ length: 20 }, (_, index) => index) },
  { properties: { aa: {}, bb: {} }, additionalProperties: false },
  { type: "object", additionalProperties: false, required: ["a", "b"] },
  { $ref: "#" },
  { $ref: "#/$defs/a" },
  { $ref: "#/properties/a" },
  { $ref: "#/nowhere" },
  { $ref: "http://x.example/" },
  { $ref: "%" },
  { $id: "http://y.example/", $anchor: "a", $dynamicRef: "#a" },
  { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] },
  { oneOf: [{ const: "a" }, { const: "b", title: "B" }] },
  { allOf: [{ $ref: "#" }, {}] },
  { not: {}, if: { type: "string" }, else: false },
  { contains: { type: "string" }, minContains: 2 },
  { propertyNames: { pattern: "^[a-z]+$" } },
  { patternProperties: { "^a": { type: "string" }, "(": {} } },
  { dependentRequired: { a: ["b"] }, unevaluatedProperties: false },
];

const piece = fc.constantFrom<Json>(...PIECES, true, false, null);

const anySchema: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom(...PIECES),
    fc.record(
      {
        properties: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "c/d"), piece),
        required: fc.constantFrom<Json>(["a"], ["toString", "b"], "a", []),
        additionalProperties: piece,
        items: piece,
        prefixItems: fc.array(piece, { maxLength: 2 }),
        anyOf: fc.array(piece, { maxLength: 3 }),
        allOf: fc.array(piece, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([first, second]) => ({ ...first, ...second }));

const parameters = fc
  .tuple(anySchema, anySchema)
  .map(([schema, other]) => ({ type: "object", ...schema, $defs: { a: other } }));

const argument: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    "7",
    "[1,1]",
    '{"ab":1}',
    3,
    12.5,
    [1, 1],
    ["a"],
    { ab: 1, a: "x" },
    "true",
  ),
  fc.constantFrom<Json>("1e999", "9007199254740993", { c: [{ ab: "1" }] }),
  hostileJson,
);

const givenArguments = fc
  .array(fc.tuple(fc.constantFrom("a", "b", "ab", "__proto__", "c/d"), argument), { maxLength: 3 })
  .map((entries) => Object.fromEntries(entries));

fuzz(
  "arguments match the parameters of a server's tool, or the error says what does not",
  150,
  fc.asyncProperty(changedJson(parameters), givenArguments, async (schema, given) => {
    const check = await checkArguments(
      { name: "a_tool", parameters: withDepths(schema) as JsonObject }, // The SDK does not check it further.
      withDepths(given) as JsonObject,
    );
    if (check.ok) expect(check.arguments).toBeTypeOf("object");
    else expect(check.message).toMatch(/^(?:Tool 'a_tool' was not run: |Invalid arguments for )/);
  }),
);

/** As config is parsed: known keywords have the right types. */
const anyParameter: fc.Arbitrary<ParameterConfig> = fc.record(
  {
    type: fc.constantFrom("string", "array"),
    description: hostileText,
    required: fc.boolean(),
    default: hostileJson,
    items: fc.record({ description: hostileText }),
    properties: fc.dictionary(fc.constantFrom("a", "b"), fc.record({ description: hostileText })),
  },
  { requiredKeys: [] },
);

fuzz(
  "configured parameters can be merged with any parameters of a server",
  300,
  fc.property(changedJson(parameters), anyParameter, (schema, own) => {
    const given = withDepths(schema);
    if (!isJsonObject(given)) return;
    const error = thrownBy(() => mergeParameters("a_tool", given, { a: own }));
    if (error !== undefined) expect(isJpError(error)).toBe(true);
  }),
);

fuzz(
  "a list of tools is read, or the SDK rejects it",
  60,
  fc.asyncProperty(
    changedJson(
      fc.record({
        tools: fc.array(
          fc.record({ name: hostileText, description: hostileText, inputSchema: parameters }),
          { maxLength: 3 },
        ),
      }),
    ),
    async (page) => {
      const client = await connected({ "tools/list": page });
      const tools = await listTools(client, 1000).catch(() => []);
      for (const { name, inputSchema } of tools) {
        expect([typeof name, typeof inputSchema]).toEqual(["string", "object"]);
      }
    },
  ),
);

test.each(["^(a+)+$", "^(.*)*\\d$"])(
  "the pattern %s of a server does not block the process",
  async (pattern) => {
    const answer = `${"a".repeat(60)}!`;
    const properties = { a: { type: "string", pattern } };
    const asked = parseElicitation({ message: "?", requestedSchema: { properties } });
    const [field] = asked.type === "form" ? asked.fields : [];
    const check = await checkArguments(
      { name: "a_tool", parameters: { type: "object", properties } },
      { a: answer },
    );
    expect([
      check.ok,
      await toFieldValue(field as FormField, answer),
      await checkArguments(
        { name: "a_tool", parameters: { type: "object", patternProperties: { [pattern]: {} } } },
        { [answer]: 1 },
      ).then(({ ok }) => ok),
    ]).toEqual([false, { type: "value", value: answer }, false]);
  },
);

test("parameters with exponentially many references do not block the process", async () => {
  for (const keyword of ["allOf", "anyOf"]) {
    const levels = Array.from({ length: 40 }, (_, index): [string, Json] => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, index === 39 ? {} : { [keyword]: [next, next] }];
    });
    const schema: JsonObject = {
      type: "object",
      $defs: Object.fromEntries(levels),
      properties: { a: { $ref: "#/$defs/d0" } },
    };
    const check = await checkArguments({ name: "a_tool", parameters: schema }, { a: "1" });
    expect(check).toMatchObject({ ok: false, message: expect.stringContaining("too long") });
  }
});

test("results and forms are read in linear time", async () => {
  const growth = [await explainGrowth(20_000, readResult), await explainGrowth(50_000, readForm)];
  expect(growth).toEqual([undefined, undefined]);
});

function readResult(count: number) {
  const content = Array.from({ length: count }, () => ({ type: "text" as const, text: "日\n" }));
  return toCallResult({ content });
}

function readForm(count: number) {
  const options = Array.from({ length: Math.min(count, 500) }, (_, index) => `option ${index}`);
  const text = "x ".repeat(count);
  const properties = { a: { type: "string", enum: options, title: text, description: text } };
  const params = { message: text, requestedSchema: { properties } };
  const asked = [{ key: text, method: "elicitation/create", params }];
  const rules = { server: "a server", allowsSecrets: false, allowsSampling: false };
  return createRound({ type: "asks", requests: asked, isPrerequisite: false }, rules);
}

/** Undefined if the SDK rejects the result. */
async function callWith(result: Json) {
  const client = await connected({ "tools/call": result });
  try {
    return toCallResult(await client.callTool({ name: "a_tool", arguments: {} }));
  } catch (error) {
    if (error instanceof Error && /SdkError|ProtocolError/.test(error.constructor.name)) {
      return undefined;
    }
    throw error;
  }
}

async function connected(results: Readonly<Record<string, Json>>): Promise<Client> {
  const client = new Client({ name: "a-test", version: "1" });
  await client.connect(new ScriptedTransport(results));
  return client;
}

/** Any answer of the right type. */
function fittingAnswer(answerType: AnswerType, stream: fc.Stream<Json>): Json {
  const { value = "" } = stream.next();
  if (explainMisfit(answerType, value) === undefined) return value;
  if (answerType.type === "boolean") return true;
  if (answerType.type !== "select") return JSON.stringify(value);
  const first = answerType.options[0]?.value ?? null;
  return answerType.isMultiple === true ? [first] : first;
}
