/** The calls of one reply, some of which wait for others. */
import { describe, expect, test } from "vitest";
import { attemptStart, toolCall } from "../../record/conversation/events.fixture.ts";
import { readTurnProgress, lastTurn } from "../../record/conversation/index.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { holdPrompt, type ScriptedDelivery } from "../../testing/index.ts";
import { ModelTurn, until } from "./model-turn.fixture.ts";
import type { DeliveryRequest } from "./ports.ts";
import { type NamedExecutor, ToolTurn } from "./tool-turn.fixture.ts";
import { SlowTool } from "./turn-tools.fixture.ts";

const MOON = { source: "mcp.moon" };
const READS = { ...MOON, effect: "reads" };

/** Notes when it starts and ends. */
function noting(name: string, log: string[], work: () => Promise<void> = async () => undefined) {
  const tool: NamedExecutor = {
    name,
    executor: {
      attempt: async () => {
        log.push(`${name} starts`);
        await work();
        log.push(`${name} ends`);
        return { type: "success", content: name };
      },
    },
  };
  return tool;
}

function asking(name: string): NamedExecutor {
  const question = booleanQuestion("sure", "Sure?");
  const source = { source: "tool", name } as const;
  return {
    name,
    executor: {
      attempt: async ({ answers, signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        return "sure" in answers
          ? { type: "success", content: `${name}: ${JSON.stringify(answers["sure"])}` }
          : { type: "needs_input", question, source };
      },
    },
  };
}

function calls(...names: readonly string[]) {
  return names.map((name, index) => toolCall(`call_${index + 1}`, name));
}

function starts(turn: ToolTurn): readonly string[] {
  return turn.recorded("attempt_start").map(({ toolCallId }) => toolCallId);
}

describe("calls that wait in line", () => {
  test("start once the calls before them have ended, and others at once", async () => {
    const write = new SlowTool("write");
    const log: string[] = [];
    const tools = [write, noting("read", log), noting("other", log)];
    const turn = await ToolTurn.start({ tools, config: { write: MOON, read: READS } });
    const running = turn.run(...calls("write", "read", "other"));
    await until(() => log.includes("other ends"));
    expect([starts(turn), log]).toEqual([
      ["call_1", "call_3"],
      ["other starts", "other ends"],
    ]);
    write.release();
    const responses = await running;
    expect(responses.map(({ content }) => content)).toEqual(["write is done", "read", "other"]);
    expect(log.slice(2)).toEqual(["read starts", "read ends"]);
  });

  test("have asked for permission before they wait", async () => {
    const write = new SlowTool("write");
    const config = { write: MOON, read: { ...READS, run: "ask" } };
    const turn = await ToolTurn.start({
      tools: [write, noting("read", [])],
      config,
      script: { permissions: [{ type: "run", isRemembered: false }] },
    });
    const running = turn.run(...calls("write", "read"));
    await until(() => turn.recorded("permission_request").length === 1);
    expect(starts(turn)).toEqual(["call_1"]);
    write.release();
    await running;
    expect(starts(turn)).toEqual(["call_1", "call_2"]);
  });

  test("leave nothing in doubt if they are stopped", async () => {
    const turn = await ToolTurn.start({
      tools: [new SlowTool("write"), noting("read", [])],
      config: { write: MOON, read: READS },
    });
    const cycle = await turn.begin(...calls("write", "read"));
    const running = cycle.run();
    await until(() => starts(turn).length === 1);
    cycle.stop("interrupted");
    await running;
    const { calls: open } = readTurnProgress(lastTurn(turn.conversation));
    expect(open.map(({ request, isInDoubt }) => [request.id, isInDoubt])).toEqual([
      ["call_1", true],
      ["call_2", false],
    ]);
  });

  test("get the user's message if the user stops them", async () => {
    const turn = await ToolTurn.start({
      tools: [new SlowTool("write"), noting("read", [])],
      config: { write: MOON, read: READS },
    });
    const cycle = await turn.begin(...calls("write", "read"));
    const running = cycle.run();
    await until(() => starts(turn).length === 1);
    cycle.stop("user", "Enough.");
    const responses = await running;
    expect(responses.map(({ content }) => content)).toEqual([
      expect.stringContaining("Enough."),
      expect.stringContaining("Enough."),
    ]);
    expect(starts(turn)).toEqual(["call_1"]);
  });

  test("keep waiting while a call before them is started anew", async () => {
    const write = new SlowTool("write");
    const turn = await ToolTurn.start({
      tools: [write, noting("read", [])],
      config: { write: MOON, read: READS },
    });
    const cycle = await turn.begin(...calls("write", "read"));
    const running = cycle.run();
    await until(() => write.starts === 1);
    cycle.restart();
    await until(() => write.starts === 2);
    expect(starts(turn)).toEqual(["call_1", "call_1"]);
    write.release();
    await running;
    expect(starts(turn)).toEqual(["call_1", "call_1", "call_2"]);
  });

  test("run after a call that was refused or whose tool is missing", async () => {
    const turn = await ToolTurn.start({
      tools: [noting("write", []), noting("read", [])],
      config: { write: { ...MOON, run: "skip" }, read: READS },
    });
    const responses = await turn.run(...calls("missing", "write", "read"));
    expect(responses.at(-1)?.content).toBe("read");
  });

  test("run once the result before them waits to be delivered", async () => {
    const held = holdPrompt<DeliveryRequest, ScriptedDelivery>();
    const turn = await ToolTurn.start({
      tools: [noting("write", []), noting("read", [])],
      config: { write: { ...MOON, result: "ask" }, read: READS },
      script: { deliveries: [held.reply] },
    });
    const running = turn.run(...calls("write", "read"));
    await held.opened;
    await until(() => starts(turn).includes("call_2"));
    held.answer({ type: "deliver" });
    expect((await running).map(({ content }) => content)).toEqual(["write", "read"]);
  });

  test.each<readonly [string, JsonObject, readonly string[]]>([
    ["`parallel = true` starts at once", { parallel: true }, ["call_1", "call_2"]],
    ["`parallel = false` waits only for its like", { parallel: false }, ["call_1", "call_2"]],
  ])("%s", async (_, more, started) => {
    const write = new SlowTool("write");
    const log: string[] = [];
    const turn = await ToolTurn.start({
      tools: [write, noting("read", log)],
      config: { write: MOON, read: { ...READS, ...more } },
    });
    const running = turn.run(...calls("write", "read"));
    await until(() => log.length === 2);
    expect(starts(turn)).toEqual(started);
    write.release();
    await running;
  });

  test("with `parallel = false` run in order, whatever their tools are", async () => {
    const log: string[] = [];
    const tools = ["one", "two", "three"].map((name) => noting(name, log));
    const config = Object.fromEntries(tools.map(({ name }) => [name, { parallel: false }]));
    const turn = await ToolTurn.start({ tools, config });
    await turn.run(...calls("three", "one", "two"));
    expect(log).toEqual([
      "three starts",
      "three ends",
      "one starts",
      "one ends",
      "two starts",
      "two ends",
    ]);
  });
});

describe("after a restart", () => {
  test("a call in doubt holds up those behind it, until it has ended", async () => {
    const log: string[] = [];
    const turn = await ToolTurn.start({
      tools: [noting("write", log), noting("read", log)],
      config: { write: MOON, read: READS },
      script: { answers: () => ({ answer: "run" }) },
    });
    const [write, read] = calls("write", "read");
    if (write === undefined || read === undefined) throw new Error("two calls");
    await turn.conversation.append(write, read, attemptStart("call_1"));
    const { calls: open } = readTurnProgress(lastTurn(turn.conversation));
    const { ToolCycle } = await import("./calls.ts");
    const ask = turn.prompter.ask.bind(turn.prompter);
    turn.prompter.ask = (request) => {
      log.push(`asked: ${request.kind}`);
      return ask(request);
    };
    await new ToolCycle(turn.parts, open).run();
    expect(log).toEqual([
      "asked: in_doubt",
      "write starts",
      "write ends",
      "read starts",
      "read ends",
    ]);
  });
});

describe("a turn whose call is left for later", () => {
  const DEFER = { detached: "defer" };
  const config = {
    write: { ...MOON, ...DEFER },
    read: READS,
    edit: DEFER,
  };

  async function begin(names: readonly string[]) {
    const reply = names.map((name, index) => {
      return { type: "tool_call", id: `call_${index + 1}`, name, arguments: {} } as const;
    });
    const log: string[] = [];
    const turn = await ModelTurn.create({
      tools: [asking("write"), noting("read", log), noting("other", log), asking("edit")],
      config,
      isInteractive: false,
      replies: [reply, "Done."],
    });
    return { turn, log };
  }

  test("waits, with those behind it not started, and everything else done", async () => {
    const { turn, log } = await begin(["write", "read", "other", "read"]);
    expect(await turn.run()).toEqual({ type: "waiting" });
    expect(log).toEqual(["other starts", "other ends"]);
    expect(turn.record.filter((line) => line.includes("starts"))).toEqual([
      "call_1 starts",
      "call_3 starts",
    ]);
  });

  test("continues in order once it is answered", async () => {
    const { turn, log } = await begin(["write", "read"]);
    await turn.run();
    const resumed = await ModelTurn.create({
      tools: [asking("write"), noting("read", log)],
      config,
      conversation: turn.conversation,
      script: { answers: () => ({ answer: true }) },
      replies: ["Done."],
    });
    expect(await resumed.resume()).toMatchObject({ type: "done" });
    expect(transcript(resumed.events).filter((line) => /starts|gives/.test(line))).toEqual([
      "call_1 starts",
      "call_1 starts",
      "call_1 gives: write: true",
      "call_2 starts",
      "call_2 gives: read",
    ]);
  });

  test("leaves each independent question for later", async () => {
    const { turn } = await begin(Array.from({ length: 10 }, () => "edit"));
    expect(await turn.run()).toEqual({ type: "waiting" });
    expect(turn.events.filter(({ type }) => type === "inquiry_request")).toHaveLength(10);
  });
});
