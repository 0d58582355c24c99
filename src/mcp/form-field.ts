/** One field of a form, as its server describes it: foreign text, within limits. */
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
} from "../util/index.ts";
import { asksForSecret } from "./secret-field.ts";

/** One field of a form that a server asks to be filled in. */
export interface FormField {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly isRequired: boolean;
  /** Whether it asks for something that is nobody else's business, as far as its name tells. */
  readonly isSecret: boolean;
  readonly kind: FieldKind;
  /** JSON Schema of its value: only the keywords that the protocol knows. */
  readonly schema: JsonObject;
  /** As the server gave it: it need not fit. */
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

const MOST_OPTIONS = 500;

/** By kind, what a value is checked against. */
const LIMITS = {
  text: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: [],
  choice: ["minItems", "maxItems"],
} as const satisfies Record<FieldKind["type"], readonly string[]>;

/** Throws `ShapeError` for a field that the protocol does not know. */
export function parseField(properties: Shape, name: string, isRequired: boolean): FormField {
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

/** The three ways there are to list them; undefined if it is no choice. */
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
  if (options.length === 0) throw new ShapeError(path, "there is nothing to choose from");
  if (options.length > MOST_OPTIONS)
    throw new ShapeError(path, `more than ${MOST_OPTIONS} choices`);
  const values = options.map(({ value }) => value);
  return options.filter(({ value }, index) => values.indexOf(value) === index);
}

function typeOf(kind: FieldKind): JsonObject {
  if (kind.type !== "choice") return { type: kind.type === "text" ? "string" : kind.type };
  const item = { type: "string", enum: kind.options.map(({ value }) => value) };
  return kind.isMultiple ? { type: "array", items: item, uniqueItems: true } : item;
}

function limitsOf(schema: JsonObject, type: FieldKind["type"]): JsonObject {
  return Object.fromEntries(
    LIMITS[type].flatMap((key): [string, Json][] => {
      const limit = schema[key];
      const isUsable =
        typeof limit === (key === "pattern" || key === "format" ? "string" : "number");
      return limit !== undefined && isUsable ? [[key, limit]] : [];
    }),
  );
}
