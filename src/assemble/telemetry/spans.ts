/** OpenTelemetry spans that cannot break a turn: only the first error an SDK throws is reported. */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { warnOnce } from "../../core/agent/index.ts";
import { findTraceparent, type Traceparent } from "../../record/conversation/index.ts";
import { isJpError, messageOf } from "../../util/index.ts";

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent: Context;
  readonly links?: readonly Link[];
  /** Start time in milliseconds, if it started earlier. */
  readonly at?: number;
}

export class OpenSpan {
  readonly #span: Span | undefined;
  readonly #onEnd: (span: OpenSpan) => void;
  /** The parent context for everything inside it. */
  readonly context: Context;

  constructor(span: Span | undefined, parent: Context, onEnd: (span: OpenSpan) => void) {
    this.#span = span;
    this.#onEnd = onEnd;
    this.context = span === undefined ? parent : trace.setSpan(parent, span);
  }

  /** Undefined if the trace cannot be continued. */
  get traceparent(): Traceparent | undefined {
    const { traceId, spanId, traceFlags } = guarded(() => this.#span?.spanContext()) ?? {};
    if (traceFlags === undefined) return undefined;
    const flags = (traceFlags & 0xff).toString(16).padStart(2, "0");
    return findTraceparent(`00-${traceId}-${spanId}-${flags}`);
  }

  /** A link to it, from another trace. */
  get link(): readonly Link[] {
    return linkTo(this.context);
  }

  set(attributes: Attributes): void {
    guarded(() => this.#span?.setAttributes(attributes));
  }

  addEvent(name: string, attributes: Attributes): void {
    guarded(() => this.#span?.addEvent(name, attributes));
  }

  /** `type` is a code. The message may quote anything, so it counts as content. */
  fail(type: string, message?: string): void {
    const status = { code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) };
    guarded(() => this.#span?.setAttribute("error.type", type).setStatus(status));
  }

  failWith(error: unknown, hasContent: boolean): void {
    const named = error instanceof Error ? error.name : "_OTHER";
    this.fail(isJpError(error) ? error.code : named, hasContent ? messageOf(error) : undefined);
  }

  /** `at`: end time in milliseconds, if it ended earlier. */
  end(attributes: Attributes = {}, at?: number): void {
    this.#onEnd(this);
    guarded(() => this.#span?.setAttributes(attributes).end(at));
  }
}

/** The build puts the package's version here. It is missing where the sources run as they are. */
declare const JP_VERSION: string | undefined;
const VERSION = typeof JP_VERSION === "string" ? JP_VERSION : undefined;

/** The spans of one turn. */
export class Spans {
  readonly #tracer = guarded(() => trace.getTracer("jp-ts", VERSION));
  readonly #open = new Set<OpenSpan>();

  start({ name, kind, attributes, parent, links = [], at }: SpanStart): OpenSpan {
    const span = guarded(() => {
      const options = {
        kind,
        attributes,
        links: [...links],
        ...(at !== undefined && { startTime: at }),
      };
      return this.#tracer?.startSpan(name, options, parent);
    });
    const opened = new OpenSpan(span, parent, (ended) => this.#open.delete(ended));
    this.#open.add(opened);
    return opened;
  }

  /** Work that continues after the turn is not part of it. */
  endAll(): void {
    for (const span of this.#open) span.end();
  }
}

/** The active context, as a child of the recorded span. */
export function continueFrom(traceparent: Traceparent): Context {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags, isRemote: true });
}

/** A link to the context's span, if it has one. */
export function linkTo(of: Context): readonly Link[] {
  const linked = guarded(() => trace.getSpanContext(of));
  return linked !== undefined && isSpanContextValid(linked) ? [{ context: linked }] : [];
}

const warn = warnOnce("OpenTelemetry failed");

function guarded<Value>(call: () => Value): Value | undefined {
  try {
    return call();
  } catch (error) {
    warn(error);
    return undefined;
  }
}
