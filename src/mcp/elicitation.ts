/** What a server asks with `elicitation/create`, in both generations of the protocol. */
import { type JsonObject, objectField, ShapeError, shapeOf, stringField } from "../util/index.ts";
import { type FormField, parseField } from "./form-field.ts";

/** The method by which a server asks. */
export const ELICITATION = "elicitation/create";

/** What a server asks of a person. */
export type Elicitation =
  /** Without fields it asks for no more than consent. */
  | { readonly type: "form"; readonly message: string; readonly fields: readonly FormField[] }
  /** Something to be done at an address, out of our sight. */
  | { readonly type: "url"; readonly message: string; readonly url: URL };

const MOST_FIELDS = 100;
/** An address has to be shown as a whole, to be judged. */
const LONGEST_URL = 2000;

/** Throws `ShapeError` for what cannot be asked. */
export function parseElicitation(params: unknown): Elicitation {
  const shape = shapeOf(params);
  const message = stringField(shape, "message");
  const { mode = "form" } = shape.value;
  if (mode === "url") return { type: "url", message, url: parseUrl(stringField(shape, "url")) };
  if (mode !== "form") throw new ShapeError("mode", "neither a form nor an address");
  const schema = objectField(shape, "requestedSchema");
  if (schema.value["properties"] === undefined) return { type: "form", message, fields: [] };
  const properties = objectField(schema, "properties");
  const names = Object.keys(properties.value);
  if (names.length > MOST_FIELDS) throw new ShapeError("", `more than ${MOST_FIELDS} fields`);
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
    throw new ShapeError("url", "not an address of the web");
  }
  if (url.href.length > LONGEST_URL) {
    throw new ShapeError("url", `longer than ${LONGEST_URL} characters`);
  }
  return url;
}
