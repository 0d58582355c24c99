/** How a running turn is shown: what `style` in the config says. */
import type { PartialConfig } from "../../../config/index.ts";
import type { ReasoningDisplay } from "./reply-view.ts";
import type { ProgressSettings } from "./text-view.ts";

type Style = NonNullable<PartialConfig["style"]>;
type Progress = NonNullable<Style["mcp_startup"]>;

export function viewSettings(style: Style, { hideReasoning = false } = {}) {
  const { streaming, tool_call: toolCall, markdown, code } = style;
  const { wrap_width: wrapWidth = 0 } = markdown ?? {};
  const progress: ProgressSettings = {
    streaming: progressOf(streaming?.progress),
    preparing: progressOf(toolCall?.preparing),
    toolCall: progressOf(toolCall?.progress),
  };
  return {
    reasoning: hideReasoning ? ({ type: "hidden" } as const) : reasoningOf(style),
    showsCalls: toolCall?.show ?? true,
    ...(wrapWidth > 0 && { wrapWidth }),
    colorsCode: code?.color ?? true,
    progress,
  };
}

function progressOf(progress: Progress = {}): ProgressSettings["streaming"] {
  const { show: isShown = true, delay_secs: delay, interval_ms: intervalMs } = progress;
  return {
    isShown,
    ...(delay !== undefined && { delayMs: delay * 1000 }),
    ...(intervalMs !== undefined && { intervalMs }),
  };
}

function reasoningOf({ reasoning = {} }: Style): ReasoningDisplay {
  const { display = "full" } = reasoning;
  if (typeof display === "object")
    return { type: "start", characters: display.truncate.characters };
  switch (display) {
    case "full":
    case "hidden":
    case "static":
    case "progress":
      return { type: display };
    case "timer": // The status line shows the time anyway.
      return { type: "progress" };
    case "summary": // Of other versions; a warning says that it has no effect.
      return { type: "full" };
    default:
      return { type: "start", characters: Number(display) };
  }
}
