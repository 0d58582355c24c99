/** A command's terminal prompter, with the user's settings. */
import path from "node:path";
import { noPrompter, type Prompter } from "../core/agent/index.ts";
import { mergeConfig, type PartialConfig } from "../settings/config/index.ts";
import { type EditText, NO_TERMINAL, TerminalPrompter } from "../surfaces/terminal/index.ts";
import type { CommandContext } from "./context.ts";
import { type EditorPlace, type EditorSettings, editText, findEditor } from "./editor.ts";
import { wantsPlainText } from "./host.ts";

export interface InteractionFlags {
  readonly nonInteractive?: boolean | undefined;
  /** See `TerminalPrompterOptions`. */
  readonly onUnsent?: (text: string) => void;
  readonly onSaid?: ((text: string) => void) | undefined;
  /** See `DialogueOptions`. */
  readonly sendsWords?: boolean;
}

/** Undefined in a non-interactive run, even on a terminal. */
export function findPrompter(
  context: CommandContext,
  config: PartialConfig,
  { nonInteractive = false, onUnsent, onSaid, sendsWords = true }: InteractionFlags,
): TerminalPrompter | undefined {
  const isDisabled = context.environment.variables["JP_NONINTERACTIVE"] === "1";
  if (nonInteractive || isDisabled) return undefined;
  const { bell = true, desktop = true } = config.style?.notification ?? {};
  return new TerminalPrompter({
    device: context.host.terminal,
    notification: { bell, desktop },
    ...(findEditor(context.environment.variables, config.editor) !== undefined && {
      editText: editWith(context, config.editor),
    }),
    isPlain: wantsPlainText(context, config),
    sendsWords,
    ...(onUnsent !== undefined && { onUnsent }),
    ...(onSaid !== undefined && { onSaid }),
  });
}

/** Used instead of a terminal that the command may not use. */
export const noTerminal: Prompter = { ...noPrompter, unavailableBecause: NO_TERMINAL };

/** A prompter without notifications, for questions that follow the command at once. */
export function findQuietPrompter(
  context: CommandContext,
  config: PartialConfig,
  flags: InteractionFlags,
): TerminalPrompter | undefined {
  const quiet: PartialConfig = { style: { notification: { bell: false, desktop: false } } };
  return findPrompter(context, mergeConfig(config, quiet), flags);
}

/** Opens the user's editor. */
export function editWith(place: EditorPlace, settings?: EditorSettings): EditText {
  return async (text, { extension }) => {
    const name = path.format({ name: "edit", ext: extension });
    const edited = await editText({ name, text }, place, settings);
    await edited.discard();
    return edited.text === text ? undefined : edited.text;
  };
}
