/**
 * Whether tracing is on, and whether it may include content. Separate from the rest, so that a command can check
 * before it loads more.
 */

/** Where all 1.x versions of `@opentelemetry/api` store what an SDK registers. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Whether an SDK is registered now. */
export function isTracing(): boolean {
  const { [REGISTERED]: api } = globalThis as { readonly [REGISTERED]?: unknown }; // Set by others, if at all.
  return typeof api === "object" && api !== null && "trace" in api && api.trace != null;
}

/** The values that put content into spans. `EVENT_ONLY` does not: jp has no events of its own. */
const WITH_CONTENT: ReadonlySet<string> = new Set(["true", "span_only", "span_and_event"]);

/** Whether spans may include names and content, by the usual variable of generative AI instrumentations. */
export function wantsContent(variables: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: wanted = "" } = variables;
  return WITH_CONTENT.has(wanted.trim().toLowerCase());
}
