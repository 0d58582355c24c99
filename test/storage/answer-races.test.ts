/** Two processes answer the same question at the same time, over and over: one is recorded, and the other told. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type ConversationId,
  type InquiryResponse,
  eventsOf,
} from "../../src/record/conversation/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import type { AnswerResult } from "../../src/stores/index.ts";
import {
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { ChildProgram } from "../support/child-program.ts";
import { migratedDatabase } from "../support/postgres.ts";

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

/** Where conversations are, and how many races are run there: a killed process keeps a lease in a database for seconds. */
interface Ground {
  readonly name: string;
  readonly races: number;
  readonly kills: number;
  readonly url?: () => Promise<string>;
}

const GROUNDS: readonly Ground[] = [
  { name: "in files", races: 480, kills: 40 },
  { name: "in PostgreSQL", races: 200, kills: 6, url: migratedDatabase },
];

class Races {
  readonly #workspace: TemporaryWorkspace;
  readonly #database: readonly string[];
  readonly #answerers: readonly ChildProgram[];

  static async start({ url }: Ground): Promise<Races> {
    const address = await url?.();
    const races = new Races(address === undefined ? [] : [address]);
    await Promise.all(races.#answerers.map((program) => program.nextLine()));
    return races;
  }

  private constructor(database: readonly string[]) {
    this.#database = database;
    const [url] = database;
    this.#workspace = temporaryWorkspace(url === undefined ? {} : { database: { url } });
    this.#answerers = NAMES.map((name) => this.program(name));
    onTestFinished(() => this.#workspace.conversations.close?.());
  }

  program(name: string): ChildProgram {
    const { root, data } = this.#workspace;
    return ChildProgram.ofTests("answer-program.ts", root, data, name, ...this.#database);
  }

  async place(): Promise<ConversationId> {
    this.#workspace.clock.advance(1000); // Or each would search for a free id from the first on.
    await using writer = await this.#workspace.conversations.create({});
    await writer.append(...WAITING);
    return writer.id;
  }

  /** Resolves when an answer waits for the asking process. */
  async offered(id: ConversationId): Promise<void> {
    if (this.#database.length > 0) return loopTurns(2000);
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

describe.each(GROUNDS)("$name", (ground) => {
  test("with no one asking any more", { timeout: 600_000 }, async () => {
    const races = await Races.start(ground);
    for (let race = 0; race < ground.races; race += 1) {
      expect(FAIR).toContainEqual(await races.run(await races.place()));
    }
  });

  test("with the asking process alive", { timeout: 600_000 }, async () => {
    const races = await Races.start(ground);
    const asker = races.program("asker");
    await asker.nextLine();
    for (let race = 0; race < ground.races; race += 1) {
      const id = await races.place();
      asker.tell(`ask ${id}`);
      await asker.nextLine();
      expect(FAIR).toContainEqual(await races.run(id));
      asker.tell("stop");
      await asker.nextLine();
    }
  });

  test("with the asking process ending in between, or killed", { timeout: 600_000 }, async () => {
    const races = await Races.start(ground);
    for (let race = 0; race < ground.kills; race += 1) {
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
});
