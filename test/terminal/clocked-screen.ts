/** A terminal on which one prompter asks several times, at a time that the test sets. */
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import type { TerminalPrompterOptions } from "../../src/surfaces/terminal/terminal-prompter.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { type PrompterTask, runPrompterTask } from "../support/prompter-task.ts";
import { VirtualTerminal } from "../support/virtual-terminal.ts";

export type Asked = Extract<PrompterTask, { readonly method: "ask" }>["request"];

export class ClockedScreen extends VirtualTerminal {
  readonly clock = new FakeClock();
  readonly #prompter: TerminalPrompter;

  constructor(options: TerminalPrompterOptions = {}) {
    super({ columns: 100, variables: { NO_COLOR: "1" }, readsLines: options.isPlain });
    this.#prompter = new TerminalPrompter({ device: this.device, clock: this.clock, ...options });
  }

  ask(request: Asked): AskedPrompt {
    return this.#start({ method: "ask", request });
  }

  openMenu(): AskedPrompt {
    return this.#start({ method: "choose", request: { choices: ["continue", "discard"] } });
  }

  #start(task: PrompterTask): AskedPrompt {
    const abort = new AbortController();
    return new AskedPrompt(runPrompterTask(this.#prompter, task, abort.signal), abort);
  }

  /** Types what shows nothing. */
  async typeUnseen(keys: string): Promise<void> {
    this.type(keys);
    await this.settle();
  }

  async wait(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds);
    await this.settle();
  }
}

export class AskedPrompt {
  readonly result: Promise<unknown>;
  readonly #abort: AbortController;
  /** Undefined while the prompt is open. */
  resultSoFar: unknown;

  constructor(result: Promise<unknown>, abort: AbortController) {
    this.result = this.#keep(result);
    this.#abort = abort;
  }

  /** As if it was answered elsewhere, or by default withdrawn. */
  withdraw(reason?: DOMException): Promise<unknown> {
    this.#abort.abort(reason);
    return this.result;
  }

  async #keep(result: Promise<unknown>): Promise<unknown> {
    this.resultSoFar = await result;
    return this.resultSoFar;
  }
}
