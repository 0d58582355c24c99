/** Gives the packages of all providers light streams, as the built command does. */
import { createHttpFetch } from "../../src/reach/provider/http-fetch.ts";
import {
  LightReadableStream,
  LightTextDecoderStream,
  LightTransformStream,
} from "../../src/reach/provider/light-streams.ts";

Object.assign(globalThis, {
  ReadableStream: LightReadableStream,
  TextDecoderStream: LightTextDecoderStream,
  TransformStream: LightTransformStream,
  fetch: createHttpFetch(), // Node's own takes only Node's own streams.
});
