/** Rounds with real tools: a call is decided, one thing changes or nothing does, and its turn goes on. */
import path from "node:path";
import * as fc from "fast-check";
import { assert } from "vitest";
import type { PendingDecision } from "../../src/assemble/index.ts";
import { bundlePrograms } from "../support/bundle-programs.ts";
import { Scene, sceneWorkspace } from "./void-scene.ts";
import { type Change, type ToolKind, type World, WORLDS } from "./void-worlds.ts";

/** Everything that is left to chance. A number chooses among as many as there are. */
interface Choices {
  readonly world: number;
  readonly change: number;
  /** The decision at which the world changes: the first, the second, … */
  readonly step: number;
  /** Before or after it is answered. `resumed`: before, and the turn is continued in between. */
  readonly moment: "before" | "after" | "resumed";
  readonly run: "ask" | "unattended";
  readonly asks: boolean;
  /** The attempt at whose start a process dies. None does if there is no such attempt. */
  readonly diesAt: number;
  /** Whether a process finds the doubt before someone decides about it. */
  readonly isFound: boolean;
}

const anyChoices: fc.Arbitrary<Choices> = fc.record({
  world: fc.nat(),
  change: fc.nat(),
  step: fc.nat(),
  moment: fc.constantFrom("before", "after", "resumed"),
  run: fc.constantFrom("ask", "unattended"),
  asks: fc.boolean(),
  diesAt: fc.constantFrom(0, 0, 1, 2),
  isFound: fc.boolean(),
});

/** Rounds that have found something. In these, one change made a permission void twice. */
const FOUND: Readonly<Record<ToolKind, readonly Choices[]>> = {
  builtin: [],
  local: [],
  mcp: [
    {
      world: 265185608,
      change: 2147483618,
      step: 1343472917,
      moment: "before",
      run: "ask",
      asks: true,
      diesAt: 2,
      isFound: false,
    },
  ],
  program: [
    {
      world: 18,
      change: 335320701,
      step: 1589570882,
      moment: "resumed",
      run: "ask",
      asks: true,
      diesAt: 1,
      isFound: true,
    },
  ],
};

/** Plays rounds with tools of this kind. `JP_FUZZ_TIMES` multiplies their number. */
export async function playRounds(kind: ToolKind, count: number): Promise<void> {
  await using programs = await bundlePrograms({
    server: path.join(import.meta.dirname, "void-server-program.ts"),
  });
  const server = path.join(programs.folder, "server.mjs");
  const property = fc.asyncProperty(anyChoices, (choices) => playRound(kind, choices, server));
  const all = count * Number(process.env["JP_FUZZ_TIMES"] ?? 1);
  // To look for a smaller example would take as long again.
  const options = { numRuns: Math.ceil(all / AT_ONCE), endOnFailure: true };
  const examples = FOUND[kind].map((choices): [Choices] => [choices]);
  await Promise.all(
    Array.from({ length: AT_ONCE }, (_, index) =>
      fc.assert(property, index === 0 ? { ...options, examples } : options),
    ),
  );
}

/** A round mostly waits for its processes. */
const AT_ONCE = 2;

async function playRound(kind: ToolKind, choices: Choices, server: string): Promise<void> {
  const { diesAt, asks } = choices;
  const workspace = sceneWorkspace();
  const { root } = workspace;
  const make = pick(WORLDS[kind], choices.world);
  // Without a question, there is always a permission to decide about.
  const run = asks ? choices.run : "ask";
  const world = make({ root, outside: path.dirname(root), server }, { run, asks });
  const isInDoubt = !world.isIdempotent && diesAt >= 1 && diesAt <= (world.asks ? 2 : 1);
  const scene = new Scene(workspace, { ...world, diesAt: isInDoubt ? [diesAt] : [] });
  const [name, change] = pick(Object.entries(world.changes), choices.change);
  const decisions = [run === "ask", world.asks, isInDoubt].filter(Boolean).length;
  const round = new Round(scene, world, { ...choices, change });
  try {
    await round.play(choices.step % decisions);
    const isAskedAnew = world.asksAnew === true && isInDoubt && diesAt === 2;
    await round.check(decisions + (isAskedAnew ? 1 : 0));
  } catch (error) {
    throw new Error(`${make.name}, ${name}`, { cause: error });
  }
}

function pick<Value>(values: readonly Value[], choice: number): Value {
  const value = values[choice % values.length];
  if (value === undefined) throw new Error("There is nothing to choose from.");
  return value;
}

interface Plan extends Pick<Choices, "moment" | "isFound"> {
  readonly change: Change;
}

const MAX_STEPS = 10;

class Round {
  readonly #scene: Scene;
  readonly #world: World;
  readonly #plan: Plan;
  /** Those that were approved, in order. */
  readonly #approved: PendingDecision[] = [];
  /** Those that were approved when the world had just changed, or before. */
  #before: readonly PendingDecision[] = [];
  #isChanged = false;
  /** No process had found the doubt that was decided about when the world changed. */
  #isUnfound = false;

  constructor(scene: Scene, world: World, plan: Plan) {
    this.#scene = scene;
    this.#world = world;
    this.#plan = plan;
  }

  /** Says yes to everything, until nothing waits. The world changes at one of the decisions. */
  async play(changesAt: number): Promise<void> {
    const scene = this.#scene;
    let end = await scene.proceed();
    for (let step = 0; step < MAX_STEPS; step += 1) {
      // What was permitted before a change is not what is in doubt after it: a process has to find that out.
      const isFound = this.#plan.isFound || this.#isChanged;
      if (end === "interrupted" && isFound) end = await scene.proceed();
      const item = await scene.pending();
      if (item === undefined) break;
      if (step === changesAt) end = await this.#approveAndChange(item);
      else {
        await this.#approve(item);
        end = await scene.proceed();
      }
    }
    assert.deepEqual([end, await scene.pending()], ["done", undefined]);
  }

  async check(decisions: number): Promise<void> {
    const scene = this.#scene;
    const { outcome } = this.#plan.change;
    const isDone =
      outcome.type !== "fails" && !(outcome.type === "void" && outcome.isLost === true);
    assert.equal(await this.#effects(), isDone ? 1 : 0);
    const voids = await scene.voids();
    if (outcome.type !== "void" || !this.#isSeen(outcome.parts)) assert.deepEqual(voids, []);
    if (outcome.type === "counts") assert.equal(this.#approved.length, decisions);
    if (outcome.type !== "void") return;
    // No request has the parts of a doubt that no process has found.
    const hasUnfound = this.#approved.some(({ request }) => request === undefined);
    const codes = [outcome.parts.join(), ...(hasUnfound ? ["digest"] : [])];
    assert.includeMembers(
      codes,
      voids.map((parts) => parts.join()),
    );
    const isNoticed = this.#isSeen(outcome.parts) && !this.#isUnfound;
    if (isNoticed) assert.isNotEmpty(voids);
  }

  /** Returns how the process ended that got the answer. */
  async #approveAndChange(item: PendingDecision): Promise<string> {
    const scene = this.#scene;
    const { moment, change } = this.#plan;
    const { outcome } = change;
    if (moment !== "after") change.apply();
    this.#isChanged = true;
    this.#isUnfound = item.request === undefined;
    let asked: PendingDecision | undefined = item;
    if (moment === "resumed") {
      const end = await scene.proceed();
      asked = await scene.pending();
      if (asked === undefined) return end;
    }
    await this.#approve(asked);
    this.#before = [...this.#approved];
    if (moment === "after") change.apply();
    const end = await scene.proceed();
    // A tool alone knows what its question is about, so that no one can be asked anew before it runs.
    const isAskedAnew =
      outcome.type === "void" && !isBinding(outcome.parts) && moment === "resumed";
    if (outcome.type === "counts" || isAskedAnew) return end;
    assert.equal(await this.#effects(), 0);
    assert.notEqual(await scene.approve(asked), "recorded");
    return end;
  }

  async #approve(item: PendingDecision): Promise<void> {
    assert.equal(await this.#scene.approve(item), "recorded");
    this.#approved.push(item);
  }

  async #effects(): Promise<number> {
    return this.#world.effects(await this.#scene.events());
  }

  /** Whether anything was decided that depends on these parts. */
  #isSeen(parts: readonly string[]): boolean {
    return !isBinding(parts) || this.#before.some(({ kind }) => kind === "question");
  }
}

function isBinding(parts: readonly string[]): boolean {
  return parts.includes("binding");
}
