/** `questions.<id>`: how one question of a tool is routed, answered and shown. */
import * as v from "valibot";
import { isJsonObject, type Json } from "../../util/index.ts";
import { toJson } from "../schema-json.ts";
import { assistantSchema } from "./assistant.ts";
import { behaviour } from "./behaviour.ts";
import { described, group } from "./node.ts";

/** Who is asked. A table is a config of the assistant that answers. Merged as a whole. */
export type QuestionTarget =
  | { readonly type: "user" }
  | { readonly type: "assistant"; readonly assistant: v.InferOutput<typeof assistantSchema> };

const targetSchema = v.pipe(
  v.union([v.picklist(["user", "assistant"]), assistantSchema]),
  v.transform((value): QuestionTarget => {
    if (value === "user") return { type: "user" };
    return { type: "assistant", assistant: value === "assistant" ? {} : value };
  }),
  behaviour({ toJson: targetToJson }),
);

function targetToJson(target: QuestionTarget): Json {
  if (target.type === "user") return "user";
  const json = toJson(assistantSchema, target.assistant);
  return isJsonObject(json) && Object.keys(json).length > 0 ? json : "assistant";
}

export const questionSchema = group({
  target: described("user, assistant, or the config of an assistant", targetSchema),
  answer: described(
    "the answer, given without asking anybody; it must fit the question",
    v.pipe(v.unknown(), behaviour({ isPrivate: true })),
  ),
  exclusive: described(
    "true if no model may answer, false if one may; overrides what the tool says",
    v.boolean(),
  ),
  prompt_label: described("who is said to be asking; for the eye only", v.string()),
});
