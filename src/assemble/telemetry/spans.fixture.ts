/** An SDK of OpenTelemetry that keeps the spans in memory. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** Registers the SDK, for all tests of the process, until disposed of. */
export class SeenSpans implements Disposable {
  readonly #exporter = new InMemorySpanExporter();

  constructor(...processors: readonly SpanProcessor[]) {
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter), ...processors];
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }

  [Symbol.dispose](): void {
    trace.disable();
    context.disable();
  }

  /** Those that have ended, in that order. */
  get all(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** The names, each below that of its parent, in the order in which they started. */
  get tree(): readonly string[] {
    const lines = (parent: string | undefined, depth: number): readonly string[] =>
      this.all
        .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
        .toSorted((left, right) => toNanoseconds(left) - toNanoseconds(right))
        .flatMap((span) => [
          "  ".repeat(depth) + span.name,
          ...lines(span.spanContext().spanId, depth + 1),
        ]);
    return lines(undefined, 0);
  }

  named(name: string): readonly ReadableSpan[] {
    return this.all.filter((span) => span.name === name);
  }

  /** The only one, or the first. Throws if there is none. */
  get(name: string): ReadableSpan {
    const [span] = this.named(name);
    if (span === undefined) throw new Error(`no span is named ${name}`);
    return span;
  }
}

function toNanoseconds({ startTime: [seconds, nanoseconds] }: ReadableSpan): number {
  return (seconds % 1e6) * 1e9 + nanoseconds;
}

export function traceparentFor(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}
