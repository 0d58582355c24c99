/** Renders the OpenAPI document from the operations, so that the two cannot diverge. */
import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import * as v from "valibot";
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import type { Operation, ResponseSpec } from "./operation.ts";
import { COMMON_RESPONSES, NAMED } from "./schemas.ts";

const DESCRIPTION = `What waits for people, and what they do about it. Keys and values are those of the record.

Send a personal token (\`jp serve people add NAME\`) as \`Authorization: Bearer TOKEN\`. The page has the
token of a session instead, \`Authorization: Session TOKEN\`, which it gets by signing a nonce with a key that it never
sends. Ids in paths are percent-encoded. After a 503, wait for as many seconds as \`Retry-After\` says.`;

const CONVERSION: ConversionConfig = {
  target: "draft-2020-12",
  errorMode: "ignore",
  definitions: NAMED,
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
};

/** `path` is the operations' prefix on the server. */
export function renderOpenApi(operations: readonly Operation[], path: string): JsonObject {
  const paths = Map.groupBy(operations, (one) => one.path);
  return {
    openapi: "3.1.1",
    info: { title: "The desk of jp", version: "1", description: DESCRIPTION },
    servers: [{ url: path }],
    security: [{ token: [] }, { session: [] }],
    paths: Object.fromEntries(
      [...paths].map(([key, ones]) => [
        key,
        Object.fromEntries(ones.map((one) => [one.method.toLowerCase(), toOperation(one)])),
      ]),
    ),
    components: {
      schemas: Object.fromEntries(
        Object.entries(toJsonSchemaDefs(NAMED, CONVERSION)).map(([name, schema]) => [
          name,
          schema as JsonObject, // A JSON Schema is JSON.
        ]),
      ),
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "header", name: "authorization" },
      },
    },
  };
}

function toOperation(operation: Operation): JsonObject {
  const { id, summary, path, needs, query, body, responses, isRepeatable = false } = operation;
  const isPublic = needs === "anyone";
  const all = isPublic ? responses : { ...COMMON_RESPONSES, ...responses };
  return {
    operationId: id,
    summary,
    ...(isPublic && { security: [] }),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(query ?? {}),
      ...(isRepeatable ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body !== undefined && {
      requestBody: { required: true, content: jsonContent(toSchema(v.strictObject(body))) },
    }),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, response]) => [status, toResponse(response)]),
    ),
  };
}

const IDEMPOTENCY_KEY: JsonObject = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "The same request with the same key has the same result again, for a day or until the server stops. With another body it is refused: `idempotency_key_reused`.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

function pathParameters(path: string): readonly JsonObject[] {
  return [...path.matchAll(/\{(?<name>\w+)\}/g)].map(({ groups }) => ({
    name: groups?.["name"] ?? "",
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: NonNullable<Operation["query"]>): readonly JsonObject[] {
  // The type that a parameter's text is parsed into.
  const { properties } = toSchema(v.strictObject(query), "output");
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => {
    const { description, ...rest } = isJsonObject(schema) ? schema : {};
    return { name, in: "query", ...(description !== undefined && { description }), schema: rest };
  });
}

function toResponse({ description, schema, mediaType }: ResponseSpec): JsonObject {
  return { description, content: jsonContent(toSchema(schema), mediaType) };
}

function jsonContent(schema: JsonObject, mediaType = "application/json"): JsonObject {
  return { [mediaType]: { schema } };
}

/** Refers to the named schemas in `components`. */
function toSchema(schema: v.GenericSchema, typeMode: "input" | "output" = "input"): JsonObject {
  const json = toJsonSchema(schema, { ...CONVERSION, typeMode }) as JsonObject; // A JSON Schema is JSON.
  const { $schema: _dialect, $defs: _named, ...rest } = json;
  return rest;
}
