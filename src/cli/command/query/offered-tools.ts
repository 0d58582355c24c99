/** The tools of a turn, which the user may extend while it runs. */
import {
  machineOf,
  openTools,
  type TurnParts,
  recordChange,
  withUntrusted,
} from "../../../assemble/index.ts";
import type { Prompter, Toolbox } from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { loadModule } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { TurnView } from "./view.ts";

/** The turn's tools. The user may enable more of them when a model calls one. */
export class OfferedTools {
  readonly #context: CommandContext;
  readonly #turn: TurnParts;
  readonly #view: TurnView;
  #config: PartialConfig | undefined;
  #toolbox: Toolbox;
  /** One prompt at a time. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(context: CommandContext, turn: TurnParts, view: TurnView) {
    this.#context = context;
    this.#turn = turn;
    this.#view = view;
    this.#toolbox = turn.tools.toolbox;
  }

  toolbox(person: TerminalPrompter): Toolbox {
    const { tools } = this.#turn;
    const find: Toolbox["find"] = async (name, signal) => {
      const found = await this.#toolbox.find(name, signal);
      const isOff = found === undefined && tools.settings.get(name)?.isEnabled === false;
      if (!isOff || signal.aborted) return found;
      await this.#alone(() => this.#offer(name, person, signal));
      return this.#toolbox.find(name, signal);
    };
    return { ...tools.toolbox, find };
  }

  /** Wraps the prompter, so that it waits while the user is asked about a tool. */
  besides(prompter: Prompter): Prompter {
    return { ...prompter, ask: (request) => this.#alone(() => prompter.ask(request)) };
  }

  /** Records the enabled tools in the conversation. */
  async record(): Promise<void> {
    const { conversation, trusted } = this.#turn;
    if (this.#config === undefined) return;
    const config = withUntrusted({ ...trusted, config: this.#config });
    await recordChange(conversation, config, this.#context);
  }

  async #offer(name: string, person: TerminalPrompter, signal: AbortSignal): Promise<void> {
    const { trusted, conversation, directives, servers, changes, mode, onConfig } = this.#turn;
    const { offerTool } = await loadModule(() => import("../../offer-tools.ts"));
    const { layers, config: before } = trusted;
    const called = { name, config: this.#config ?? before, layers, directives, signal };
    const config = await offerTool(this.#context, called, (question) =>
      this.#view.aside(() => person.ask(question)),
    );
    if (config === undefined) return;
    this.#config = config;
    onConfig?.(config);
    const machine = machineOf(this.#context);
    const parts = { conversation: conversation.id, servers, changes, ...(mode && { mode }) };
    // Opens nothing: it uses the turn's servers.
    this.#toolbox = openTools(machine, config, parts).toolbox;
  }

  async #alone<Value>(action: () => Promise<Value>): Promise<Value> {
    const before = this.#asking;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#asking = promise;
    try {
      await before;
      return await action();
    } finally {
      resolve();
    }
  }
}
