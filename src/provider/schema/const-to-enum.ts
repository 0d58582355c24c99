/** For providers that do not know `const`: a list with one value says the same. */
import type { JsonObject } from "../../util/index.ts";
import { mapSchema } from "./map-schema.ts";

export function constToEnum(schema: JsonObject): JsonObject {
  return mapSchema(schema, (node) => {
    const { const: value, ...rest } = node;
    return value === undefined ? node : { ...rest, enum: [value] };
  });
}
