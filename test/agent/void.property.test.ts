/** A decision counts for what was shown: anything else that would run is asked about again. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { settingsOf } from "../../src/core/agent/tool-turn.fixture.ts";
import type { CallableTool, Toolbox } from "../../src/core/agent/index.ts";
import {
  type ConversationEvent,
  type DecisionKind,
  eventsOf,
} from "../../src/record/conversation/index.ts";
import {
  answerInquiry,
  createTurn,
  listPending,
  type PendingDecision,
} from "../../src/assemble/index.ts";
import { FakeClock, MemoryConversationStore, ScriptedModel } from "../../src/testing/index.ts";
import { booleanQuestion, type ToolSource } from "../../src/record/tool/index.ts";
import { counters } from "../security/threats.ts";

/** `JP_FUZZ_TIMES` multiplies it. 10,000 rounds take a minute and a half. */
const ROUNDS = 400 * Number(process.env["JP_FUZZ_TIMES"] ?? 1);

/** Everything that a call depends on. */
interface World {
  readonly source: ToolSource;
  /** The default of an argument that the model leaves out. */
  readonly mode: string;
  /** The tool's own digest of what it asks about. */
  readonly binding: string;
}

const SOURCES: Readonly<Record<string, ToolSource>> = {
  builtin: { origin: { type: "builtin" } },
  program: { origin: { type: "program" } },
  local: {
    origin: { type: "local", command: "sh deploy.sh" },
    identity: { program: "sh", args: ["deploy.sh"], shell: false },
    program: { path: "/bin/sh", sha256: "aa" },
    file: [{ path: "/w/deploy.sh", sha256: "bb" }],
    folder: ".",
  },
  mcp: {
    origin: { type: "mcp", server: "ops", tool: "deploy", command: "ops-server" },
    identity: { program: "ops-server", args: [] },
    definition: { description: "Deploys.", inputSchema: { type: "object" } },
  },
};

/** By the code that the record has for it. */
const CHANGES: Readonly<Record<string, (world: World) => World>> = {
  arguments: (world) => ({ ...world, mode: "all" }),
  source: ({ source, ...world }) => ({
    ...world,
    source: { ...source, identity: { program: "other" } },
  }),
  program: ({ source, ...world }) => ({ ...world, source: { ...source, program: { path: "/x" } } }),
  file: ({ source, ...world }) => ({ ...world, source: { ...source, file: [] } }),
  definition: ({ source, ...world }) => ({
    ...world,
    source: { ...source, definition: { description: "Deploys, and more." } },
  }),
  folder: ({ source, ...world }) => ({ ...world, source: { ...source, folder: "sub" } }),
};

/** Only a tool that asks has one. */
const REBOUND = (world: World): World => ({ ...world, binding: "another" });

type Answer = Parameters<typeof answerInquiry>[2];

const YES: Readonly<Record<DecisionKind, Answer>> = {
  question: { answer: true },
  permission: { answer: true },
  delivery: { answer: true },
  in_doubt: { answer: "run" },
};

const NO: Readonly<Record<DecisionKind, Answer>> = {
  ...YES,
  question: { answer: false },
  permission: { answer: false },
  delivery: { answer: false },
  in_doubt: { answer: "skip" },
};

/** One call of one tool, whose turn goes on in one process after the other. */
class Scene {
  world: World;
  /** How often the tool did its work, and with which arguments. */
  readonly runs: string[] = [];
  #store = new MemoryConversationStore(new FakeClock());
  #id: Awaited<ReturnType<MemoryConversationStore["create"]>>["id"] | undefined;
  readonly #kind: DecisionKind;
  #dies = false;

  constructor(kind: DecisionKind, world: World) {
    this.#kind = kind;
    this.world = world;
    this.#dies = kind === "in_doubt";
  }

  /** A copy of the conversation, with the same tool. */
  async fork(): Promise<Scene> {
    const fork = new Scene(this.#kind, this.world);
    if (this.#id === undefined) throw new Error("There is nothing to copy.");
    fork.#store = this.#store;
    fork.#id = await this.#store.fork(this.#id);
    return fork;
  }

  /** Lets the turn go on until it waits or ends. */
  async proceed(): Promise<void> {
    const isFirst = this.#id === undefined;
    await using conversation =
      this.#id === undefined ? await this.#store.create({}) : await this.#store.open(this.#id);
    this.#id = conversation.id;
    const call = { type: "tool_call", id: "call_1", name: "deploy" } as const;
    const turn = createTurn({
      conversation,
      model: new ScriptedModel({ replies: isFirst ? [[call], "Done."] : ["Done."] }),
      toolbox: this.#toolbox(() => turn.leave()),
      defer: true,
      clock: new FakeClock(),
    });
    await (isFirst ? turn.run({ content: "Deploy it." }) : turn.resume());
  }

  /** The only thing that waits. */
  async pending(): Promise<PendingDecision | undefined> {
    const all = await listPending(this.#store);
    const [item, ...others] = all.filter(({ conversation }) => conversation === this.#id);
    if (others.length > 0) throw new Error("Several things wait.");
    return item;
  }

  async answer(answer: Answer): Promise<string> {
    const item = await this.pending();
    if (item === undefined) throw new Error("Nothing waits.");
    if (item.kind !== this.#kind) throw new Error(`A ${item.kind} waits.`);
    return (await answerInquiry(this.#store, item, answer)).type;
  }

  async events(): Promise<readonly ConversationEvent[]> {
    if (this.#id === undefined) return [];
    return [...eventsOf((await this.#store.load(this.#id)).stream.entries)];
  }

  async voids(): Promise<readonly (readonly string[])[]> {
    const events = await this.events();
    return events.flatMap((event) => (event.type === "decision_void" ? [event.changed] : []));
  }

  #toolbox(die: () => void): Toolbox {
    return { schemas: async () => [], find: async () => this.#tool(die) };
  }

  #tool(die: () => void): CallableTool {
    const { source, mode, binding } = this.world;
    const kind = this.#kind;
    return {
      settings: settingsOf("deploy", {
        source: "builtin",
        run: kind === "permission" ? "ask" : "unattended",
        result: kind === "delivery" ? "ask" : "unattended",
      }),
      description: {
        name: "deploy",
        summary: "",
        parameters: { type: "object", properties: { mode: { type: "string", default: mode } } },
      },
      describeSource: async () => source,
      executor: {
        attempt: async ({ arguments: args, answers, bindings = {}, signal }) => {
          const isAnswered = answers["sure"] === false || bindings["sure"] === binding;
          if (kind === "question" && !isAnswered) {
            const question = booleanQuestion("sure", "Sure?", { exclusive: true, binding });
            return { type: "needs_input", question, source: { source: "tool", name: "deploy" } };
          }
          if (this.#dies) {
            this.#dies = false;
            die(); // Which aborts the signal.
            return signal.aborted ? { type: "cancelled" } : { type: "error", content: "alive" };
          }
          const isDone = answers["sure"] !== false;
          if (isDone) this.runs.push(JSON.stringify(args));
          return { type: "success", content: isDone ? "done" : "declined" };
        },
      },
    };
  }
}

const anyKind = fc.constantFrom<DecisionKind>("question", "permission", "in_doubt");
const anySource = fc.constantFrom(...Object.keys(SOURCES));

async function sceneOf(kind: DecisionKind, source: string): Promise<Scene> {
  const world = {
    source: SOURCES[source] ?? { origin: { type: "builtin" } },
    mode: "one",
    binding: "this",
  };
  const scene = new Scene(kind, world);
  await scene.proceed();
  if (kind === "in_doubt") await scene.proceed(); // The second process finds the doubt.
  return scene;
}

describe("a yes that waits for its process", () => {
  test("counts for what was shown and for nothing else, whichever part changes", async () => {
    counters("T-DECIDE-1");
    const anyChange = fc.constantFrom("nothing", "binding", ...Object.keys(CHANGES));
    await fc.assert(
      fc.asyncProperty(anyKind, anySource, anyChange, async (kind, source, change) => {
        const scene = await sceneOf(kind, source);
        const before = scene.runs.length;
        expect(await scene.answer(YES[kind])).toBe("recorded");
        const isRebound = change === "binding" && kind === "question";
        const alter = change === "binding" ? (isRebound ? REBOUND : undefined) : CHANGES[change];
        scene.world = alter === undefined ? scene.world : alter(scene.world);
        await scene.proceed();
        const again = await scene.pending();
        expect([scene.runs.length - before, await scene.voids(), again?.changed]).toEqual(
          alter === undefined ? [1, [], undefined] : [0, [[change]], [change]],
        );
        // A person who sees the change may still say yes, and then it counts.
        if (again !== undefined) await scene.answer(YES[kind]);
        await scene.proceed();
        expect([scene.runs.length - before, await scene.pending()]).toEqual([1, undefined]);
      }),
      { numRuns: ROUNDS },
    );
  }, 600_000);

  test("does not count in a fork, where everything unfinished is asked about again", async () => {
    counters("T-DECIDE-2");
    for (const kind of ["permission", "question"] as const) {
      const scene = await sceneOf(kind, "local");
      await scene.answer(YES[kind]);
      const forks = await Promise.all([1, 2, 3].map(async () => scene.fork()));
      for (const each of [scene, ...forks]) await each.proceed();
      expect([scene.runs.length, ...forks.map(({ runs }) => runs.length)]).toEqual([1, 0, 0, 0]);
      expect(await Promise.all(forks.map(async (fork) => fork.voids()))).toEqual(
        forks.map(() => [["call"]]),
      );
    }
  });
});

test("a no stands, whatever has changed since", async () => {
  for (const kind of ["question", "permission", "in_doubt"] as const) {
    for (const change of Object.values(CHANGES)) {
      const scene = await sceneOf(kind, "local");
      expect(await scene.answer(NO[kind])).toBe("recorded");
      scene.world = change(scene.world);
      await scene.proceed();
      expect([scene.runs, await scene.voids(), await scene.pending()]).toEqual([[], [], undefined]);
    }
  }
});

test("a yes to a result counts for that result, whatever becomes of its tool", async () => {
  for (const change of Object.values(CHANGES)) {
    const scene = await sceneOf("delivery", "local");
    await scene.answer({ answer: true });
    scene.world = change(scene.world);
    await scene.proceed();
    expect([scene.runs.length, await scene.voids(), await scene.pending()]).toEqual([
      1,
      [],
      undefined,
    ]);
  }
});

test("an answer with the digest of something else is refused as changed", async () => {
  for (const kind of ["question", "permission", "delivery", "in_doubt"] as const) {
    const scene = await sceneOf(kind, "mcp");
    const digest = "0".repeat(64);
    expect(await scene.answer({ ...YES[kind], digest })).toBe("changed");
    expect(await scene.answer(YES[kind])).toBe("recorded");
  }
});

test("a call whose subject changes after every yes fails after the third", async () => {
  counters("T-DECIDE-3");
  for (const kind of ["question", "permission", "in_doubt"] as const) {
    const scene = await sceneOf(kind, "local");
    for (const mode of ["two", "three", "four"]) {
      await scene.answer(YES[kind]);
      scene.world = { ...scene.world, mode };
      await scene.proceed();
    }
    const events = await scene.events();
    const response = events.find((event) => event.type === "tool_call_response");
    expect([scene.runs, (await scene.voids()).length, await scene.pending()]).toEqual([
      [],
      3,
      undefined,
    ]);
    expect(response).toMatchObject({
      isError: true,
      content: expect.stringContaining("changed each time"),
    });
  }
});
