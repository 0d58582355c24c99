/** An OpenTelemetry SDK that keeps spans in memory. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** Registers the SDK for the whole process, until disposed. */
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

  /** Ended spans, in order of ending. */
  get all(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** Span names, indented below their parents, in order of starting. */
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

  /** The first span with this name. Throws if there is none. */
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
