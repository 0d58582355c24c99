/// <reference types="node" preserve="true" />
// The library's declarations name types of Node. Every folder knows this one, so all bring them along.
export { abortable } from "./abortable.ts";
export { assertNever } from "./assert-never.ts";
export { decodeBase64, encodeBase64 } from "./base64.ts";
export { breathe, isOutOfBreath } from "./breathe.ts";
export { type Clock, LONGEST_TIMER_MS, systemClock } from "./clock.ts";
export { CodedError, type CodedErrorOptions, isCodedError } from "./coded-error.ts";
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
export { messageOf } from "./message-of.ts";
export { nearest } from "./nearest.ts";
export { settlesWithin } from "./settles-within.ts";
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
export { truncateBytes, truncationNotice } from "./truncate-bytes.ts";
