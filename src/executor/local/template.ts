/**
 * Renders the templates in a command. How a value is written is decided here: the engine's own way
 * to print a list, a map or nothing is not what a command line needs.
 */
import { type JsonObject, messageOf } from "../../util/index.ts";
import { TemplateError } from "./template-error.ts";
import { splitTemplate, type TemplatePart } from "./template-parts.ts";

export interface Template {
  /** Which part of the command it is, for an error. */
  readonly name: string;
  readonly source: string;
}

export interface TemplateContext {
  /** What a template can reach. Has no secrets in it. */
  readonly document: JsonObject;
  /** The ids of the answers that were left out of it. */
  readonly secretAnswers: readonly string[];
}

/** Written after the code of each expression. The engine has no other way to format what it prints. */
const SHOW = "jp_show";

/** Given the text of each value, says what stands in its place. Must not throw. */
export type ShowValue = (text: string) => string;

/** Throws `TemplateError`. */
export async function renderTemplate(
  template: Template,
  context: TemplateContext,
  show: ShowValue = (text) => text,
): Promise<string> {
  const { name, source } = template;
  if (!/\{[{%#]/.test(source)) return source;
  const parts = splitTemplate(source);
  refuseSecrets(template, parts, context.secretAnswers);
  const { Environment } = await import("minijinja-js");
  const engine = new Environment();
  try {
    engine.keepTrailingNewline = true;
    engine.addFilter(SHOW, (value: unknown) => show(valueToText(value)));
    engine.addTemplate(name, source); // As it was written: so an error is about that.
    return engine.renderNamedStr(name, parts.map(formatted).join(""), context.document);
  } catch (error) {
    throw unusable(template, messageOf(error));
  } finally {
    engine.free();
  }
}

/** A text, a number or a boolean as it is; a list or a map as compact JSON; nothing as `null`. */
function valueToText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(value ?? null, (_key, member: unknown) => {
    // How the engine gives a map.
    if (member instanceof Map) return Object.fromEntries<unknown>(member);
    return member ?? null;
  });
}

function formatted(part: TemplatePart): string {
  if (part.type !== "expression") return part.source;
  const { opening, code, closing } = part;
  return `{{${opening} (${code})|${SHOW} ${closing}}}`;
}

function refuseSecrets(
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
  throw unusable(
    template,
    `the answer to "${secret}" is a secret. A tool reads it from its standard input, as ` +
      "`tool.answers`; it is never put on a command line",
  );
}

function unusable({ name, source }: Template, problem: string): TemplateError {
  const [line = ""] = problem.split("\n"); // What follows is a drawing of the place.
  return new TemplateError(`${name}, \`${source}\`, cannot be rendered: ${line}.`);
}
