// Stands in for zod in the bundled packages of providers; see build.mjs. They describe options and replies with hundreds
// of schemas, most of them while they load. Here a schema is only noted. It is made, and zod is loaded, when it is first
// used: for most of them after the request has left, or never.

let parts;
/** Loaded synchronously, and not before it is called. */
const zod = () => (parts ??= require("./zod-parts.mjs"));

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
  "partialRecord",
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
  "catchall",
  "default",
  "describe",
  "extend",
  "gt",
  "gte",
  "int",
  "loose",
  "lt",
  "lte",
  "max",
  "merge",
  "meta",
  "min",
  "nonempty",
  "nonnegative",
  "nullable",
  "nullish",
  "omit",
  "optional",
  "or",
  "partial",
  "passthrough",
  "pick",
  "pipe",
  "positive",
  "readonly",
  "refine",
  "regex",
  "strict",
  "superRefine",
  "transform",
  "trim",
  "url",
];

class Noted {
  #make;
  #schema;

  constructor(make) {
    this.#make = make;
  }

  get schema() {
    return (this.#schema ??= this.#make());
  }

  /** As a schema of the AI SDK does it. The packages would make one of this for every chunk of a reply. */
  validate(value) {
    const { success, data, error } = parse(this, value);
    return success ? { success, value: data } : { success, error };
  }

  /** Only for tools that a vendor runs, which jp does not use. */
  get jsonSchema() {
    return exports.toJSONSchema(this);
  }
}

Noted.prototype[Symbol.for("vercel.ai.schema")] = true;

for (const name of METHODS) {
  Noted.prototype[name] = function (...args) {
    return new Noted(() => this.schema[name](...args.map(made)));
  };
}
/** Packages look for these to know a schema. */
for (const name of ["_zod", "~standard"]) {
  Object.defineProperty(Noted.prototype, name, {
    get() {
      return this.schema[name];
    },
  });
}
/** Any other use of a schema makes it. */
const others = {
  get: (_, name, noted) => (noted instanceof Noted ? noted.schema[name] : undefined),
};
Object.setPrototypeOf(Noted.prototype, new Proxy(Object.prototype, others));

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

/** Compiling a schema takes longer than it saves in most replies. */
const PARSING = { jitless: true };

/** Synchronous, since no package has a schema that waits for something. */
function parse(schema, value) {
  if (value?.[VALID] === true) return { success: true, data: value };
  return zod().safeParse(made(schema), value, PARSING);
}

const z = { lazy: (get) => new Noted(() => zod().lazy(() => made(get()))) };
for (const name of MAKERS) {
  z[name] = (...args) => new Noted(() => zod()[name](...args.map(made)));
}

exports.z = z;
exports.safeParseAsync = async (schema, value) => parse(schema, value);
exports.toJSONSchema = (schema, options) => zod().toJSONSchema(made(schema), options);
/** `zod-parts.mjs` sets the language. */
exports.config = () => ({ localeError: true });
exports.default = () => ({});
