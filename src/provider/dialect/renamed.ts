/** Values under other names: from a provider's metadata to that of an event, and back. */
import type { Json, JsonObject } from "../../util/index.ts";

/** Takes the keys that `names` has and that hold something; all others stay behind. */
export function renamed(values: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const taken: Record<string, Json> = {};
  for (const [from, to] of Object.entries(names)) {
    const value = values[from];
    if (value !== undefined && value !== null) taken[to] = value;
  }
  return taken;
}
