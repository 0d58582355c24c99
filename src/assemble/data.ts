/** Messages that ask for data: the schemas programs pass, and how a turn uses them. */
import type { DataValidator, TurnMessage } from "../core/agent/index.ts";
import { explainSchema } from "../reach/executor/index.ts";
import {
  isStandardSchema,
  type StandardSchema,
  toJsonSchema,
  validateWith,
} from "../record/tool/index.ts";
import { isJsonObject, JpError, type Json, type JsonObject } from "../util/index.ts";

/** The schema of the requested data: a JSON Schema, or a schema from zod, valibot, arktype or a similar library. */
export type DataSchema = JsonObject | StandardSchema;

/** The user's message. */
export interface Message<
  Schema extends DataSchema | undefined = DataSchema | undefined,
> extends Omit<TurnMessage, "schema" | "isChecked" | "undone"> {
  /**
   * Asks for data that matches this schema instead of text. jp checks the answer. If it does not match, jp tells the
   * model what is wrong and asks again, once.
   */
  readonly schema?: Schema;
}

/** The type of the data: a library schema's output, any JSON for a JSON Schema, else undefined. */
export type DataOf<Schema> =
  Schema extends StandardSchema<infer Output> ? Output : Schema extends object ? Json : undefined;

/** A message with a JSON Schema, and any further checks of its data. */
interface CheckedMessage {
  readonly message: TurnMessage;
  readonly check: DataCheck;
}

interface DataCheck {
  readonly validateData?: DataValidator;
}

/**
 * Throws `invalid_message`, `schema_unsupported`, and `invalid_schema` before the model is asked for data that cannot
 * be checked.
 */
export async function toCheckedMessage(given: string | Message): Promise<CheckedMessage> {
  if (typeof given === "string") return { message: { content: given }, check: {} };
  assertMessage(given);
  // Field by field: extra fields from a client must not get into the record.
  const { schema, content, author, files, replacesTurn = false } = given;
  const message = {
    content,
    ...(author && { author }),
    ...(files && { files }),
    ...(replacesTurn && { replacesTurn: true }),
  };
  if (schema === undefined) return { message, check: {} };
  const jsonSchema = isStandardSchema(schema) ? toJsonSchema(schema) : schema;
  await assertSchema(jsonSchema);
  return { message: { ...message, schema: jsonSchema }, check: toDataCheck(schema) };
}

/** A JSON Schema needs no check here: it is checked from the record. */
export function toDataCheck(schema: DataSchema | undefined): DataCheck {
  return isStandardSchema(schema) ? { validateData: (data) => validateWith(schema, data) } : {};
}

/** Untyped programs may pass anything, such as a client's input. It could not be read back from the record. */
function assertMessage(given: unknown): void {
  const message = isJsonObject(given) ? given : {};
  const { content, author, files } = message;
  const isText = typeof content === "string" && typeof (author ?? "") === "string";
  if (isText && Array.isArray(files ?? [])) return;
  throw new JpError(
    "invalid_message",
    "A message is text, or an object whose content and author are text and whose files are a list.",
  );
}

async function assertSchema(schema: JsonObject): Promise<void> {
  const problem = isJsonObject(schema) ? (await explainSchema(schema))?.message : "not an object.";
  if (problem === undefined) return;
  throw new JpError("invalid_schema", `The schema of the message is not valid: ${problem}`);
}
