/** Runs the suites on replies as in the built command, where the packages of all providers get light streams. */
import { createHttpFetch } from "../../src/provider/http-fetch.ts";
import {
  LightReadableStream,
  LightTextDecoderStream,
  LightTransformStream,
} from "../../src/provider/light-streams.ts";

Object.assign(globalThis, {
  ReadableStream: LightReadableStream,
  TextDecoderStream: LightTextDecoderStream,
  TransformStream: LightTransformStream,
  fetch: createHttpFetch(), // Node's own takes only Node's own streams.
});

await import("./abort.test.ts");
await import("./bad-servers.test.ts");
await import("./cut-replies.test.ts");
await import("./failures.test.ts");
await import("./replies.test.ts");
