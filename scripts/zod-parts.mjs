// The parts of zod that the bundled packages of providers use; see lazy-zod.cjs.
import { config } from "zod/v4/core";
import en from "zod/v4/locales/en.js";

config(en());

export {
  any,
  array,
  boolean,
  discriminatedUnion,
  enum,
  intersection,
  json,
  lazy,
  literal,
  looseObject,
  never,
  null,
  number,
  object,
  partialRecord,
  record,
  safeParse,
  strictObject,
  string,
  tuple,
  union,
  unknown,
} from "zod/v4";
export { toJSONSchema } from "zod/v4/core";
