import * as fc from "fast-check";
import { Environment } from "minijinja-js";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../util/index.ts";
import { renderTemplate, splitTemplate, TemplateError, type TemplatePart } from "./template.ts";

const render = (source: string, document: JsonObject = {}, secretAnswers: string[] = []) =>
  renderTemplate({ name: "argument 1", source }, () => ({ document, secretAnswers }));

test("text, numbers and booleans are written as they are", async () => {
  const document = { text: `a "b" <c> 'd'`, integer: 7, fraction: 1.5, large: 1e21, yes: true };
  const source = "{{text}} {{integer}} {{fraction}} {{large}} {{yes}}";
  expect(await render(source, document)).toBe(`a "b" <c> 'd' 7 1.5 1e+21 true`);
});

test("lists and maps are written as compact JSON", async () => {
  const map = JSON.parse('{"a":{"b":[]},"__proto__":1}');
  const document = { list: [1, "b", null], map, empty: {} };
  expect(await render("{{list}} {{map}} {{empty}}", document)).toBe(
    `[1,"b",null] {"__proto__":1,"a":{"b":[]}} {}`,
  );
});

test("none and unknown values are written as null", async () => {
  expect(await render("{{a}} {{b}} {{c.d}}", { a: null, c: {} })).toBe("null null null");
});

test("the output of tojson is not changed", async () => {
  expect(await render("{{ a|tojson }}", { a: ["x"] })).toBe(`["x"]`);
});

test("conditions, loops and filters work", async () => {
  const source = "{% for a in list if a %}{{ loop.index }}{{ a|upper }}{% endfor %}{# no #}";
  expect(await render(source, { list: ["x", "", "y"] })).toBe("1X2Y");
});

test("a template without code is not changed, not even its last newline", async () => {
  const sources = ["plain } {", "a\n", "{{'a'}}\n"];
  expect(await Promise.all(sources.map((source) => render(source)))).toEqual([
    "plain } {",
    "a\n",
    "a\n",
  ]);
});

test("a value that looks like a template is not rendered again", async () => {
  expect(await render("{{a}}", { a: "{{b}}", b: "no" })).toBe("{{b}}");
});

test.each([
  ["is not closed", "{{ a"],
  ["is not an expression", "{{ a b }}"],
  ["has too many brackets", "{{ a) ~ (b }}"],
  ["is empty", "{{ }}"],
  ["looks into nothing", "{{ a.b.c }}"],
  ["uses an unknown filter", "{{ a|nope }}"],
  ["includes another", "{% include 'a' %}"],
])("a template that %s is refused, and the error says where it is", async (_, source) => {
  await expect(render(source)).rejects.toThrow(TemplateError);
  await expect(render(source)).rejects.toThrow(`argument 1, \`${source}\`, cannot be rendered: `);
});

test("the error of a template is one line", async () => {
  await expect(render("a\n{{ b c }}")).rejects.toThrow(
    "unexpected identifier, expected end of variable block (in argument 1:2).",
  );
});

test.each([
  "{{ tool.answers.key }}",
  "{{ tool.answers['key'] }}",
  "{{ tool['answers'].key|upper }}",
  '{% if tool.answers["key"] %}{% endif %}',
])("%s is refused when that answer is a secret", async (source) => {
  const document = { tool: { answers: {} } };
  await expect(render(source, document, ["key"])).rejects.toThrow(
    'the answer to "key" is a secret and never appears on a command line',
  );
  await expect(render(source, document, ["other"])).resolves.toBeTypeOf("string");
});

const kinds = (template: string) =>
  splitTemplate(template).map(({ type, source }) => [type, source]);

test("text, expressions and statements are distinguished", () => {
  expect(kinds("a {{ b }} c {% if d %}e{% endif %}")).toEqual([
    ["text", "a "],
    ["expression", "{{ b }}"],
    ["text", " c "],
    ["statement", "{% if d %}"],
    ["text", "e"],
    ["statement", "{% endif %}"],
  ]);
});

test("the marks that trim whitespace are not part of the code", () => {
  const parts = ["{{- a -}}", "{{+a+}}", "{{ -a }}"].flatMap((source) => splitTemplate(source));
  expect(parts.map((part) => part.type === "expression" && part)).toEqual([
    { type: "expression", source: "{{- a -}}", opening: "-", code: " a ", closing: "-" },
    { type: "expression", source: "{{+a+}}", opening: "+", code: "a", closing: "+" },
    { type: "expression", source: "{{ -a }}", opening: "", code: " -a ", closing: "" },
  ]);
});

test("closing marks inside quotes and brackets do not end the code", () => {
  const templates = [
    "{{ '}}' }}",
    '{{ "\\"}}" }}',
    "{{ {'a': {'b': 1}}}}",
    "{% set a = '%}' %}",
    "{{ [{}][0] }}",
  ];
  expect(templates.map((template) => splitTemplate(template).length)).toEqual([1, 1, 1, 1, 1]);
});

test("comments and raw blocks are text, whatever is in them", () => {
  expect(kinds("{# {{ a }} #}{%- raw -%}{{ b }}{% endraw %}{{ c }}")).toEqual([
    ["text", "{# {{ a }} #}"],
    ["text", "{%- raw -%}{{ b }}{% endraw %}"],
    ["expression", "{{ c }}"],
  ]);
});

test("it finds the same expressions as the engine in every valid template", () => {
  const characters = Array.from("{}%#()[]'\"\\-+~,: \nab");
  const marks = [
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{%",
    "%}",
    "{%-",
    "-%}",
    "{#",
    "#}",
    " raw ",
    " endraw ",
  ];
  const values = [
    "'a'",
    '"b"',
    "a.b",
    "(a)",
    "[a]",
    "{'a':b}",
    "{{'}}'}}",
    "{{ a }}",
    "{{ a ~ b }}",
  ];
  const statements = ["{% raw %}", "{% endraw %}", "{% if a %}", "{% endif %}"];
  const pieces = [...characters, ...marks, ...values, ...statements];
  const template = fc
    .array(fc.constantFrom(...pieces), { maxLength: 12 })
    .map((all) => all.join(""));
  const engine = new Environment();
  engine.addFilter("mark", (value: unknown) => `<${String(value)}>`);
  let accepted = 0;
  fc.assert(
    fc.property(template, (source) => {
      const context = { a: "A", b: "B" };
      let plain: string;
      try {
        plain = engine.renderStr(source, context);
      } catch {
        return; // No template at all.
      }
      accepted += 1;
      const parts = splitTemplate(source);
      const rendered = (show: (code: string) => string) =>
        engine.renderStr(parts.map((part) => rewrite(part, show)).join(""), context);
      expect(parts.map((part) => part.source).join("")).toBe(source);
      expect(rendered((code) => `[(${code})]|join`)).toBe(plain);
      // What is not marked was printed by no expression.
      const marked = rendered((code) => `(${code})|mark`);
      expect(marked.replaceAll(/<[^>]*>/g, "")).toBe(rendered(() => "''"));
    }),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(500);
});

function rewrite(part: TemplatePart, show: (code: string) => string): string {
  if (part.type !== "expression") return part.source;
  return `{{${part.opening} ${show(part.code)} ${part.closing}}}`;
}
