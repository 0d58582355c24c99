/** Describes a server's tool to a model: its text and parameters, with the config's overrides. */
import type { ParameterConfig, ToolSettings } from "../../../settings/config/index.ts";
import { toParametersSchema } from "../parameters-schema.ts";
import { McpError, type RemoteTool } from "../../mcp/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import type { ToolDescription } from "../port.ts";

type Texts = Pick<ToolDescription, "summary" | "description">;

/** Without a configured summary, the first sentence is the summary; the rest is available on demand. */
export function describeRemoteTool(
  settings: Pick<ToolSettings, "summary" | "description">,
  remote: RemoteTool,
): Texts {
  const { summary, description } = settings;
  const serverText = remote.description?.trim() ?? "";
  const full = description === undefined ? serverText : withServerText(description, serverText);
  const { sentence, rest } =
    summary === undefined
      ? firstSentence(full)
      : { sentence: withServerText(summary, serverText), rest: full };
  return {
    summary: sentence === "" ? remote.name : sentence,
    ...(rest !== "" && { description: rest }),
  };
}

type Parameters = Readonly<Record<string, ParameterConfig>>;

/** Required parameters stay required. Throws `mcp_unknown_parameter`. */
export function mergeParameters(
  tool: string,
  inputSchema: JsonObject,
  overrides: Parameters,
): JsonObject {
  const own = membersOf(inputSchema);
  const changed = toParametersSchema(overrides);
  const properties = { ...own };
  for (const [name, schema] of Object.entries(membersOf(changed))) {
    if (!Object.hasOwn(own, name)) throw unknownParameter(tool, name, Object.keys(own));
    properties[name] = override(own[name], schema);
  }
  const required = [...new Set([...namesIn(inputSchema), ...namesIn(changed)])];
  return { ...inputSchema, properties, ...(required.length > 0 && { required }) };
}

/** Overrides keyword by keyword. With other properties, the server's rules about its own no longer apply. */
function override(own: Json | undefined, changed: Json): Json {
  if (!isJsonObject(changed)) return changed;
  const before = isJsonObject(own) ? own : {};
  const { required: _, additionalProperties: __, ...withoutMembers } = before;
  const kept = Object.hasOwn(changed, "properties") ? withoutMembers : before;
  return { ...kept, ...withServerDescriptions(changed, own) };
}

/** Inserts the server's text into descriptions, at every depth. */
function withServerDescriptions(changed: JsonObject, own: Json | undefined): JsonObject {
  const before = isJsonObject(own) ? own : {};
  const { description, items, properties } = changed;
  const serverText = before["description"];
  return {
    ...changed,
    ...(typeof description === "string" && {
      description: withServerText(description, typeof serverText === "string" ? serverText : ""),
    }),
    ...(isJsonObject(items) && { items: withServerDescriptions(items, before["items"]) }),
    ...(isJsonObject(properties) && {
      properties: membersWithServerDescriptions(properties, before),
    }),
  };
}

function membersWithServerDescriptions(properties: JsonObject, before: JsonObject): JsonObject {
  const own = membersOf(before);
  const entries = Object.entries(properties).map(([name, schema]): [string, Json] => [
    name,
    isJsonObject(schema) ? withServerDescriptions(schema, own[name]) : schema,
  ]);
  return Object.fromEntries(entries);
}

function membersOf({ properties }: JsonObject): Readonly<Record<string, Json>> {
  return isJsonObject(properties) ? properties : {};
}

function namesIn({ required }: JsonObject): readonly Json[] {
  return isJsonArray(required) ? required : [];
}

function unknownParameter(tool: string, name: string, known: readonly string[]): McpError {
  return new McpError(
    "mcp_unknown_parameter",
    `conversation.tools.${tool}.parameters.${name} is not a parameter of the tool.`,
    {
      hint:
        known.length === 0 ? "The tool has no parameters." : `Its parameters: ${known.join(", ")}`,
    },
  );
}

const PLACEHOLDER = /\{\{\s*description\s*\}\}/g;

function withServerText(text: string, serverText: string): string {
  return text.replaceAll(PLACEHOLDER, () => serverText);
}

export interface SplitText {
  /** A single line. */
  readonly sentence: string;
  /** Empty if there is nothing else. */
  readonly rest: string;
}

const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|no|resp)\.$/i;

/** The end of a paragraph or of a list item ends a sentence, too. */
export function firstSentence(text: string): SplitText {
  const whole = text.trim();
  const paragraph = whole.split(/\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)])\s)/, 1)[0] ?? "";
  // A full stop before a capital letter, a digit or a symbol; not the one in "e.g. this".
  const end = [...paragraph.matchAll(/[.!?]["')\]]*(?=\s+[^\s\p{Ll}])/gu)]
    .map(({ index, 0: mark }) => index + mark.length)
    .find((position) => !ABBREVIATION.test(paragraph.slice(0, position)));
  const sentence = paragraph.slice(0, end ?? paragraph.length);
  return {
    sentence: sentence.replaceAll(/\s+/g, " ").trim(),
    rest: whole.slice(sentence.length).trim(),
  };
}
