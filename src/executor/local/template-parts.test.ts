import * as fc from "fast-check";
import { Environment } from "minijinja-js";
import { expect, test } from "vitest";
import { splitTemplate, type TemplatePart } from "./template-parts.ts";

const kinds = (template: string) =>
  splitTemplate(template).map(({ type, source }) => [type, source]);

test("text, expressions and statements are told apart", () => {
  expect(kinds("a {{ b }} c {% if d %}e{% endif %}")).toEqual([
    ["text", "a "],
    ["expression", "{{ b }}"],
    ["text", " c "],
    ["statement", "{% if d %}"],
    ["text", "e"],
    ["statement", "{% endif %}"],
  ]);
});

test("the marks that trim blanks are no part of the code", () => {
  const parts = ["{{- a -}}", "{{+a+}}", "{{ -a }}"].flatMap((source) => splitTemplate(source));
  expect(parts.map((part) => part.type === "expression" && part)).toEqual([
    { type: "expression", source: "{{- a -}}", opening: "-", code: " a ", closing: "-" },
    { type: "expression", source: "{{+a+}}", opening: "+", code: "a", closing: "+" },
    { type: "expression", source: "{{ -a }}", opening: "", code: " -a ", closing: "" },
  ]);
});

test("quotes and brackets of the code hide what looks like its end", () => {
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

test("in every template that the engine accepts, it finds the expressions that the engine finds", () => {
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
