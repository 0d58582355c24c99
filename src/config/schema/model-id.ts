/** `provider/name`, the same in two fields, or an alias for one. Merged as a whole. */
import * as v from "valibot";
import { behaviour } from "./behaviour.ts";
import { table } from "./node.ts";

/** Which model is meant: by its provider and name, or by an alias. */
export type ModelId =
  | { readonly provider: string; readonly name: string }
  /** Looked up in `providers.llm.aliases`. */
  | { readonly alias: string };

const part = v.pipe(v.string(), v.nonEmpty("it must not be empty"));

export const modelIdSchema = v.pipe(
  v.union([
    v.pipe(
      v.string(),
      v.regex(/^[^/]+(?:\/[\s\S]+)?$/, "expected provider/name, or an alias for one"),
    ),
    table(v.object({ provider: part, name: part })),
  ]),
  v.transform((value): ModelId => (typeof value === "string" ? parseModelId(value) : value)),
  behaviour({ toJson: (id: ModelId) => ("alias" in id ? id.alias : { ...id }) }),
);

/** Reads `provider/name`; a text without a slash is an alias. */
export function parseModelId(text: string): ModelId {
  const [provider = "", ...name] = text.split("/");
  if (name.length === 0) return { alias: text };
  return { provider, name: name.join("/") };
}

/** `provider/name`, or the alias. */
export function modelIdToText(id: ModelId): string {
  return "alias" in id ? id.alias : `${id.provider}/${id.name}`;
}
