// Stands in for zod in the bundled packages of providers; see build.mjs. They describe options and replies with hundreds
// of schemas, most of them while they load. Here a schema is only noted. It is made, and zod is loaded, when it is first
// used: for most of them after the request has left, or never.

/** Loaded synchronously, and not before it is called. */
const zod = () => require("./zod-parts.mjs");

/** Marks options that our own code has made, and that are known to be valid: see `dialect.ts`. */
const VALID = Symbol.for("jp-ts.valid-options");

/** The functions of zod that the packages make schemas with. */
const MAKERS = [
  "any",
  "array",
  "boolean",
  "discriminatedUnion",
  "enum",
  "intersection",
  "json",
  "literal",
  "looseObject",
  "never",
  "null",
  "number",
  "object",
  "record",
  "strictObject",
  "string",
  "tuple",
  "union",
  "unknown",
];

/** Methods of a schema that return another one. */
const METHODS = [
  "and",
  "array",
  "catch",
  "default",
  "describe",
  "extend",
  "int",
  "loose",
  "max",
  "meta",
  "min",
  "nullable",
  "nullish",
  "optional",
  "or",
  "passthrough",
  "pipe",
  "refine",
  "regex",
  "strict",
  "transform",
];

/** What else is done with a schema. */
const USES = ["_zod", "_def", "shape", "~standard", "parse", "safeParse", "safeParseAsync"];

class Noted {
  #make;
  #schema;

  constructor(make) {
    this.#make = make;
  }

  get schema() {
    return (this.#schema ??= this.#make());
  }
}

for (const name of METHODS) {
  Noted.prototype[name] = function (...args) {
    return new Noted(() => this.schema[name](...args.map(made)));
  };
}
for (const name of USES) {
  Object.defineProperty(Noted.prototype, name, {
    get() {
      return this.schema[name];
    },
  });
}

/** The schema itself, also within lists and plain objects. */
function made(value) {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Noted) return value.schema;
  if (Array.isArray(value)) return value.map(made);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy = {};
  for (const key in value) copy[key] = made(value[key]);
  return copy;
}

const z = { lazy: (get) => new Noted(() => zod().lazy(() => made(get()))) };
for (const name of MAKERS) {
  z[name] = (...args) => new Noted(() => zod()[name](...args.map(made)));
}

exports.z = z;
exports.safeParseAsync = async (schema, value) =>
  value?.[VALID] === true
    ? { success: true, data: value }
    : zod().safeParseAsync(made(schema), value);
exports.toJSONSchema = (schema, options) => zod().toJSONSchema(made(schema), options);
/** `zod-parts.mjs` sets the language. */
exports.config = () => ({ localeError: true });
exports.default = () => ({});
