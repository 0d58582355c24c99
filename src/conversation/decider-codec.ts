/** How `answered_by` and `decided_by` are written. What we do not understand survives as it came. */
import type { JsonObject } from "../util/index.ts";
import type { Decider } from "./event.ts";

export function parseDecider(raw: JsonObject): Decider {
  const { kind, channel, scope, model, key, from } = raw;
  if (kind === "user" && typeof channel === "string") {
    return { kind, channel, ...(scope === "turn" && { scope }) };
  }
  if (kind === "assistant" && typeof model === "string") return { kind, model };
  if ((kind === "config" || kind === "policy") && typeof key === "string") return { kind, key };
  if (kind === "remembered" && typeof from === "string") return { kind, from };
  if (kind === "default") return { kind };
  return { kind: "unknown", raw };
}

/** As it is written on disk. */
export function deciderToJson(decider: Decider): JsonObject {
  return decider.kind === "unknown" ? decider.raw : { ...decider };
}
