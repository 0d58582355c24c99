/** Finds the argument values that a rule applies to, and every way to read them. */
import path from "node:path";
import type { RuleConfig } from "../../settings/config/index.ts";
import type { ArgumentKind, ArgumentKinds } from "../../reach/executor/index.ts";
import {
  escapePointer,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  parsePointer,
} from "../../util/index.ts";
import { findPathForms } from "./path-forms.ts";

/** The value at a rule's `arg` in a call. */
export interface ArgumentValue {
  /** `text`: a string of unknown meaning. */
  readonly kind: "json" | "text" | "path" | "url" | "host" | "command";
  /** Every way to read it. Undefined if there may be others: then nothing allows it. */
  readonly exact: readonly Json[] | undefined;
  /** Includes everything in `exact`, and near matches. */
  readonly possible: readonly Json[];
}

/** `isMissing`: an element of a list on the way does not have it, or a list is empty, which may stand for anything. */
export interface FoundValues {
  readonly values: readonly ArgumentValue[];
  readonly isMissing: boolean;
}

export interface ArgumentsToMatch {
  readonly arguments: JsonObject;
  readonly kinds: ArgumentKinds;
  /** The folder that paths are relative to. */
  readonly root: string;
}

/** Descends into lists on the way, and into a list at the end. */
export async function findValues(pointer: string, call: ArgumentsToMatch): Promise<FoundValues> {
  const segments = parsePointer(pointer);
  const found = walk([{ value: call.arguments, at: "" }], segments, call.kinds);
  const values = await Promise.all(
    found.values.map(({ value, at, part }) =>
      understand(value, call, { kind: call.kinds[at], part }),
    ),
  );
  return { values, isMissing: found.isMissing };
}

/** Files outside the workspace, by real path. A path that may be anywhere counts as outside, as written. */
export async function findOutsideFiles(call: ArgumentsToMatch): Promise<readonly string[]> {
  const paths = await findPaths(call);
  const files = paths.flatMap(
    ({ exact, possible }) => exact?.filter(isAbsolute) ?? possible.slice(0, 1),
  );
  return [...new Set(files.filter((file) => typeof file === "string"))];
}

/** Every absolute path that the arguments may stand for. Undefined if they have none. */
export async function findFiles(call: ArgumentsToMatch): Promise<readonly string[] | undefined> {
  const paths = await findPaths(call);
  if (paths.length === 0) return undefined;
  return [...new Set(paths.flatMap(({ possible }) => possible.filter(isAbsolute)))];
}

async function findPaths(call: ArgumentsToMatch): Promise<readonly ArgumentValue[]> {
  const pointers = Object.keys(call.kinds).filter((at) => call.kinds[at] === "path");
  const found = await Promise.all(pointers.map((at) => findValues(at, call)));
  return found.flatMap(({ values }) => values.filter(({ kind }) => kind === "path"));
}

/** Paths in the workspace are relative to it. */
function isAbsolute(form: Json): form is string {
  return typeof form === "string" && path.isAbsolute(form);
}

interface Place {
  readonly value: Json;
  /** The pointer without list indexes. */
  readonly at: string;
  /** The part of a URL. */
  readonly part?: string;
}

function walk(
  places: readonly Place[],
  segments: readonly string[],
  kinds: ArgumentKinds,
): { readonly values: readonly Place[]; readonly isMissing: boolean } {
  let isMissing = false;
  const elementsOf = (place: Place): readonly Place[] => {
    const { value } = place;
    if (!isJsonArray(value)) return [place];
    if (value.length === 0) isMissing = true;
    return value.flatMap((element) => elementsOf({ ...place, value: element }));
  };
  const step = (list: readonly Place[], rest: readonly string[]): readonly Place[] => {
    const each = list.flatMap(elementsOf);
    const [segment, ...further] = rest;
    if (segment === undefined) return each;
    const isInList = each.length !== 1 || each[0] !== list[0];
    return step(
      each.flatMap((place) => {
        const { value, at } = place;
        if (kinds[at] === "url" && typeof value === "string" && further.length === 0) {
          return [{ ...place, part: segment }];
        }
        const member =
          isJsonObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
        if (member === undefined && isInList) isMissing = true;
        return member === undefined
          ? []
          : [{ value: member, at: `${at}/${escapePointer(segment)}` }];
      }),
      further,
    );
  };
  return { values: step(places, segments), isMissing };
}

async function understand(
  value: Json,
  { root }: ArgumentsToMatch,
  {
    kind,
    part,
  }: { readonly kind: ArgumentKinds[string] | undefined; readonly part: string | undefined },
): Promise<ArgumentValue> {
  if (typeof value !== "string" || kind === "input") {
    return { kind: "json", exact: [value], possible: [value] };
  }
  if (kind === undefined) return { kind: "text", exact: [value], possible: [value] };
  if (kind === "path") return { kind, ...(await findPathForms(root, value)) };
  if (kind === "command") return { kind, exact: [value], possible: [value] };
  return part === undefined ? wholeUrl(value) : partOfUrl(value, part);
}

function wholeUrl(text: string): ArgumentValue {
  const url = parseUrl(text);
  return {
    kind: "url",
    exact: url && [url.href],
    possible: url === undefined ? [text] : [...new Set([text, url.href])],
  };
}

function partOfUrl(text: string, part: string): ArgumentValue {
  const url = parseUrl(text);
  const read = URL_PARTS[part];
  const value = url === undefined ? undefined : read?.(url);
  const kind = part === "host" ? "host" : "json";
  return {
    kind,
    exact: value === undefined ? undefined : [value],
    possible: value === undefined ? [] : [value],
  };
}

/** The kind of a rule's argument. A part of a URL counts as the URL. */
export function kindOf(
  { arg = "" }: Pick<RuleConfig, "arg">,
  kinds: ArgumentKinds,
): ArgumentKind | undefined {
  const own = kinds[arg];
  if (own !== undefined) return own;
  return kinds[arg.replace(/\/[^/]*$/, "")] === "url" ? "url" : undefined;
}

/** The parts of a URL that a rule can name. */
export const URL_PARTS: Readonly<Record<string, (url: URL) => Json>> = {
  scheme: ({ protocol }) => protocol.replace(/:$/, ""),
  host: ({ hostname }) => hostname.replace(/\.$/, ""),
  port: ({ port, protocol }) => (port === "" ? (protocol === "http:" ? 80 : 443) : Number(port)),
  path: ({ pathname }) => pathname,
  query: ({ search }) => search.replace(/^\?/, ""),
};

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
