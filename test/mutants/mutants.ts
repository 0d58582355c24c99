/** Makes mutants of a source file: copies with one small mistake each, which some test should notice. */
import { parseAst } from "rolldown/parseAst";

export interface Mutant {
  /** Where the changed text begins and ends. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly change: string;
}

export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** All mutants of a TypeScript file, in the order of its text. */
export function mutantsOf(text: string): readonly Mutant[] {
  const mutants: Mutant[] = [];
  for (const node of nodesOf(parseAst(text, { lang: "ts" }))) {
    const make = MAKERS[node.type];
    if (make !== undefined) mutants.push(...make(node, text));
  }
  return mutants.toSorted((left, right) => left.start - right.start);
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

type Maker = (node: Node, text: string) => readonly Mutant[];

const SWAPPED: Readonly<Record<string, string>> = {
  "&&": "||",
  "||": "&&",
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "-": "+",
  "*": "/",
};

/** Steps of a chain whose result has the type of what they were called on. */
const STEPS: ReadonlySet<unknown> = new Set([
  "filter",
  "slice",
  "toReversed",
  "toSorted",
  "trim",
  "normalize",
  "toLowerCase",
]);

const SQL_CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ <= /g, " < "],
  [/ < /g, " <= "],
  [/ >= /g, " > "],
  [/ > /g, " >= "],
  [/ = /g, " <> "],
  [/ <> /g, " = "],
  [/\band\b/g, "or"],
  [/\bis not null\b/g, "is null"],
  [/\bis null\b/g, "is not null"],
  [/\bdesc\b/g, "asc"],
  [/\bnot exists\b/g, "exists"],
  [/\bfor (?:no key )?update(?: skip locked)?\b/g, ""],
  [/\bon conflict\b.*/g, ""],
];

const MAKERS: Readonly<Record<string, Maker>> = {
  ArrayExpression: ({ elements }) =>
    (elements as (Node | null)[])
      .filter((each) => each !== null)
      .map(({ start, end }) => ({ start, end, replacement: "...[]", change: "drop an element" })),
  AwaitExpression: ({ start }) => [cut(start, start + "await".length, "await")],
  BinaryExpression: swapOperator,
  CallExpression: ({ callee, end }) => {
    const { type, object, property } = callee as Node;
    if (type !== "MemberExpression" || !STEPS.has((property as Node)["name"])) return [];
    return [cut((object as Node).end, end, "a step of a chain")];
  },
  ConditionalExpression: ({ test }, text) => negate(test as Node, text),
  ExpressionStatement: ({ start, end, directive }) =>
    directive === undefined || directive === null
      ? [{ start, end, replacement: ";", change: "drop a statement" }]
      : [],
  IfStatement: (node, text) => {
    const { start, end, test, consequent, alternate } = node;
    const isGuard = alternate === null && isLeaving(consequent as Node);
    return [...negate(test as Node, text), ...(isGuard ? [cut(start, end, "a guard")] : [])];
  },
  Literal: ({ start, end, value }) => {
    const changed =
      typeof value === "boolean" ? !value : typeof value === "number" ? value + 1 : undefined;
    if (changed === undefined) return [];
    return [{ start, end, replacement: String(changed), change: "change a constant" }];
  },
  LogicalExpression: swapOperator,
  ObjectExpression: ({ properties }) =>
    (properties as Node[]).map(({ start, end }) => ({
      start,
      end,
      replacement: "...{}",
      change: "drop a property",
    })),
  TemplateLiteral: ({ quasis }, text) =>
    /\b(?:select|insert into|update|delete from)\b/.test(joined(quasis as Node[], text))
      ? (quasis as Node[]).flatMap((quasi) => changesOfSql(quasi, text))
      : [],
  UnaryExpression: ({ start, operator }) =>
    operator === "!" ? [cut(start, start + 1, "a negation")] : [],
  WhileStatement: ({ test }, text) => negate(test as Node, text),
};

/** Without types, which no test can notice, and without the paths of imports. */
function* nodesOf(node: object): Generator<Node> {
  const { type } = node as Node;
  if (type === "ImportDeclaration") return;
  if (type?.startsWith("TS") && !("expression" in node)) return;
  if (type !== undefined) yield node as Node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null) yield* nodesOf(child);
    }
  }
}

function cut(start: number, end: number, what: string): Mutant {
  return { start, end, replacement: "", change: `drop ${what}` };
}

/** Not where another mutant of the condition is the same. */
function negate({ type, start, end, operator }: Node, text: string): readonly Mutant[] {
  if (type === "UnaryExpression" || operator === "===" || operator === "!==") return [];
  const replacement = `!(${text.slice(start, end)})`;
  return [{ start, end, replacement, change: "negate a condition" }];
}

function swapOperator({ operator, left, right }: Node, text: string): readonly Mutant[] {
  const swapped = SWAPPED[operator as string];
  if (swapped === undefined) return [];
  const gap = (left as Node).end;
  const start = text.indexOf(operator as string, gap);
  if (start === -1 || start >= (right as Node).start) return [];
  const end = start + (operator as string).length;
  return [{ start, end, replacement: swapped, change: `${String(operator)} to ${swapped}` }];
}

function isLeaving(statement: Node): boolean {
  const last =
    statement.type === "BlockStatement" ? (statement["body"] as Node[]).at(-1) : statement;
  return /^(?:Return|Throw|Continue|Break)Statement$/.test(last?.type ?? "");
}

function joined(quasis: readonly Node[], text: string): string {
  return quasis.map(({ start, end }) => text.slice(start, end)).join("");
}

function changesOfSql({ start, end }: Node, text: string): readonly Mutant[] {
  const sql = text.slice(start, end);
  return SQL_CHANGES.flatMap(([pattern, replacement]) =>
    [...sql.matchAll(pattern)].map((match) => ({
      start: start + match.index,
      end: start + match.index + match[0].length,
      replacement,
      change: `${match[0].trim()} to ${replacement.trim() || "nothing"} in SQL`,
    })),
  );
}
