/**
 * Renders the templates in a command. Values are formatted here: the engine prints lists, maps and missing values in a
 * form that does not suit a command line.
 */
import { type JsonObject, loadModule, messageOf } from "../../../util/index.ts";

/** A template cannot be rendered. The author of the config can fix it. */
export class TemplateError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "TemplateError";
  }
}

export interface Template {
  /** Names the part of the command in errors. */
  readonly name: string;
  readonly source: string;
}

export interface TemplateContext {
  /** Available to templates. Contains no secrets. */
  readonly document: JsonObject;
  /** The ids of the answers that are left out. */
  readonly secretAnswers: readonly string[];
}

/** A filter added to each expression: the engine has no other way to format its output. */
const FORMAT_FILTER = "jp_show";

/** Replaces the text of each value. Must not throw. */
export type FormatValue = (text: string) => string;

/** Calls `find` only if the text has templates. Throws `TemplateError`. */
export async function renderTemplate(
  template: Template,
  find: () => TemplateContext,
  format: FormatValue = (text) => text,
): Promise<string> {
  const { name, source } = template;
  if (!hasTemplate(source)) return source;
  const { document, secretAnswers } = find();
  const parts = splitTemplate(source);
  assertNoSecrets(template, parts, secretAnswers);
  const { Environment } = await loadTemplates();
  const engine = new Environment();
  try {
    engine.keepTrailingNewline = true;
    engine.addFilter(FORMAT_FILTER, (value: unknown) => format(valueToText(value)));
    engine.addTemplate(name, source); // Unchanged, so that syntax errors refer to it.
    return engine.renderNamedStr(name, parts.map(withFormatFilter).join(""), document);
  } catch (error) {
    throw templateError(template, messageOf(error));
  } finally {
    engine.free();
  }
}

/** Whether the text contains template syntax. */
export function hasTemplate(source: string): boolean {
  return /\{[{%#]/.test(source);
}

/** Formats lists and maps as compact JSON, and a missing value as `null`. */
function valueToText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(value ?? null, (_key, member: unknown) => {
    // The engine passes maps as `Map`.
    if (member instanceof Map) return Object.fromEntries<unknown>(member);
    return member ?? null;
  });
}

function withFormatFilter(part: TemplatePart): string {
  if (part.type !== "expression") return part.source;
  const { opening, code, closing } = part;
  return `{{${opening} (${code})|${FORMAT_FILTER} ${closing}}}`;
}

function assertNoSecrets(
  template: Template,
  parts: readonly TemplatePart[],
  secrets: readonly string[],
): void {
  const code = parts.filter(({ type }) => type !== "text").map(({ source }) => source);
  const used = code
    .flatMap((source) => [
      ...source.matchAll(/\banswers["'\]\s]*(?:\.\s*(\w+)|\[\s*(?:"([^"]*)"|'([^']*)')\s*\])/g),
    ])
    .map(([, field, double, single]) => field ?? double ?? single ?? "");
  const secret = used.find((id) => secrets.includes(id));
  if (secret === undefined) return;
  throw templateError(
    template,
    `the answer to "${secret}" is a secret and never appears on a command line. ` +
      "Read it from `tool.answers` on standard input",
  );
}

function templateError({ name, source }: Template, problem: string): TemplateError {
  const [line = ""] = problem.split("\n"); // The rest points at the location graphically.
  return new TemplateError(`${name}, \`${source}\`, cannot be rendered: ${line}.`);
}

export type TemplatePart =
  | { readonly type: "text"; readonly source: string }
  /** Prints nothing. */
  | { readonly type: "statement"; readonly source: string }
  /** `{{ code }}`. The marks, `-` or `+`, control the whitespace around it. */
  | {
      readonly type: "expression";
      readonly source: string;
      readonly opening: string;
      readonly code: string;
      readonly closing: string;
    };

const CODE_START = /\{\{[-+]?|\{%[-+]?|\{#/g;
const RAW_START = /\{%[-+]?\s*raw\s*[-+]?%\}/y;
const RAW_END = /\{%[-+]?\s*endraw\s*[-+]?%\}/g;
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^"']/gy;

/** Joining the sources of all parts gives the template, which must be valid. */
export function splitTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let position = 0;
  while (position < template.length) {
    const start = indexOf(CODE_START, template, position);
    if (start > position) parts.push({ type: "text", source: template.slice(position, start) });
    if (start === template.length) break;
    const part = codeAt(template, start);
    parts.push(part);
    position = start + part.source.length;
  }
  return parts;
}

function codeAt(template: string, start: number): TemplatePart {
  if (template.startsWith("{#", start)) {
    const end = template.indexOf("#}", start + 2);
    return { type: "text", source: template.slice(start, end === -1 ? undefined : end + 2) };
  }
  RAW_START.lastIndex = start;
  if (RAW_START.test(template)) {
    const end = endOf(RAW_END, template, RAW_START.lastIndex);
    return { type: "text", source: template.slice(start, end) };
  }
  const isExpression = template.startsWith("{{", start);
  const end = endOfCode(template, start + 2, isExpression ? "}}" : "%}");
  const source = template.slice(start, end);
  return isExpression ? expression(source) : { type: "statement", source };
}

function expression(source: string): TemplatePart {
  const opening = /^\{\{[-+]/.test(source) ? source.charAt(2) : "";
  const inner = source.slice(2 + opening.length, -2);
  const closing = /[-+]$/.exec(inner)?.[0] ?? "";
  const code = inner.slice(0, inner.length - closing.length);
  return { type: "expression", source, opening, code, closing };
}

/** Closing marks inside brackets and quotes do not end the code. */
function endOfCode(template: string, start: number, closer: string): number {
  let depth = 0;
  TOKEN.lastIndex = start;
  for (;;) {
    if (depth === 0 && template.startsWith(closer, TOKEN.lastIndex)) {
      return TOKEN.lastIndex + closer.length;
    }
    const [token] = TOKEN.exec(template) ?? [];
    if (token === undefined) return template.length;
    if ("([{".includes(token)) depth += 1;
    if (")]}".includes(token)) depth -= 1;
  }
}

function indexOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : text.length;
}

/** Slow to load. A turn loads it while it waits for the model. Throws `module_not_loaded`. */
export async function preloadTemplates(): Promise<void> {
  await loadTemplates();
}

function loadTemplates() {
  return loadModule(() => import("minijinja-js"));
}
