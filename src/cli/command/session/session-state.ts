/** The settings for a session's next message. The session's commands change it. */
import {
  type PartialConfig,
  resolveTools,
  type ToolDirective,
} from "../../../settings/config/index.ts";
import { toCfg } from "../../../assemble/index.ts";
import type { ConversationId } from "../../../record/conversation/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { type CustomCommands, loadCustomCommands } from "../../custom-commands.ts";
import { type ConfigFlags, effectiveConfig } from "../../load-config.ts";
import { trustedConfig } from "../../trust.ts";
import { COMMANDS } from "./commands.ts";
import type { OpenSession } from "./open-session.ts";
import type { OwnCommand } from "./own-command.ts";

/** The parts of a session that stay the same. */
type SessionParts = Pick<
  OpenSession,
  "context" | "prompter" | "isPlain" | "signal" | "mode" | "replay" | "servers"
>;

export class SessionState implements OpenSession {
  readonly context: OpenSession["context"];
  readonly prompter: OpenSession["prompter"];
  readonly isPlain: boolean;
  readonly signal: AbortSignal;
  readonly mode: OpenSession["mode"];
  readonly replay: OpenSession["replay"];
  readonly servers: OpenSession["servers"];
  conversationId: ConversationId | undefined;
  /** The last turn is incomplete, and the user has not been asked about it. */
  isIncomplete = false;
  model: string | undefined;
  directives: readonly ToolDirective[] = [];
  title: string | undefined;
  attach: readonly string[] = [];
  fork: number | true | undefined;
  ran: OwnCommand | undefined;
  shared: OwnCommand | undefined;
  custom: CustomCommands = { commands: [], problems: [] };
  tools: readonly string[] = [];
  models: readonly string[] = [];

  constructor(parts: SessionParts) {
    this.context = parts.context;
    this.prompter = parts.prompter;
    this.isPlain = parts.isPlain;
    this.signal = parts.signal;
    this.mode = parts.mode;
    this.replay = parts.replay;
    this.servers = parts.servers;
  }

  /** Reads the commands of the user and the workspace. */
  async loadCustom(): Promise<void> {
    const builtIn = COMMANDS.map(({ name }) => name);
    this.custom = await loadCustomCommands(this.context, builtIn);
  }

  /** Names for completion. */
  findNames(config: PartialConfig): void {
    const tools = [...resolveTools(config).values()];
    const names = tools.flatMap(({ name, group = [] }) => [name, group].flat());
    this.tools = [...new Set(names)];
    this.models = Object.keys(config.providers?.llm?.aliases ?? {});
  }

  get configFlags(): ConfigFlags {
    const { conversationId: id, directives, model } = this;
    const { chosen: mode } = this.mode;
    return { cfg: toCfg({ model, mode }), tool: directives, ...(id !== undefined && { id }) };
  }

  async startNew(): Promise<void> {
    this.directives = [...this.directives, ...(await this.#switchedTools())];
    this.conversationId = undefined;
    this.title = undefined;
    this.fork = undefined;
    this.isIncomplete = false;
  }

  /** The tools that this conversation has switched on or off, compared to a new one. */
  async #switchedTools(): Promise<readonly ToolDirective[]> {
    const { id, ...flags } = this.configFlags;
    const summary = id && (await this.context.workspace.conversations.find(id as ConversationId));
    if (id === undefined || summary === undefined) return [];
    const here = await trustedConfig(this.context, { ...flags, id });
    const next = resolveTools((await trustedConfig(this.context, flags)).config);
    return [...resolveTools(here.config).values()].flatMap(({ name, isEnabled }) => {
      const { isEnabled: isOn = isEnabled, allowToggle = "never" } = next.get(name) ?? {};
      return isOn === isEnabled || allowToggle === "never" ? [] : [{ name, isEnabled }];
    });
  }

  async use(summary: WorkspaceSummary): Promise<void> {
    this.continue(summary);
    this.fork = undefined;
    this.model = undefined;
    this.directives = [];
    const config = await effectiveConfig(this.context, this.configFlags);
    this.mode.configure(config);
    this.findNames(config);
  }

  /** Continues this conversation with the next message. */
  continue({ id, openTurn: left }: WorkspaceSummary): void {
    this.conversationId = id;
    this.isIncomplete = left !== undefined;
  }
}
