/**
 * `node --import test/telemetry/register-program.ts …`: registers an SDK of OpenTelemetry that holds spans back, and writes them
 * to the file `SPANS` when nothing is left to do, as one line of JSON each.
 */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";

const file = process.env["SPANS"] ?? "";
const exporter: SpanExporter = {
  export: (spans, done) => {
    for (const { name, attributes } of spans)
      appendFileSync(file, `${JSON.stringify({ name, attributes })}\n`);
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
process.once("beforeExit", () => void provider.forceFlush());
