/** How `answered_by` and `decided_by` are written. A kind we do not know survives as it came. */
import { type JsonObject, type Shape, stringField } from "../util/index.ts";
import type { Decider } from "./event.ts";

export function parseDecider(shape: Shape): Decider {
  const { kind } = shape.value;
  switch (kind) {
    case "user":
      return { kind, channel: stringField(shape, "channel") };
    case "assistant":
      return { kind, model: stringField(shape, "model") };
    case "config":
    case "policy":
      return { kind, key: stringField(shape, "key") };
    case "remembered":
      return { kind, from: stringField(shape, "from") };
    case "default":
      return { kind };
    default:
      return { kind: "unknown", raw: shape.value };
  }
}

export function deciderToJson(decider: Decider): JsonObject {
  return decider.kind === "unknown" ? decider.raw : { ...decider };
}
