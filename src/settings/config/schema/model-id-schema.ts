/** Schema of a model id: `provider/name`, the same in two fields, or an alias. */
import * as v from "valibot";
import { type ModelId, parseModelId } from "../model-id.ts";
import { behaviour } from "./node.ts";

const part = v.pipe(v.string(), v.nonEmpty("must not be empty"));

/** It becomes part of a URL, and must not change its target. */
const UNSAFE_NAME = /\.\.|[?#%\\]/;

/** Replaced as a whole. */
export const modelIdSchema = v.pipe(
  v.union([
    v.pipe(
      v.string(),
      v.regex(/^[^/]+(?:\/[\s\S]+)?$/, "expected provider/name, or an alias for one"),
    ),
    v.object({ provider: part, name: part }),
  ]),
  v.check(
    (value) => !UNSAFE_NAME.test(typeof value === "string" ? value : value.name),
    "the name of a model must not contain .., ?, #, % or \\",
  ),
  v.transform((value): ModelId => (typeof value === "string" ? parseModelId(value) : value)),
  behaviour({
    isModelId: true,
    toJson: (id: ModelId) => ("alias" in id ? id.alias : { ...id }),
    toShown: (id: ModelId) => ("alias" in id ? id.alias : `${id.provider}/${id.name}`),
  }),
);
