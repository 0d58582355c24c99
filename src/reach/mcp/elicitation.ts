/** Parses `elicitation/create` requests of a server, in both generations of the protocol. */
import {
  arrayField,
  fieldPath,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  mismatch,
  objectField,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** The method of a server's question to a person. */
export const ELICITATION = "elicitation/create";

/** A server's question to a person. */
export type Elicitation =
  /** Without fields it only asks for consent. */
  | { readonly type: "form"; readonly message: string; readonly fields: readonly FormField[] }
  /** Asks to do something in a browser. */
  | { readonly type: "url"; readonly message: string; readonly url: URL };

const MAX_FIELDS = 100;
const MAX_OPTIONS = 500;
/** A URL must be shown whole to be judged. */
const MAX_URL_LENGTH = 2000;

/** Throws `ShapeError` for an unsupported question. */
export function parseElicitation(params: unknown): Elicitation {
  const shape = shapeOf(params);
  const message = stringField(shape, "message");
  const { mode = "form" } = shape.value;
  if (mode === "url") return { type: "url", message, url: parseUrl(stringField(shape, "url")) };
  if (mode !== "form") throw new ShapeError("mode", "neither form nor url");
  const schema = objectField(shape, "requestedSchema");
  if (schema.value["properties"] === undefined) return { type: "form", message, fields: [] };
  const properties = objectField(schema, "properties");
  const names = Object.keys(properties.value);
  if (names.length > MAX_FIELDS) throw new ShapeError("", `more than ${MAX_FIELDS} fields`);
  const required = requiredOf(schema.value);
  const fields = names.map((name) => parseField(properties, name, required.has(name)));
  return { type: "form", message, fields };
}

function requiredOf({ required }: JsonObject): ReadonlySet<unknown> {
  return new Set(Array.isArray(required) ? required : []);
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new ShapeError("url", "not an http or https URL");
  }
  if (url.href.length > MAX_URL_LENGTH) {
    throw new ShapeError("url", `longer than ${MAX_URL_LENGTH} characters`);
  }
  return url;
}

/** One field of a server's form. Its texts are the server's. */
export interface FormField {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly isRequired: boolean;
  /** Whether it asks for a password or the like, judged by its name and format. */
  readonly isSecret: boolean;
  readonly kind: FieldKind;
  /** JSON Schema of its value: only the keywords that the protocol knows. */
  readonly schema: JsonObject;
  /** As the server gave it; it may not be valid. */
  readonly default?: Json;
}

type FieldKind =
  | { readonly type: "text" | "number" | "integer" | "boolean" }
  | {
      readonly type: "choice";
      readonly options: readonly FieldOption[];
      readonly isMultiple: boolean;
    };

interface FieldOption {
  readonly value: string;
  readonly title?: string;
}

/** The keywords to check a value of each kind against. */
const LIMITS = {
  text: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: [],
  choice: ["minItems", "maxItems"],
} as const satisfies Record<FieldKind["type"], readonly string[]>;

/** Throws `ShapeError` for a field outside the protocol. */
function parseField(properties: Shape, name: string, isRequired: boolean): FormField {
  const shape = objectField(properties, name);
  const kind = parseKind(shape);
  const title = optionalString(shape, "title");
  const description = optionalString(shape, "description");
  const suggested = shape.value["default"];
  const mayBeSecret = kind.type !== "choice" && kind.type !== "boolean";
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    isRequired,
    isSecret: mayBeSecret && asksForSecret(name, shape.value),
    kind,
    schema: { ...typeOf(kind), ...limitsOf(shape.value, kind.type) },
    ...(suggested != null && !isTooDeep(suggested) && { default: suggested }),
  };
}

function parseKind(shape: Shape): FieldKind {
  const { type } = shape.value;
  if (type === "array") {
    const options = findOptions(objectField(shape, "items"));
    if (options !== undefined) return { type: "choice", options, isMultiple: true };
  }
  const options = findOptions(shape);
  if (options !== undefined && (type === "string" || type === undefined)) {
    return { type: "choice", options, isMultiple: false };
  }
  switch (type) {
    case "string":
      return { type: "text" };
    case "number":
    case "integer":
    case "boolean":
      return { type };
    default:
      throw mismatch(fieldPath(shape, "type"), "a string, a number, true or false, a choice", type);
  }
}

/** Reads `enum`, `oneOf` or `anyOf`; undefined if it is not a choice. */
function findOptions(shape: Shape): readonly FieldOption[] | undefined {
  const { value, path } = shape;
  if (value["enum"] !== undefined) {
    const names = value["enumNames"] === undefined ? [] : arrayField(shape, "enumNames");
    return distinct(
      path,
      arrayField(shape, "enum").map((each, index) => toOption(path, each, names[index])),
    );
  }
  const key = ["oneOf", "anyOf"].find((each) => value[each] !== undefined);
  if (key === undefined) return undefined;
  return distinct(
    path,
    arrayField(shape, key).map((each) => {
      if (!isJsonObject(each)) throw mismatch(fieldPath(shape, key), "objects", each);
      return toOption(path, each["const"], each["title"]);
    }),
  );
}

function toOption(path: string, value: Json | undefined, title: Json | undefined): FieldOption {
  if (typeof value !== "string") throw mismatch(path, "choices that are strings", value);
  return { value, ...(typeof title === "string" && title !== value && { title }) };
}

function distinct(path: string, options: readonly FieldOption[]): readonly FieldOption[] {
  if (options.length === 0) throw new ShapeError(path, "has no choices");
  if (options.length > MAX_OPTIONS) throw new ShapeError(path, `more than ${MAX_OPTIONS} choices`);
  const values = options.map(({ value }) => value);
  return options.filter(({ value }, index) => values.indexOf(value) === index);
}

function typeOf(kind: FieldKind): JsonObject {
  if (kind.type !== "choice") return { type: kind.type === "text" ? "string" : kind.type };
  const item = { type: "string", enum: kind.options.map(({ value }) => value) };
  return kind.isMultiple ? { type: "array", items: item, uniqueItems: true } : item;
}

/** The protocol's formats. Checking others could take forever. */
const FORMATS: ReadonlySet<Json | undefined> = new Set(["email", "uri", "date", "date-time"]);

function limitsOf(schema: JsonObject, type: FieldKind["type"]): JsonObject {
  return Object.fromEntries(
    LIMITS[type].flatMap((key): [string, Json][] => {
      const limit = schema[key];
      const isUsable =
        key === "format"
          ? FORMATS.has(limit)
          : typeof limit === (key === "pattern" ? "string" : "number");
      return limit !== undefined && isUsable ? [[key, limit]] : [];
    }),
  );
}

/** Matched against a name that `wordsOf` has split. */
const SECRET_WORDS = new RegExp(
  String.raw`\b(?:${[
    "pass ?words?|passwd|pwd|pass ?phrases?|pass ?codes?",
    "secrets?|credentials?|token", // Not `tokens`, which is usually a number.
    "(?:api|access|private|secret|encryption|recovery|seed) ?(?:keys?|phrases?|codes?)",
    "ssn|social security",
    "(?:credit|debit|card) ?(?:card|numbers?|no)|cvv|cvc|iban|pin|pins|otp|one time codes?",
  ].join("|")})\b`,
);

export function asksForSecret(name: string, schema: JsonObject): boolean {
  const { format, writeOnly, title } = schema;
  if (format === "password" || writeOnly === true) return true;
  return [name, title].some((text) => typeof text === "string" && SECRET_WORDS.test(wordsOf(text)));
}

/** `userPassword`, `user-password` and `USER_PASSWORD` alike become `user password`. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .toLowerCase();
}
