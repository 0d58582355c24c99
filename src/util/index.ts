export { abortable, settlesWithin } from "./promises.ts";
export {
  assertNever,
  JpError,
  type JpErrorOptions,
  adviceOf,
  isJpError,
  messageOf,
  systemErrorCode,
  toError,
} from "./errors.ts";
export {
  base64Size,
  bytesToBase64,
  decodeBase64,
  encodeBase64,
  formatSize,
  truncateBytes,
  truncationNotice,
} from "./utf8.ts";
export { monotonicMs, shouldYield, yieldToEventLoop } from "./event-loop.ts";
export { type Clock, MAX_TIMER_MS, systemClock } from "./clock.ts";
export {
  escapePointer,
  findJson,
  isJsonArray,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  jsonTypeOf,
  MAX_JSON_DEPTH,
  parseJson,
  parsePointer,
  pathToText,
  unescapePointer,
  withoutLoneSurrogates,
} from "./json.ts";
export { isDeepEqual } from "./deep-equal.ts";
export { isPathWithin } from "./paths.ts";
export { canonicalJson, canonicalObject, nodeCrypto, sha256 } from "./digest.ts";
export { findForeignCaller, isLoopback, isSameSecret, listen, parseHost } from "./http.ts";
export { graphemesOf } from "./graphemes.ts";
export { findClosest } from "./find-closest.ts";
export { IMPORTS, isNotLoaded, loaderOf, loadImports, loadModule } from "./load-module.ts";
export { randomKey, randomName } from "./random-name.ts";
export { assertNotRedirected, withinOrigin } from "./redirects.ts";
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
export { safeReadFlags, openHandle, settled } from "./open-handle.ts";
export {
  type CacheEnvironment,
  findUserCache,
  isUserCacheIn,
  makeUserCache,
} from "./user-cache.ts";
export {
  codePoint,
  firstLine,
  hiddenIn,
  jsonBlock,
  jsonLine,
  neutralize,
  oneLine,
  picture,
  shellWord,
  valueLine,
} from "./neutralize.ts";
export { CappedOutput, lineEnds, LineReader, LineTail, readTextLines } from "./output.ts";
