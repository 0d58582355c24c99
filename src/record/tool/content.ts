/**
 * Typed content of tool results, as in MCP: blocks beyond plain text, their audience, and their text for a model or a
 * person.
 */
import {
  arrayField,
  base64Size,
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

/** Who gets a block: the person, the model, or both if a block does not say. */
export type Audience = "user" | "assistant";

/** MCP's annotations of a block. jp acts on `audience`, and keeps the others. */
export interface Annotations {
  readonly audience?: readonly Audience[];
  readonly priority?: number;
  readonly lastModified?: string;
}

/** Text. `mimeType: "text/markdown"` is rendered where a person reads it. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
}

/** Content with an address: a file, for example. Its text goes to the model in a code block. */
export interface ResourceBlock {
  readonly type: "resource";
  readonly resource: Resource;
  /** The text for the model instead of jp's own. */
  readonly formatted?: string;
  readonly annotations?: Annotations;
}

/** The content of a resource block: `text`, or bytes as base64 in `blob`. */
export interface Resource {
  readonly uri: string;
  readonly mimeType?: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly text?: string;
  readonly blob?: string;
}

/** An address without the content. */
export interface ResourceLinkBlock {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name?: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
}

/** An image or a sound, as base64. Models whose provider accepts it get the file itself. */
export interface MediaBlock {
  readonly type: "image" | "audio";
  readonly data: string;
  readonly mimeType: string;
  readonly annotations?: Annotations;
}

/** A block of a type that this version does not know, or that lacks a field. It is kept as it is. */
export interface UnknownBlock {
  readonly type: "unknown";
  readonly block: JsonObject;
}

/** One piece of a tool's result. Fields that jp does not know are kept. */
export type ContentBlock =
  | TextBlock
  | ResourceBlock
  | ResourceLinkBlock
  | MediaBlock
  | UnknownBlock;

/** A file in a result, for models that accept files there. */
export interface ResultFile {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** The blocks of a `content` array. Undefined if it is not a list of objects with a `type`. */
export function findBlocks(value: Json | undefined): readonly JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const blocks: readonly Json[] = value;
  return blocks.every(isTyped) ? blocks : undefined;
}

function isTyped(block: Json): block is JsonObject {
  return isJsonObject(block) && typeof block["type"] === "string";
}

/** Reads a block. An invalid one is kept as unknown, so that the others still count. */
export function parseBlock(block: JsonObject): ContentBlock {
  try {
    assertBlock(shapeOf(block));
    return block as unknown as ContentBlock; // Checked; other fields are kept.
  } catch (error) {
    if (error instanceof ShapeError) return { type: "unknown", block };
    throw error;
  }
}

/** The JSON of a block, as tools and the record write it. */
export function blockToJson(block: ContentBlock): JsonObject {
  return block.type === "unknown" ? block.block : (block as unknown as JsonObject); // Contains only JSON.
}

function assertBlock(shape: Shape): void {
  if (isTooDeep(shape.value)) throw new ShapeError("", "nested too deeply");
  assertAnnotations(shape);
  switch (shape.value["type"]) {
    case "text":
      stringField(shape, "text");
      optionalString(shape, "mimeType");
      return;
    case "image":
    case "audio":
      stringField(shape, "data");
      stringField(shape, "mimeType");
      return;
    case "resource_link":
      stringField(shape, "uri");
      optionalString(shape, "name");
      return;
    case "resource": {
      optionalString(shape, "formatted");
      const resource = objectField(shape, "resource");
      stringField(resource, "uri");
      optionalString(resource, "mimeType");
      const text = optionalString(resource, "text");
      if (text === undefined) stringField(resource, "blob");
      return;
    }
    default:
      throw mismatch("type", "a known type", shape.value["type"]);
  }
}

function assertAnnotations(shape: Shape): void {
  if (shape.value["annotations"] === undefined) return;
  const annotations = objectField(shape, "annotations");
  if (annotations.value["audience"] !== undefined) arrayField(annotations, "audience");
}

/** Whether the block is for this audience. Without annotations, it is for both. */
export function isFor(audience: Audience, block: ContentBlock): boolean {
  const named = audienceOf(block);
  return named === undefined || named.includes(audience);
}

/** Undefined if the block is for both. */
export function audienceOf(block: ContentBlock): readonly Audience[] | undefined {
  return block.type === "unknown" ? undefined : block.annotations?.audience;
}

/** Whether the text alone is complete, so that a record needs no blocks. */
export function isPlainText(block: ContentBlock): block is TextBlock {
  return block.type === "text" && Object.keys(block).every((key) => PLAIN_KEYS.has(key));
}

const PLAIN_KEYS: ReadonlySet<string> = new Set(["type", "text"]);

const SUCCEEDED = "Tool executed successfully.";
const FAILED = "Tool failed.";

/** The text that a model gets. If nothing is for the model, it says only how the call ended. */
export function textForModel(blocks: readonly ContentBlock[], isError: boolean): string {
  const own = blocks.filter((block) => isFor("assistant", block));
  if (own.length === 0 && blocks.length > 0) return isError ? FAILED : SUCCEEDED;
  return joinTexts(own.map(modelText));
}

/** The text that a person gets. */
export function textForUser(blocks: readonly ContentBlock[]): string {
  return textOfBlocks(blocks.filter((block) => isFor("user", block)));
}

/** The text of all blocks, for either audience, as a person reads it. */
export function textOfBlocks(blocks: readonly ContentBlock[]): string {
  return joinTexts(blocks.map(userText));
}

/** The files among the blocks that a model may get. */
export function filesForModel(blocks: readonly ContentBlock[]): readonly ResultFile[] {
  return blocks
    .filter((block) => isFor("assistant", block))
    .flatMap((block) => {
      if (block.type === "image" || block.type === "audio") {
        return [{ mediaType: block.mimeType, data: block.data }];
      }
      if (block.type !== "resource") return [];
      const { blob, mimeType } = block.resource;
      return blob === undefined || mimeType === undefined
        ? []
        : [{ mediaType: mimeType, data: blob }];
    });
}

/** Joins the non-empty texts as paragraphs. */
export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

function modelText(block: ContentBlock): string {
  if (block.type !== "resource") return userText(block);
  const { formatted, resource } = block;
  if (formatted !== undefined) return formatted;
  if (resource.text === undefined) return userText(block);
  return `${resource.uri}\n${toCodeBlock(resource.text, languageOf(resource.mimeType))}`;
}

function userText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return describeBytes(block.type, block.mimeType, block.data);
    case "resource_link":
      return block.name === undefined ? block.uri : `${block.name} (${block.uri})`;
    case "resource": {
      const { uri, text, mimeType, blob = "" } = block.resource;
      return text ?? describeBytes(`resource ${uri}`, mimeType, blob);
    }
    case "unknown":
      return `[content of unknown type ${JSON.stringify(block.block["type"])}]`;
    default:
      return block satisfies never;
  }
}

function describeBytes(what: string, mimeType: string | undefined, base64: string): string {
  return `[${[what, mimeType ?? "unknown type", `${base64Size(base64) ?? 0} bytes`].join(", ")}]`;
}

/** A fence longer than any in the text, so that the text cannot end its own code block. */
export function codeFence(text: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  return "`".repeat(longest + 1);
}

function toCodeBlock(text: string, language: string): string {
  const fence = codeFence(text);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** Names of languages in code blocks that differ from the MIME type. */
const LANGUAGES: Readonly<Record<string, string>> = {
  plain: "",
  javascript: "js",
  ecmascript: "js",
  typescript: "ts",
  rust: "rs",
  python: "py",
  shellscript: "sh",
  sh: "sh",
  svg: "xml",
};

/** `text/x-rust` and `text/rust` are the same, and `application/problem+json` is JSON. */
function languageOf(mimeType = "text/plain"): string {
  const [subtype = ""] = (mimeType.split("/")[1] ?? "").split(";");
  const name = (subtype.split("+").at(-1) ?? "").trim().replace(/^x-/, "").toLowerCase();
  return LANGUAGES[name] ?? (/^[a-z0-9-]+$/.test(name) ? name : "");
}
