export { abortable } from "./abortable.ts";
export { assertNever } from "./assert-never.ts";
export { decodeBase64, encodeBase64 } from "./base64.ts";
export { type Clock, LONGEST_TIMER_MS, systemClock } from "./clock.ts";
export { CodedError, type CodedErrorOptions, isCodedError } from "./coded-error.ts";
export { killOnExit } from "./exit-guard.ts";
export { findJson, isJsonObject, type Json, type JsonObject, jsonTypeOf } from "./json.ts";
export { messageOf } from "./message-of.ts";
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
