/**
 * Finds the functions of src that handle certain values. Every function is instrumented while its file is loaded: it
 * reports its arguments when it is called, and its result when it returns. Files must be imported after `traceValues`.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "rolldown/utils";

const ROOT = path.join(import.meta.dirname, "..", "..");

/** The name under which instrumented functions find where to report. */
const REPORT = "reportTracedValues";

/** Called for each call and each return, with the file and the values. */
export type OnValues = (file: string, values: readonly unknown[]) => void;

export function traceValues(onValues: OnValues): void {
  Object.assign(globalThis, {
    [REPORT]: (file: string, ...values: readonly unknown[]): unknown => {
      onValues(file, values);
      return values.at(-1);
    },
  });
  registerHooks({
    load: (url, context, nextLoad) => {
      const file = url.startsWith("file:") ? path.relative(ROOT, fileURLToPath(url)) : "";
      if (!file.startsWith(`src${path.sep}`)) return nextLoad(url, context);
      const source = instrument(file, readFileSync(path.join(ROOT, file), "utf8"));
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
}

/** Whether plain data of at most so many levels contains one of the values. Getters are not called. */
export function contains(data: unknown, values: readonly unknown[], levels: number): boolean {
  if (values.includes(data)) return true;
  if (typeof data !== "object" || data === null || levels === 0) return false;
  return membersOf(data).some((member) => contains(member, values, levels - 1));
}

/** The members of plain data; getters are not called. */
export function membersOf(data: object): readonly unknown[] {
  if (Array.isArray(data)) return data;
  if (data instanceof Map) return [...data.values()];
  if (Object.getPrototypeOf(data) !== Object.prototype) return [];
  return Object.values(Object.getOwnPropertyDescriptors(data)).map(
    ({ value: own }): unknown => own,
  );
}

/** A part of the syntax tree, as far as it matters here. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface FunctionNode {
  readonly params: readonly SyntaxNode[];
  /** Absent if the function is only declared. */
  readonly body: SyntaxNode | null;
}

function instrument(file: string, text: string): string {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const report = (values: readonly string[]) =>
    [`${REPORT}(${JSON.stringify(file)}`, ...values, ""].join(", ");
  /** Reports the value of an expression, after others. */
  const wrap = ({ start, end }: SyntaxNode, values: readonly string[] = []) => {
    insertions.push({ at: start, text: report(values) }, { at: end, text: ")" });
  };
  const enter = ({ params, body }: FunctionNode) => {
    if (body === null) return;
    const names = params.flatMap(boundNames);
    if (body.type === "BlockStatement") {
      insertions.push({ at: body.start + 1, text: ` ${report(names)});` });
    } else {
      wrap(body, names); // An arrow function without braces.
    }
  };
  new Visitor({
    FunctionDeclaration: (node) => enter(node),
    FunctionExpression: (node) => enter(node),
    ArrowFunctionExpression: (node) => enter(node),
    ReturnStatement: ({ argument }) => {
      if (argument !== null) wrap(argument);
    },
  }).visit(parseSync(file, text).program);
  // From the end to the start, so that positions stay valid. At one position, the outer call comes first.
  return insertions
    .map((insertion, index) => ({ ...insertion, index }))
    .toSorted((one, other) => other.at - one.at || other.index - one.index)
    .reduce((result, { at, text: added }) => result.slice(0, at) + added + result.slice(at), text);
}

type Pattern = SyntaxNode & {
  readonly name?: string;
  readonly left?: Pattern;
  readonly argument?: Pattern;
  readonly value?: Pattern;
  readonly properties?: readonly Pattern[];
  readonly elements?: readonly (Pattern | null)[];
};

/** The names that a parameter declares. */
function boundNames(parameter: SyntaxNode): readonly string[] {
  const {
    type,
    name,
    left,
    argument,
    value,
    properties = [],
    elements = [],
  } = parameter as Pattern;
  if (type === "Identifier") return name === undefined || name === "this" ? [] : [name];
  return [left, argument, value, ...properties, ...elements].flatMap((inner) =>
    inner === undefined || inner === null ? [] : boundNames(inner),
  );
}
