/**
 * Rules on arguments a second time, from the words of RFD D25 and what jp says it does otherwise, and from nothing else. It lists
 * what a call has at every pointer of its schema, and then looks the rules up. Knows neither links nor commands.
 */
import type { RuleConfig, RunMode } from "../../src/settings/config/index.ts";
import { isDeepEqual, type Json, type JsonObject } from "../../src/util/index.ts";

/** A parameter as a tool declares it. */
export type Parameter =
  | { readonly type: "string" | "path" | "number" | "integer" | "boolean" }
  | { readonly type: "array"; readonly items: Parameter }
  | { readonly type: "object"; readonly properties: Readonly<Record<string, Parameter>> };

export type ObjectParameter = Extract<Parameter, { readonly type: "object" }>;

export interface WrittenRule {
  readonly rule: RuleConfig;
  readonly isOfWorkspace: boolean;
  /** In `*`. */
  readonly isForAll: boolean;
}

export interface TextCall {
  readonly tool: string;
  readonly server?: string;
  readonly parameters: ObjectParameter;
  readonly arguments: JsonObject;
  /** The workspace. */
  readonly root: string;
}

/** The place of the first rule that matches, in the list given, which has the highest layer first. */
export function decideByText(rules: readonly WrittenRule[], call: TextCall): number | undefined {
  const table = tabulate(call.parameters, call.arguments);
  const ordered = [...rules.entries()].toSorted(([, a], [, b]) => rank(a) - rank(b));
  return ordered.find(([, { rule }]) => isMet(rule, call, table))?.[0];
}

function rank({ isOfWorkspace, isForAll }: WrittenRule): number {
  return (isOfWorkspace ? 2 : 0) + (isForAll ? 1 : 0);
}

interface Cell {
  readonly type: Parameter["type"];
  /** Undefined where an element of a list, or the call, has nothing there. */
  readonly value: Json | undefined;
}

type Table = ReadonlyMap<string, readonly Cell[]>;

function tabulate(parameters: ObjectParameter, args: JsonObject): Table {
  const table = new Map<string, Cell[]>();
  const queue: { pointer: string; schema: Parameter; value: Json | undefined }[] = [
    { pointer: "", schema: parameters, value: args },
  ];
  for (const { pointer, schema, value } of queue) {
    if (schema.type === "array") {
      const elements = Array.isArray(value) && value.length > 0 ? value : [undefined];
      queue.push(...elements.map((element) => ({ pointer, schema: schema.items, value: element })));
      continue;
    }
    table.set(pointer, [...(table.get(pointer) ?? []), { type: schema.type, value }]);
    if (schema.type !== "object") continue;
    for (const [name, child] of Object.entries(schema.properties)) {
      const below = `${pointer}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
      const fields = (value ?? {}) as JsonObject; // The generator makes arguments that fit.
      const own = Object.hasOwn(fields, name) ? fields[name] : undefined;
      queue.push({ pointer: below, schema: child, value: own });
    }
  }
  return table;
}

function isMet(rule: RuleConfig, call: TextCall, table: Table): boolean {
  if (rule.tool !== undefined && !fitsName(rule.tool, call.tool)) return false;
  if (rule.server !== undefined && !fitsName(rule.server, call.server)) return false;
  if (rule.arg === undefined) return true;
  const cells = table.get(rule.arg) ?? [];
  const place = (text: string) => placeIn(call.root, text);
  const met = cells.filter((cell) => cell.value !== undefined && fits(rule, cell, place)).length;
  return needsAll(rule.mode) ? met > 0 && met === cells.length : met > 0;
}

function needsAll(mode: RunMode): boolean {
  return mode === "unattended";
}

function fitsName(glob: string, name: string | undefined): boolean {
  if (name === undefined) return false;
  const [first = "", ...rest] = glob.split("*");
  if (rest.length === 0) return name === glob;
  const last = rest.at(-1) ?? "";
  let at = first.length;
  if (!name.startsWith(first)) return false;
  for (const part of rest.slice(0, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

type Place = (text: string) => string;

function fits(rule: RuleConfig, { type, value }: Cell, place: Place): boolean {
  if (typeof value === "number") {
    if (rule.minimum !== undefined) return value >= rule.minimum;
    if (rule.maximum !== undefined) return value <= rule.maximum;
    if (rule.exclusive_minimum !== undefined) return value > rule.exclusive_minimum;
    if (rule.exclusive_maximum !== undefined) return value < rule.exclusive_maximum;
  }
  const isPath = type === "path";
  const isSame = (wanted: Json) =>
    isPath && typeof wanted === "string" && typeof value === "string"
      ? place(wanted) === place(value)
      : isDeepEqual(wanted, value);
  if (rule.enum !== undefined) return rule.enum.some(isSame);
  if (rule.const !== undefined) return isSame(rule.const);
  if (typeof value !== "string") return false;
  const { pattern, prefix } = rule;
  if (pattern !== undefined) {
    const text = isPath ? place(value) : value;
    // Outside of the workspace, a pattern lets nothing run unless it begins at the root.
    const isOutside = isPath && text.startsWith("/") && !pattern.startsWith("^/");
    return !(isOutside && needsAll(rule.mode)) && new RegExp(pattern, "u").test(text);
  }
  if (prefix === undefined) return false;
  return isPath ? isBelow(place(prefix), place(value)) : value.startsWith(prefix);
}

/** Relative to the workspace, or absolute if it is outside. */
function placeIn(root: string, text: string): string {
  const segments: string[] = [];
  for (const segment of (text.startsWith("/") ? text : `${root}/${text}`).split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const full = `/${segments.join("/")}`;
  if (full === root) return ".";
  return full.startsWith(`${root}/`) ? full.slice(root.length + 1) : full;
}

/** Component by component. */
function isBelow(folder: string, file: string): boolean {
  if (folder === ".") return !file.startsWith("/");
  const names = file.split("/");
  return folder.split("/").every((name, index) => name === names[index]);
}
