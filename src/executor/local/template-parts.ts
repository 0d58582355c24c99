/**
 * Where in a template its text ends and its code begins, as the engine sees it. What the code means
 * is the engine's business; that a template is valid is checked before this is asked.
 */

export type TemplatePart =
  | { readonly type: "text"; readonly source: string }
  /** Statements, and nothing of them is printed. */
  | { readonly type: "statement"; readonly source: string }
  /** `{{ code }}`. The marks, `-` or `+`, say what happens to the blanks around it. */
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

/** The sources of all parts, joined, are the template. */
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

/** Brackets and quotes of the code itself hide what would end it. */
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
