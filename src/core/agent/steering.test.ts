import { describe, expect, test } from "vitest";
import { findRequest } from "../../record/conversation/index.ts";
import { holdPrompt, type ScriptedAnswer } from "../../testing/index.ts";
import { ModelTurn, type ModelTurnOptions, until } from "./model-turn.fixture.ts";
import type { DoubtRequest, QuestionRequest, SteeringMessage, SteeringSource } from "./ports.ts";
import type { TurnMessage } from "./turn.ts";
import { asker, echo, SlowTool, WRITE_FAILED } from "./turn-tools.fixture.ts";
import { StorageError } from "../../stores/index.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;
const STEERED = "Rather in Rust";

/** Messages that the user has written, until the turn takes them. */
class Written implements SteeringSource {
  left: readonly SteeringMessage[];
  recorded = 0;

  constructor(...texts: readonly string[]) {
    this.left = texts.map((content) => ({ content }));
  }

  take(): readonly SteeringMessage[] {
    const taken = this.left;
    this.left = [];
    return taken;
  }

  onRecorded(): void {
    this.recorded += 1;
  }
}

async function start(options: Partial<ModelTurnOptions>): Promise<ModelTurn> {
  return ModelTurn.create({ tools: [echo, asker], replies: [], ...options });
}

describe("a message for a running turn", () => {
  test("follows the results of all calls, and the model gets it with them", async () => {
    const slow = new SlowTool();
    const steering = new Written();
    const turn = await start({
      tools: [echo, slow],
      steering,
      replies: [[call("a", "slow"), call("b", "echo")], "Done."],
    });
    const end = turn.run("Write it");
    await until(() => slow.starts === 1 && turn.record.includes("b gives: nothing"));
    steering.left = [{ content: STEERED, author: "Ann" }, { content: "And quickly" }];
    slow.release();
    await end;
    expect(turn.record.slice(-5)).toEqual([
      "b gives: nothing",
      "a gives: slow is done",
      `person: ${STEERED}`,
      "person: And quickly",
      "message: Done.",
    ]);
    expect(turn.shown.at(-1)?.slice(-4)).toEqual([
      "a gives: slow is done",
      "b gives: nothing",
      `person: ${STEERED}`,
      "person: And quickly",
    ]);
    expect([steering.recorded, turn.events.at(-3)]).toEqual([
      1,
      {
        type: "chat_request",
        timestamp: "2026-01-02 03:04:05.678",
        content: STEERED,
        author: "Ann",
        isSteering: true,
      },
    ]);
  });

  test("leaves the turn to whoever has started it", async () => {
    const steering = new Written();
    steering.left = [{ content: STEERED, author: "Ann" }];
    const turn = await start({ steering, replies: [[call("a", "echo")], "Done."] });
    await turn.run({ content: "Write it", author: "Ben" });
    expect(findRequest(turn.events)).toMatchObject({
      content: `Write it\n\n${STEERED}`,
      author: "Ben",
    });
  });

  test("starts no turn, and the answer still has to match the schema of the first message", async () => {
    const schema = { type: "object", required: ["name"] };
    const turn = await start({
      steering: new Written(STEERED),
      replies: [[call("a", "echo")], '{"name":"x"}'],
    });
    await turn.run({ content: "Name it", schema });
    expect(turn.record.filter((line) => line === "turn")).toHaveLength(1);
    expect(turn.model.requests.map(({ parts }) => parts.schema)).toEqual([schema, schema]);
  });

  test.each<[string, Partial<ModelTurnOptions>, TurnMessage?]>([
    ["no tool has run", { replies: ["Done."] }],
    [
      "no request follows, because the limit is reached",
      { replies: [[call("a", "echo")]], maxCycles: 1 },
    ],
    [
      "the turn waits for a person",
      {
        replies: [[call("a", "asker")]],
        isInteractive: false,
        config: { asker: { detached: "defer" } },
      },
    ],
    [
      "the answer has to be corrected",
      { replies: ["no JSON", "neither"] },
      { content: "Hello", schema: { type: "object" }, isChecked: true },
    ],
  ])("stays with its writer if %s", async (_, options, message = { content: "Hello" }) => {
    const steering = new Written(STEERED);
    const turn = await start({ steering, ...options });
    await turn.run(message);
    expect([steering.left, turn.record.includes(`person: ${STEERED}`)]).toEqual([
      [{ content: STEERED }],
      false,
    ]);
  });

  test("stays with its writer if the user stops the turn", async () => {
    const slow = new SlowTool();
    const steering = new Written(STEERED);
    const turn = await start({
      tools: [slow],
      steering,
      replies: [[call("a", "slow")], "Done."],
      script: { choices: [{ type: "stop" }] },
    });
    const end = turn.run();
    await until(() => slow.starts === 1);
    turn.press();
    expect([await end, steering.left]).toEqual([{ type: "stopped" }, [{ content: STEERED }]]);
  });

  test("is sent again when the turn is resumed after its request has failed", async () => {
    const { conversation } = await failAfterSteering();
    const resumed = await start({ conversation, replies: ["Done."] });
    await resumed.resume();
    expect(resumed.shown).toEqual([
      ["person: Hello", "a calls echo", "a gives: nothing", `person: ${STEERED}`],
    ]);
    expect(resumed.record.filter((line) => line === `person: ${STEERED}`)).toHaveLength(1);
  });

  test("can follow another one before the model has replied", async () => {
    const { conversation } = await failAfterSteering();
    const resumed = await start({
      conversation,
      steering: new Written("And quickly"),
      replies: ["Done."],
    });
    await resumed.resume();
    expect(resumed.shown[0]?.slice(-2)).toEqual([`person: ${STEERED}`, "person: And quickly"]);
  });

  test("comes after the words with which the user turns down a call", async () => {
    const turn = await start({
      config: { echo: { run: "ask" } },
      steering: new Written(STEERED),
      script: {
        permissions: [{ type: "skip", reason: "Not that", redirects: true }, { type: "run" }],
      },
      replies: [[call("a", "echo")], [call("b", "echo")], "Done."],
    });
    await turn.run("Write it");
    expect(turn.record.filter((line) => /^(turn|person|message)/.test(line))).toEqual([
      "turn",
      "person: Write it",
      "turn stopped",
      "turn",
      "person: Not that",
      `person: ${STEERED}`,
      "message: Done.",
    ]);
  });

  test("answers no prompt that is open meanwhile", async () => {
    const prompt = holdPrompt<QuestionRequest | DoubtRequest, ScriptedAnswer>();
    const steering = new Written();
    const turn = await start({
      steering,
      script: { answers: [prompt.reply] },
      replies: [[call("a", "asker")], "Done."],
    });
    const end = turn.run();
    await prompt.opened;
    steering.left = [{ content: "yes" }];
    prompt.answer({ answer: false });
    await end;
    expect(turn.record.slice(-3)).toEqual(["a gives: got false", "person: yes", "message: Done."]);
  });

  test("is not counted as recorded if it cannot be written", async () => {
    const steering = new Written(STEERED);
    const turn = await start({
      steering,
      replies: [[call("a", "echo")], "Done."],
      beforeAppend: (events) => {
        if (events.some((event) => event.type === "chat_request" && event.isSteering === true))
          throw new StorageError("write_failed", WRITE_FAILED.message);
      },
    });
    await expect(turn.run()).rejects.toThrow(WRITE_FAILED.message);
    expect(steering.recorded).toBe(0);
  });
});

/** A turn whose second request fails: it carried the message. */
async function failAfterSteering(): Promise<ModelTurn> {
  const turn = await start({
    steering: new Written(STEERED),
    replies: [[call("a", "echo")], [{ type: "error", error: new Error("Broken.") }]],
  });
  await expect(turn.run()).rejects.toThrow("Broken.");
  return turn;
}
