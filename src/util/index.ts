/// <reference types="node" preserve="true" />
// The library's declarations name types of Node. Every folder knows this one, so all bring them along.
export { abortable } from "./abortable.ts";
export {
  assertNever,
  CodedError,
  type CodedErrorOptions,
  isCodedError,
  messageOf,
} from "./errors.ts";
export { decodeBase64, encodeBase64, truncateBytes } from "./utf8.ts";
export { breathe, isOutOfBreath } from "./event-loop.ts";
export { type Clock, LONGEST_TIMER_MS, systemClock } from "./clock.ts";
export { guardGroup } from "./exit-guard.ts";
export { findProgram, withoutRelativeFolders } from "./find-program.ts";
export {
  findJson,
  isJsonArray,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  jsonTypeOf,
  MOST_LEVELS,
  parseJson,
} from "./json.ts";
export {
  arrayField,
  booleanField,
  fieldPath,
  integerField,
  mismatch,
  objectField,
  oneOf,
  optionalBoolean,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
  unknownFields,
} from "./shape.ts";
export { quoteWord } from "./shell-quote.ts";
