/** How a running turn is shown, according to the flags and `style` in the config. */
import type { AssistantSettings, PartialConfig } from "../../../settings/config/index.ts";
import type { Model } from "../../../reach/provider/index.ts";
import type { TurnParts } from "../../../assemble/index.ts";
import {
  createStatusLine,
  type ShownMode,
  showsHyperlinks,
  type TurnKeyboard,
} from "../../../surfaces/terminal/index.ts";
import type { CommandContext } from "../../context.ts";
import { wantsPlainText } from "../../host.ts";
import type { ReasoningDisplay } from "./reply-view.ts";
import { type ProgressSettings, TextView } from "./text-view.ts";
import type { TurnUse } from "./turn-use.ts";
import { createJsonView, type TurnView } from "./view.ts";

export interface ViewFlags {
  readonly format?: "text" | "json" | undefined;
  readonly hideReasoning?: boolean | undefined;
  /** Print token usage. */
  readonly verbose?: boolean | undefined;
  /** How to undo a compaction, in the user's terms. */
  readonly undo?: string | undefined;
}

/** The turn to show, and the keyboard below it. */
interface ShownTurn {
  readonly turn: TurnParts;
  /** Undefined while there is none. */
  readonly keyboard: () => TurnKeyboard | undefined;
  /** The session's keyboard. */
  readonly sessionKeyboard?: TurnKeyboard | undefined;
  /** For the row below the status line. */
  readonly use?: Pick<TurnUse, "forms"> | undefined;
}

export function createView(
  context: CommandContext,
  { format, hideReasoning = false, verbose: isVerbose = false, undo }: ViewFlags,
  { turn, keyboard, sessionKeyboard, use }: ShownTurn,
): TurnView {
  const { trusted, assistant, model, tools, schema } = turn;
  const { config } = trusted;
  const { output, clock, host, environment } = context;
  if (format === "json") return createJsonView(output);
  const { reasoning } = assistant.parameters;
  // Not every provider can leave it out.
  const isExcluded = reasoning?.type !== "off" && reasoning?.isHidden === true;
  const isPlain = wantsPlainText(context, config);
  const now = () => clock.now().getTime();
  return new TextView({
    output,
    status: createStatusLine({
      stream: host.notices,
      isPlain,
      now,
      row: keyboard,
      mode: modeToShow(config),
      below: () => use?.forms() ?? [],
    }),
    isPlain,
    hasHyperlinks: showsHyperlinks(environment.variables),
    clock,
    model: assistantName(assistant, model),
    tools: { get: (name) => tools.settings.get(name) },
    ...viewSettings(config.style ?? {}, { hideReasoning: isExcluded || hideReasoning }),
    ...(sessionKeyboard !== undefined && {
      reasoningChoice: sessionKeyboard,
      shortened: sessionKeyboard.shortened,
    }),
    isStructured: schema !== undefined,
    isVerbose,
    ...(undo !== undefined && { undo }),
  });
}

/** The mode, unless it is the default. */
export function modeToShow({ conversation }: PartialConfig): ShownMode | undefined {
  const { mode: name = "ask" } = conversation ?? {};
  return name === "ask" ? undefined : { name };
}

const DEFAULT_NAME = "jp";

/** The configured name, or else the model. */
function assistantName({ name }: AssistantSettings, { id }: Model): string {
  return name === DEFAULT_NAME ? id : name;
}

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
  const { display = "timer" } = reasoning;
  if (typeof display === "object")
    return { type: "start", characters: display.truncate.characters };
  switch (display) {
    case "full":
    case "hidden":
    case "static":
    case "progress":
      return { type: display };
    case "timer":
      return { type: "folded" };
    case "summary": // From other versions; a warning says that it has no effect.
      return { type: "full" };
    default:
      return { type: "start", characters: Number(display) };
  }
}
