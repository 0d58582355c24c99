/** Two processes answer the same question at the same time, over and over: one is recorded, and the other told. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  type ConversationId,
  type InquiryResponse,
  eventsOf,
} from "../../src/conversation/index.ts";
import { answerBy, WAITING } from "../../src/storage/open-question.fixture.ts";
import type { AnswerResult } from "../../src/storage/index.ts";
import {
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/storage/temporary-workspace.fixture.ts";
import { ChildProgram } from "../support/child-program.ts";

const NAMES = ["Ana", "Ben"] as const;

interface Outcome {
  /** The answers on record. */
  readonly recorded: readonly InquiryResponse[];
  /** Who was told that theirs is on record. */
  readonly winners: readonly string[];
  /** What the others were told. */
  readonly losers: readonly Exclude<AnswerResult, { readonly type: "recorded" }>[];
}

const FAIR = NAMES.map((name): Outcome => {
  const event = answerBy(name);
  return { recorded: [event], winners: [name], losers: [{ type: "taken", event }] };
});

class Races {
  readonly #workspace: TemporaryWorkspace = temporaryWorkspace();
  readonly #answerers = NAMES.map((name) => this.program(name));

  program(name: string): ChildProgram {
    const { root, data } = this.#workspace;
    return ChildProgram.ofTests("answer-program.ts", root, data, name);
  }

  async ready(): Promise<void> {
    await Promise.all(this.#answerers.map((program) => program.nextLine()));
  }

  async place(): Promise<ConversationId> {
    this.#workspace.clock.advance(1000); // Or each would search for a free id from the first on.
    await using writer = await this.#workspace.conversations.create({});
    await writer.append(...WAITING);
    return writer.id;
  }

  /** Resolves when an answer waits for the asking process. */
  async offered(id: ConversationId): Promise<void> {
    const folder = path.join(this.#workspace.userFolder, "offers");
    const isThere = () => readdirSync(folder).some((name) => name.startsWith(`${id}.`));
    for (let turn = 0; turn < 100_000 && !isThere(); turn += 1) await setImmediate();
  }

  /** `meanwhile` is run when both have been told to answer. */
  async run(
    id: ConversationId,
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<Outcome> {
    for (const program of this.#answerers) program.tell(`answer ${id}`);
    await meanwhile();
    const results = (await Promise.all(
      this.#answerers.map((program) => program.nextJson()),
    )) as AnswerResult[];
    const { stream } = await this.#workspace.conversations.load(id);
    return {
      recorded: [...eventsOf(stream.entries)].filter((event) => event.type === "inquiry_response"),
      winners: NAMES.filter((_, index) => results[index]?.type === "recorded"),
      losers: results.filter((result) => result.type !== "recorded"),
    };
  }
}

/** Different moments of whatever else is going on. */
async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

test("with no one asking any more", { timeout: 600_000 }, async () => {
  const races = new Races();
  await races.ready();
  for (let race = 0; race < 480; race += 1) {
    expect(FAIR).toContainEqual(await races.run(await races.place()));
  }
});

test("with the asking process alive", { timeout: 600_000 }, async () => {
  const races = new Races();
  const asker = races.program("asker");
  await Promise.all([races.ready(), asker.nextLine()]);
  for (let race = 0; race < 480; race += 1) {
    const id = await races.place();
    asker.tell(`ask ${id}`);
    await asker.nextLine();
    expect(FAIR).toContainEqual(await races.run(id));
    asker.tell("stop");
    await asker.nextLine();
  }
});

test("with the asking process ending in between, or killed", { timeout: 600_000 }, async () => {
  const races = new Races();
  await races.ready();
  for (let race = 0; race < 40; race += 1) {
    const asker = races.program("asker");
    await asker.nextLine();
    const id = await races.place();
    asker.tell(`ask ${id}`);
    await asker.nextLine();
    const outcome = await races.run(id, async () => {
      await Promise.race([races.offered(id), loopTurns(race * 20)]);
      if (race % 4 === 0) asker.tell("stop");
      else await asker.kill();
    });
    expect(FAIR).toContainEqual(outcome);
    await asker.kill();
  }
});
