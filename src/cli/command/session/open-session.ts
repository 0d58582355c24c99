/** A session, as its commands see and change it. */
import type { ToolDirective } from "../../../settings/config/index.ts";
import type { ConversationId } from "../../../record/conversation/index.ts";
import type { McpServers } from "../../../reach/mcp/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import type { CommandContext } from "../../context.ts";
import type { CustomCommands } from "../../custom-commands.ts";
import type { ConfigFlags } from "../../load-config.ts";
import type { FlagsOf, GlobalFlags, MODE_OPTIONS } from "../../options.ts";
import type { OwnCommand } from "./own-command.ts";
import type { SessionMode } from "./session-mode.ts";

/** The flags a session is opened with. */
export type SessionFlags = GlobalFlags & FlagsOf<typeof MODE_OPTIONS>;

export interface OpenSession {
  readonly context: CommandContext;
  readonly prompter: TerminalPrompter;
  readonly isPlain: boolean;
  /** Ends the session. */
  readonly signal: AbortSignal;
  /** Undefined until the first message of a new conversation. */
  readonly conversationId: ConversationId | undefined;
  /** For the next messages. A conversation remembers the settings that its messages were sent with. */
  model: string | undefined;
  readonly mode: SessionMode;
  directives: readonly ToolDirective[];
  title: string | undefined;
  /** The attachments of the next message. */
  attach: readonly string[];
  /** Send the next message to a copy of this many last turns, or of all. */
  fork: number | true | undefined;
  /** The last command that the user ran with `!`. */
  readonly ran: OwnCommand | undefined;
  /** The command whose output the next message shows to the model. */
  shared: OwnCommand | undefined;
  /** Commands of the user and the workspace, as last read. */
  readonly custom: CustomCommands;
  /** Each runs from the first message that needs it until the session ends. */
  readonly servers: McpServers;
  /** Names for completion. */
  readonly tools: readonly string[];
  readonly models: readonly string[];
  /** Flags for the next message's config. */
  readonly configFlags: ConfigFlags;

  startNew(): Promise<void>;
  /** Continues that conversation with the next message. */
  use(summary: WorkspaceSummary): Promise<void>;
  /**
   * Resends the last message with words appended, or after editing it. Throws what preparing and sending a turn
   * throws.
   */
  replay(added: string, isEdited?: boolean): Promise<void>;
}
