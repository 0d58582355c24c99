import { mkdirSync, realpathSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  foldLayers,
  type Layer,
  resolveTools,
  type RuleConfig,
} from "../../src/settings/config/index.ts";
import { readConfig } from "../../src/settings/config/any-config.fixture.ts";
import { placeRules } from "../../src/settings/config/place-rules.ts";
import { findPaths } from "../../src/reach/executor/parameters-schema.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { compileRules, evaluateRules } from "../../src/core/policy/evaluate.ts";
import {
  decideByText,
  type ObjectParameter,
  type Parameter,
  type TextCall,
  type WrittenRule,
} from "./evaluator-from-text.ts";

test("10,000 sets of rules decide as a second evaluator does, which was written from the text alone", async () => {
  const root = folderTree();
  const seen = { decided: 0, unattended: 0, conditional: 0, open: 0 };
  await fc.assert(
    fc.asyncProperty(anyCase(root), async ({ layers, call }) => {
      const { rules, settings } = inLayers(layers, call);
      const kinds = findPaths(call.parameters.properties);
      const judged = { tool: settings, arguments: call.arguments, kinds, root };
      const compiled = await compileRules(settings.policy.run, judged);
      const verdict = await evaluateRules(compiled, judged);
      const expected = decideByText(rules, call);
      const rule = expected === undefined ? undefined : rules[expected];
      expect(verdict && keyOf(verdict.rules[0]?.place)).toEqual(rule && keyOf(rule));
      expect(verdict?.mode).toBe(rule?.rule.mode);
      if (rule === undefined) seen.open += 1;
      else seen.decided += 1;
      if (rule?.rule.arg !== undefined) seen.conditional += 1;
      if (rule?.rule.arg !== undefined && rule.rule.mode === "unattended") seen.unattended += 1;
    }),
    { numRuns: 10_000 },
  );
  // Neither of them is right by never matching.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(300);
}, 120_000);

/** With every folder that a generated path goes up from: what does not exist could be anything by the time of the call. */
function folderTree(): string {
  const root = path.join(realpathSync(temporaryFolder()), "shop");
  for (const first of NAMES)
    for (const second of NAMES) {
      mkdirSync(path.join(root, first, second), { recursive: true });
      mkdirSync(path.join(root, "..", "out", first, second), { recursive: true });
    }
  return root;
}

const NAMES = ["src", "lib", "src-old"];

interface AnyCase {
  /** From the highest to the lowest. */
  readonly layers: readonly GeneratedLayer[];
  readonly call: TextCall;
}

interface GeneratedLayer {
  readonly name: string;
  readonly isFromWorkspace: boolean;
  readonly own: readonly RuleConfig[];
  readonly forAll: readonly RuleConfig[];
}

interface Placed extends WrittenRule {
  readonly layer: string;
  readonly key: string;
}

function inLayers(generated: readonly GeneratedLayer[], { tool, server }: TextCall) {
  const source = server === undefined ? "builtin" : `mcp.${server}`;
  const layers = generated.map(({ name, isFromWorkspace, own, forAll }): Layer =>
    placeRules({
      name,
      isFromWorkspace,
      config: readConfig({
        conversation: {
          tools: {
            [tool]: { source, policy: { run: own } },
            "*": { policy: { run: forAll } },
          },
        },
      }),
    }),
  );
  const settings = resolveTools(foldLayers(layers.toReversed())).get(tool);
  if (settings === undefined) throw new Error("the tool is there");
  const rules = generated.flatMap(({ name: layer, isFromWorkspace, own, forAll }) =>
    (["own", "forAll"] as const).flatMap((of) =>
      (of === "own" ? own : forAll).map((rule, index): Placed => ({
        rule,
        isOfWorkspace: isFromWorkspace,
        isForAll: of === "forAll",
        layer,
        key: `conversation.tools.${of === "own" ? tool : "*"}.policy.run[${index}]`,
      })),
    ),
  );
  return { rules, settings };
}

function keyOf(place: { readonly layer: string; readonly key: string } | undefined) {
  return place && `${place.layer}: ${place.key.replaceAll("'", "").replaceAll('"', "")}`;
}

function anyCase(root: string): fc.Arbitrary<AnyCase> {
  return anyObject(2)
    .chain((parameters) =>
      fc.record({
        parameters: fc.constant(parameters),
        arguments: valueOf(parameters, root) as fc.Arbitrary<JsonObject>,
        tool: fc.constantFrom("fs_edit", "fs_read", "edit"),
        server: fc.option(fc.constantFrom("github", "git"), { nil: undefined }),
      }),
    )
    .chain((call) => {
      const rules = fc.array(anyRule(call.parameters, root), { maxLength: 4 });
      const layer = (name: string, isFromWorkspace: boolean) =>
        fc.record({
          name: fc.constant(name),
          isFromWorkspace: fc.constant(isFromWorkspace),
          own: rules,
          forAll: rules,
        });
      const layers = fc.tuple(
        layer("flag", false),
        layer("conversation", true),
        layer("workspace", true),
        layer("user", false),
      );
      return fc.record({
        layers: fc
          .shuffledSubarray([0, 1, 2, 3], { minLength: 1 })
          .chain((picked) => layers.map((all) => picked.flatMap((index) => all[index] ?? []))),
        call: fc.constant({
          tool: call.tool,
          parameters: call.parameters,
          arguments: call.arguments,
          root,
          ...(call.server !== undefined && { server: call.server }),
        }),
      });
    });
}

const KEYS = ["path", "files", "a/b", "m~n", "0", "depth"];

function anyObject(depth: number): fc.Arbitrary<ObjectParameter> {
  const properties = fc.dictionary(fc.constantFrom(...KEYS), anyParameter(depth), {
    minKeys: 1,
    maxKeys: 3,
    noNullPrototype: true,
  });
  return properties.map((members) => ({ type: "object", properties: members }));
}

function anyParameter(depth: number): fc.Arbitrary<Parameter> {
  const scalar: fc.Arbitrary<Parameter> = fc
    .constantFrom("string", "path", "path", "number", "integer", "boolean" as const)
    .map((type) => ({ type }));
  if (depth === 0) return scalar;
  const list = anyParameter(depth - 1).map((items): Parameter => ({ type: "array", items }));
  return fc.oneof(
    { weight: 2, arbitrary: scalar },
    { weight: 2, arbitrary: list },
    anyObject(depth - 1),
  );
}

function valueOf(parameter: Parameter, root: string): fc.Arbitrary<Json> {
  switch (parameter.type) {
    case "string":
      return fc.constantFrom("src/a", "src", "", "rm -rf /", "srcs", "ünï", "a\nb");
    case "path":
      return anyPath(root);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: -2, max: 2 });
    case "number":
      return fc.constantFrom(-1.5, 0, 0.5, 1, 2);
    case "array":
      return fc.array(valueOf(parameter.items, root), { maxLength: 3 });
    case "object": {
      const fields = Object.entries(parameter.properties).map(
        ([name, child]) =>
          [name, fc.option(valueOf(child, root), { nil: undefined, freq: 6 })] as const,
      );
      return fc
        .record(Object.fromEntries(fields))
        .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
    }
  }
}

/** Written in many ways; goes up only from folders that exist. */
function anyPath(root: string): fc.Arbitrary<string> {
  const name = fc.constantFrom(...NAMES);
  const step = fc.oneof(
    { weight: 3, arbitrary: name },
    { weight: 2, arbitrary: name.map((each) => `${each}/..`) },
    { weight: 1, arbitrary: fc.constantFrom(".", "", "./.") },
  );
  const start = fc.constantFrom(
    "",
    "",
    "",
    "./",
    `${root}/`,
    "../shop/",
    "../out/",
    `${root}/../out/`,
  );
  const end = fc.constantFrom("", "/", "/a.ts", "/new/file.ts", "/./a.ts");
  return fc
    .tuple(start, fc.array(step, { minLength: 1, maxLength: 2 }), end)
    .map(([first, steps, last]) => {
      const text = `${first}${steps.join("/")}${last}`;
      // What starts with nothing is not absolute.
      return first === "" || first === "./" ? text.replace(/^\/+/, "") || "." : text;
    });
}

function anyRule(parameters: ObjectParameter, root: string): fc.Arbitrary<RuleConfig> {
  const mode = fc.constantFrom("ask", "unattended", "unattended", "edit", "skip" as const);
  const scope = fc.record(
    {
      tool: fc.constantFrom("fs_*", "*edit", "*_*", "fs_read", "x*"),
      server: fc.constantFrom("git*", "*hub", "github", "*"),
    },
    { requiredKeys: [] },
  );
  const none = fc.constant({});
  const condition = fc.oneof(
    { weight: 1, arbitrary: none },
    { weight: 8, arbitrary: anyCondition(parameters, root) },
  );
  return fc
    .tuple(
      mode,
      fc.oneof({ weight: 5, arbitrary: none }, { weight: 1, arbitrary: scope }),
      condition,
    )
    .map(([each, names, rest]) => ({ mode: each, ...names, ...rest }));
}

function anyCondition(
  parameters: ObjectParameter,
  root: string,
): fc.Arbitrary<Partial<RuleConfig>> {
  const missing = fc.constant({ arg: "/nothing/here", prefix: "src" });
  return fc.oneof(
    { weight: 1, arbitrary: missing },
    {
      weight: 12,
      arbitrary: fc
        .constantFrom(...pointersOf(parameters, ""))
        .chain(({ arg, parameter }) =>
          matcherFor(parameter, root).map((matcher) => ({ arg, ...matcher })),
        ),
    },
  );
}

function pointersOf(
  parameter: Parameter,
  at: string,
): readonly { readonly arg: string; readonly parameter: Parameter }[] {
  if (parameter.type === "array") return pointersOf(parameter.items, at);
  const self = [{ arg: at, parameter }];
  if (parameter.type !== "object") return self;
  const below = Object.entries(parameter.properties).flatMap(([name, child]) =>
    pointersOf(child, `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
  return [...self, ...below];
}

function matcherFor(parameter: Parameter, root: string): fc.Arbitrary<Partial<RuleConfig>> {
  const value = valueOf(parameter, root);
  const same = fc.oneof(
    value.map((each) => ({ const: each })),
    fc.array(value, { minLength: 1, maxLength: 3 }).map((each) => ({ enum: each })),
  );
  const number = fc.constantFrom(-1, 0, 0.5, 1);
  const pattern = fc
    .constantFrom("^src/", "src", "a$", "^[a-z]+$", "(src|lib)/.*\\.ts$", "\\s-rf", "^.$", "^lib")
    .map((each) => ({ pattern: each }));
  switch (parameter.type) {
    case "string": {
      const prefix = fc
        .constantFrom("src", "src/", "", "rm ", "ü")
        .map((each) => ({ prefix: each }));
      return fc.oneof(same, pattern, prefix);
    }
    case "path":
      return fc.oneof(
        same,
        pattern,
        anyPath(root).map((each) => ({ prefix: each })),
      );
    case "number":
    case "integer":
      return fc.oneof(
        same,
        number.map((each) => ({ minimum: each })),
        number.map((each) => ({ maximum: each })),
        number.map((each) => ({ exclusive_minimum: each })),
        number.map((each) => ({ exclusive_maximum: each })),
      );
    default:
      return same;
  }
}
