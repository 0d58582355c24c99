/**
 * Schemas of other libraries, such as zod, valibot and arktype. All of them have the Standard Schema interface for
 * validation. They differ in how they produce a JSON Schema: docs/decisions/standard-schema.md.
 */
import { isJsonObject, JpError, type JsonObject, messageOf } from "../../util/index.ts";

/** A schema of zod, valibot, arktype or any other library with the Standard Schema interface. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Only for the compiler. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Newer libraries convert their schemas themselves. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** The result of a `StandardSchema`'s `validate`. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One problem of a value, and where it is. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The value with the schema's defaults and transformations, or its problems, one per line. */
export type Validation<Output> =
  | { readonly ok: true; readonly value: Output }
  | { readonly ok: false; readonly problems: readonly string[] };

/** True for a schema of a library, false for a JSON Schema. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  // arktype's schemas are functions.
  const canHaveFields = typeof value === "object" || typeof value === "function";
  return canHaveFields && value !== null && "~standard" in value;
}

/**
 * The JSON Schema of the values that a schema accepts. Throws a `JpError` with the code
 * `schema_unsupported` if there is none, or if the package that converts it is not installed.
 */
export function toJsonSchema(schema: StandardSchema): JsonObject {
  const { vendor } = schema["~standard"];
  const converted = convert(schema);
  if (!isJsonObject(converted)) {
    throw unsupported(`The schema from ${vendor} did not produce a JSON Schema.`);
  }
  const { $schema: _dialect, ...rest } = converted;
  return rest;
}

/** Checks a value. Also applies the schema's defaults and transformations. */
export async function validateWith<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<Validation<Output>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, problems: result.issues.map(describeIssue) };
}

function describeIssue({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length === 0 ? message : `\`${keys.join(".")}\`: ${message}`;
}

function convert(schema: StandardSchema): unknown {
  const { vendor, jsonSchema } = schema["~standard"];
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
    if (isOlderArkType(schema)) return schema.in.toJsonSchema();
    const converter = findConverter(schema);
    return load(converter)(schema, converter.options);
  } catch (error) {
    if (error instanceof JpError) throw error;
    throw unsupported(`Cannot convert a schema from ${vendor} to JSON Schema: ${messageOf(error)}`);
  }
}

/** Older versions of arktype convert their schemas with a method. */
function isOlderArkType(schema: object): schema is { in: { toJsonSchema: () => unknown } } {
  return "in" in schema && typeof schema.in === "function" && "toJsonSchema" in schema.in;
}

/** A function of a package that the user has installed. */
interface Converter {
  readonly module: string;
  readonly function: string;
  readonly options: object;
  /** The package to install if the module is missing. */
  readonly package: string;
}

const ZOD_3: Converter = {
  module: "zod-to-json-schema",
  function: "zodToJsonSchema",
  // References to other properties are valid, but most providers do not accept them.
  options: { target: "jsonSchema2019-09", $refStrategy: "none", pipeStrategy: "input" },
  package: "zod-to-json-schema",
};

/** For 4.0 and 4.1, and for `zod/v4` of 3.25. Later versions convert their schemas themselves. */
const ZOD_4: Converter = {
  module: "zod/v4/core",
  function: "toJSONSchema",
  options: { target: "draft-2020-12", io: "input" },
  package: "zod@latest",
};

const VALIBOT: Converter = {
  module: "@valibot/to-json-schema",
  function: "toJsonSchema",
  options: { target: "draft-2020-12", typeMode: "input", overrideAction: skipUnsupportedAction },
  package: "@valibot/to-json-schema",
};

/** A check that JSON Schema cannot express, such as a function, is left to the schema itself. */
function skipUnsupportedAction(context: {
  readonly jsonSchema: object;
  readonly errors?: readonly string[];
}): object | undefined {
  return context.errors === undefined ? undefined : context.jsonSchema;
}

function findConverter(schema: StandardSchema): Converter {
  const { vendor } = schema["~standard"];
  if (vendor === "zod") return "_zod" in schema ? ZOD_4 : ZOD_3;
  if (vendor === "valibot") return VALIBOT;
  throw unsupported(`jp cannot convert schemas from ${vendor} to JSON Schema.`);
}

type Convert = (schema: StandardSchema, options: object) => unknown;

/**
 * Loads a converter when a schema needs it, synchronously, so that `defineTool` can return a tool. It is resolved from
 * this file: package.json lists these packages as optional peer dependencies.
 */
function load(converter: Converter): Convert {
  // Not an import: everything else in this folder also runs without Node's modules.
  const { createRequire } = process.getBuiltinModule("node:module");
  try {
    // The known exports of these modules.
    const found = createRequire(import.meta.url)(converter.module) as Record<string, Convert>;
    const convertSchema = found[converter.function];
    if (convertSchema === undefined) throw new Error(`it has no function ${converter.function}`);
    return convertSchema;
  } catch (cause) {
    const message = `Cannot load ${converter.module}, which converts this schema to JSON Schema.`;
    const hint = `Install it: npm install ${converter.package}`;
    throw new JpError("schema_unsupported", message, { cause, hint });
  }
}

function unsupported(message: string): JpError {
  const hint = "Use types that JSON can represent, or pass a JSON Schema instead.";
  return new JpError("schema_unsupported", message, { hint });
}
