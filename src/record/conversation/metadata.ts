/** The contents of `metadata.json`. Unknown keys survive a round trip. */
import {
  isJsonObject,
  type JsonObject,
  mismatch,
  optionalString,
  shapeOf,
  unknownFields,
} from "../../util/index.ts";
import { parseTimestamp, type Timestamp } from "./timestamp.ts";

/** Title, times and labels of a conversation. */
export interface ConversationMetadata {
  readonly title?: string;
  readonly lastActivatedAt: Timestamp;
  readonly pinnedAt?: Timestamp;
  /** When it was archived. Whether it is archived depends on its folder, not on this. */
  readonly archivedAt?: Timestamp;
  readonly expiresAt?: Timestamp;
  readonly labels?: Readonly<Record<string, string>>;
  readonly extra?: JsonObject;
}

const TIMES = {
  pinned_at: "pinnedAt",
  archived_at: "archivedAt",
  expires_at: "expiresAt",
} as const;

const KNOWN_KEYS = new Set(["title", "last_activated_at", "labels", ...Object.keys(TIMES)]);

/** Throws `ShapeError`. */
export function parseMetadata(value: unknown): ConversationMetadata {
  const shape = shapeOf(value);
  const title = optionalString(shape, "title");
  const extra = unknownFields(shape.value, KNOWN_KEYS);
  const times = Object.entries(TIMES)
    .filter(([key]) => shape.value[key] != null)
    .map(([key, name]) => [name, parseTimestamp(shape.value[key], key)] as const);
  return {
    ...(title !== undefined && { title }),
    lastActivatedAt: parseTimestamp(shape.value["last_activated_at"], "last_activated_at"),
    ...Object.fromEntries(times),
    ...(shape.value["labels"] != null && { labels: parseLabels(shape.value["labels"]) }),
    ...(extra !== undefined && { extra }),
  };
}

/** The JSON form on disk. */
export function metadataToJson(metadata: ConversationMetadata): JsonObject {
  const labels = Object.entries(metadata.labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const times = Object.entries(TIMES).flatMap(([key, name]) =>
    metadata[name] === undefined ? [] : [[key, metadata[name]] as const],
  );
  return {
    ...(metadata.title !== undefined && { title: metadata.title }),
    last_activated_at: metadata.lastActivatedAt,
    ...Object.fromEntries(times),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...metadata.extra,
  };
}

/** Only what there is of both. */
export function titleAndLabels({
  title,
  labels,
}: Pick<ConversationMetadata, "title" | "labels">): Pick<ConversationMetadata, "title" | "labels"> {
  return { ...(title !== undefined && { title }), ...(labels !== undefined && { labels }) };
}

/** Whether it has all of these labels, with these values. */
export function hasAllLabels(
  { labels = {} }: Pick<ConversationMetadata, "labels">,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
}

function parseLabels(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) throw mismatch("labels", "an object", value);
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== "string") throw mismatch(`labels.${key}`, "a string", text);
  }
  return value as Readonly<Record<string, string>>; // Checked value by value above.
}
