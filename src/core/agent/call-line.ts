/**
 * Lets the calls of one reply run in their order, as far as they have one. A call that stays open, such as one that
 * waits for a person, holds up those behind it, and no others.
 */
import type { CallProgress } from "../../record/conversation/index.ts";
import { abortable } from "../../util/index.ts";
import type { CallOfTool, Policy } from "../policy/index.ts";
import { type CallUse, findUse, waitsFor } from "./call-order.ts";

/** `free`: it may run now. `held_up`: a call before it stays open, so it stays open too. */
export type Reached = "free" | "held_up" | "stopped";

/** The calls of one reply, also over several cycles. */
export class CallLine {
  /** By the call, in the order in which the model made them. */
  readonly #places = new Map<string, LinePlace>();
  readonly #policy: Policy | undefined;
  /** How many commands have ended. What a path leads to may have changed since. */
  #commands = 0;

  constructor(policy: Policy | undefined) {
    this.#policy = policy;
  }

  /** Takes the call's place. Call it in the order of the calls; one that was left open gets its former place. */
  enter(call: CallProgress): LinePlace {
    const key = keyOf(call);
    const found = this.#places.get(key);
    if (found !== undefined) {
      found.reenter();
      return found;
    }
    const line = {
      before: [...this.#places.values()],
      findUse: (of: CallOfTool) => findUse(this.#policy, of),
      countCommands: () => this.#commands,
      onCommandEnd: () => void (this.#commands += 1),
    };
    const place = new LinePlace(line);
    this.#places.set(key, place);
    return place;
  }

  /** Whether the call has stayed open only because one before it did. */
  isHeldUp(call: CallProgress): boolean {
    return this.#places.get(keyOf(call))?.isHeldUp ?? false;
  }
}

/** A call id is not unique within a turn. */
function keyOf({ request, callIndex }: CallProgress): string {
  return `${callIndex} ${request.id}`;
}

interface LineOfPlace {
  readonly before: readonly LinePlace[];
  readonly findUse: (call: CallOfTool) => Promise<CallUse>;
  readonly countCommands: () => number;
  readonly onCommandEnd: () => void;
}

const NOTHING: CallUse = { type: "other" };

/** The place of one call. It has to end or be left. */
export class LinePlace {
  readonly #line: LineOfPlace;
  #call: CallOfTool | undefined;
  #declared = Promise.withResolvers<void>();
  #settled = Promise.withResolvers<void>();
  /** The use as it was found after this many commands. */
  #found: { readonly commands: number; readonly use: CallUse } | undefined;
  #state: "waiting" | "running" | "ended" | "left" | "held_up" = "waiting";

  constructor(line: LineOfPlace) {
    this.#line = line;
  }

  get isHeldUp(): boolean {
    return this.#state === "held_up";
  }

  /** Says what the call would do. Calls behind it wait until this is known. */
  declare(call: CallOfTool): void {
    this.#call = call;
    this.#found = undefined;
    this.#declared.resolve();
  }

  /** Waits for the calls before it. `onWait` is called first if there are any. Throws `module_not_loaded`. */
  async reach(signal: AbortSignal, onWait: () => void): Promise<Reached> {
    while (!signal.aborted) {
      const blocking = await this.#findBlocking(signal);
      if (signal.aborted) break;
      if (blocking.length === 0) {
        this.#state = "running";
        return "free";
      }
      if (blocking.some((place) => place.#isLeft)) {
        this.#settle("held_up");
        return "held_up";
      }
      onWait();
      const next = Promise.race(blocking.map((place) => place.#settled.promise));
      await abortable(next, signal).catch(() => undefined);
    }
    return "stopped";
  }

  /** Its work is done, so those behind it may run. */
  end(): void {
    if (this.#state === "ended" || this.#isLeft) return;
    if (this.#found?.use.type === "command") this.#line.onCommandEnd();
    this.#settle("ended");
  }

  /** It stays open, and so do those behind it. */
  leave(): void {
    if (this.#state !== "ended" && !this.#isLeft) this.#settle("left");
  }

  /** It was left open, and continues. */
  reenter(): void {
    this.#state = "waiting";
    this.#settled = Promise.withResolvers();
  }

  get #isLeft(): boolean {
    return this.#state === "left" || this.#state === "held_up";
  }

  #settle(state: "ended" | "left" | "held_up"): void {
    this.#state = state;
    this.#declared.resolve();
    this.#settled.resolve();
  }

  async #findBlocking(signal: AbortSignal): Promise<readonly LinePlace[]> {
    const own = await this.#use();
    const blocking: LinePlace[] = [];
    for (const place of this.#line.before) {
      if (own.type === "other" || signal.aborted) break;
      if (place.#state === "ended") continue;
      await abortable(place.#declared.promise, signal).catch(() => undefined);
      const use = await place.#use();
      if (waitsFor(own, use) && !place.#hasEnded()) blocking.push(place);
    }
    return blocking;
  }

  #hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** While it runs, it uses what it used when it started. */
  async #use(): Promise<CallUse> {
    const commands = this.#line.countCommands();
    const { use, commands: before } = this.#found ?? {};
    if (use !== undefined && (this.#state === "running" || before === commands)) return use;
    const found = this.#call === undefined ? NOTHING : await this.#line.findUse(this.#call);
    this.#found = { commands, use: found };
    return found;
  }
}
