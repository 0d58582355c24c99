import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../test/security/threats.ts";
import { temporaryFolder } from "../../../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../../testing/index.ts";
import { parseConversationId } from "../../../record/conversation/index.ts";
import { Drafts, removeDrafts, SAVE_MS, type Unsent } from "./drafts.ts";

const X = parseConversationId("jp-c17457886043");
const Y = parseConversationId("jp-c17457886044");

function place(folder = temporaryFolder()) {
  const root = path.join(folder, "project");
  const data = path.join(folder, "data");
  mkdirSync(root, { recursive: true });
  const environment = {
    variables: { JP_USER_DATA_DIR: data, API_TOKEN: "correct-horse" },
    home: "/nowhere",
    platform: process.platform,
  };
  return { environment, workspace: { root }, data, clock: new FakeClock() };
}

type Place = ReturnType<typeof place>;

/** A session, with the text that was typed in it. */
function session(context: Place, first: Unsent = { id: X, texts: [] }) {
  let unsent = first;
  const problems: string[] = [];
  const drafts = new Drafts({
    context,
    source: () => unsent,
    onProblem: (problem) => void problems.push(problem),
  });
  return {
    drafts,
    problems,
    type: (...texts: readonly string[]) => {
      unsent = { ...unsent, texts };
      drafts.note();
    },
    moveTo: (id: Unsent["id"]) => {
      unsent = { ...unsent, id };
    },
    /** Adds what earlier sessions have left. */
    takeOver: async () => {
      let taken: readonly string[] = [];
      await drafts.takeOver(unsent.id, (texts) => {
        taken = texts;
        unsent = { ...unsent, texts: [...unsent.texts, ...texts] };
      });
      return taken;
    },
  };
}

/** The texts of each file, without the part of its name that is random. */
function saved({ data }: Place): Readonly<Record<string, unknown>> {
  const files = filesIn(data).filter((file) => file.endsWith(".json"));
  return Object.fromEntries(
    files.map((file) => [
      path.basename(file).split(".")[0],
      (JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>)["texts"],
    ]),
  );
}

function filesIn(data: string): readonly string[] {
  const folder = path.join(data, "drafts");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** Replaces the only file with this one, as left by a session that has ended. */
async function leaveFile(context: Place, write: (file: string) => void): Promise<string> {
  const one = session(context, { id: X, texts: ["half"] });
  await one.drafts.end();
  const [file = ""] = filesIn(context.data);
  rmSync(file);
  write(file);
  return file;
}

describe("text that was not sent", () => {
  test("is saved soon after it was typed, for this user only, and gone once it is sent", async () => {
    counters("T-SEC-13");
    const context = place();
    const one = session(context);
    one.type("ha");
    one.type("half");
    const before = [saved(context), context.clock.sleepers];
    context.clock.advance(SAVE_MS);
    await one.drafts.takeOver(X, () => {}); // Comes after.
    const after = saved(context);
    const modes = filesIn(context.data).flatMap((file) =>
      [file, path.dirname(file)].map((each) => statSync(each).mode & 0o777),
    );
    one.type();
    await one.drafts.save();
    expect([before, after, modes, saved(context)]).toEqual([
      [{}, 1],
      { [X]: ["half"] },
      [0o600, 0o700, 0o600, 0o700],
      {},
    ]);
  });

  test("is saved at once where this is asked for, and the file follows a new conversation", async () => {
    const context = place();
    const one = session(context, { id: undefined, texts: ["half"] });
    await one.drafts.save();
    const before = saved(context);
    one.moveTo(X);
    await one.drafts.save();
    expect([before, saved(context)]).toEqual([{ new: ["half"] }, { [X]: ["half"] }]);
  });

  test("stays with the conversation that the session leaves", async () => {
    const context = place();
    const one = session(context, { id: X, texts: ["half"] });
    await one.drafts.leave({ id: X, texts: ["half"] });
    one.moveTo(Y);
    one.type("other");
    await one.drafts.save();
    expect(saved(context)).toEqual({ [X]: ["half"], [Y]: ["other"] });
  });

  test.each([
    ["text that starts with a space", " private"],
    ["the value of a secret variable", "use correct-horse here"],
    ["a key", `it is sk-${"a1".repeat(12)}`],
  ])("is not saved if it is private: %s", async (_, text) => {
    counters("T-SEC-13");
    const context = place();
    const one = session(context, { id: X, texts: [text, "plain"] });
    await one.drafts.save();
    expect(saved(context)).toEqual({ [X]: ["plain"] });
  });

  test("is saved up to a limit, the first texts of it", async () => {
    const context = place();
    const texts = Array.from({ length: 12 }, (_, index) => `${index}`.repeat(90_000));
    await session(context, { id: X, texts }).drafts.save();
    expect(saved(context)).toEqual({ [X]: texts.slice(0, 10) });
  });

  test("does not end the session if it cannot be saved, which is said once", async () => {
    const context = place();
    writeFileSync(context.data, "");
    const one = session(context, { id: X, texts: ["half"] });
    await one.drafts.save();
    one.type("half of it");
    await one.drafts.end();
    expect(one.problems).toEqual([
      expect.stringMatching(/^What you type is not saved, and lost if jp is killed: .*data/),
    ]);
  });

  test("is deleted with its conversation", async () => {
    const context = place();
    await session(context, { id: X, texts: ["half"] }).drafts.end();
    await session(context, { id: Y, texts: ["other"] }).drafts.end();
    removeDrafts(context, X);
    expect(saved(context)).toEqual({ [Y]: ["other"] });
  });
});

describe("the next session", () => {
  test("takes over what ended ones have left for the conversation, and nothing else", async () => {
    const context = place();
    await session(context, { id: X, texts: ["half", "queued"] }).drafts.end();
    await session(context, { id: Y, texts: ["other"] }).drafts.end();
    await session(context, { id: undefined, texts: ["new"] }).drafts.end();
    const next = session(context);
    const others = next.drafts.findOthers();
    expect([await next.takeOver(), others, saved(context)]).toEqual([
      ["half", "queued"],
      expect.arrayContaining([undefined, Y]),
      { [X]: ["half", "queued"], [Y]: ["other"], new: ["new"] },
    ]);
  });

  test("leaves what a running session keeps for the same conversation", async () => {
    counters("T-TERM-13");
    const context = place();
    const one = session(context, { id: X, texts: ["of one"] });
    await one.drafts.save();
    const two = session(context, { id: X, texts: ["of two"] });
    const taken = await two.takeOver();
    const others = session(context, { id: Y, texts: [] }).drafts.findOthers();
    await two.drafts.save();
    two.type();
    await two.drafts.end();
    const kept = saved(context);
    await one.drafts.end();
    expect([taken, others, kept, await session(context).takeOver()]).toEqual([
      [],
      [],
      { [X]: ["of one"] },
      ["of one"],
    ]);
  });

  test("shares it with no other that starts at the same time", async () => {
    const context = place();
    await session(context, { id: X, texts: ["half"] }).drafts.end();
    const both = [session(context), session(context)];
    const taken = await Promise.all(both.map((each) => each.takeOver()));
    expect([taken.flat(), saved(context)]).toEqual([["half"], { [X]: ["half"] }]);
  });

  test("leaves it where it is if it cannot take it over", async () => {
    const context = place();
    await session(context, { id: X, texts: ["half"] }).drafts.end();
    const next = session(context);
    await next.drafts.takeOver(X, () => {
      throw new Error("full");
    });
    expect([next.problems, await session(context).takeOver()]).toEqual([
      [expect.stringContaining("full")],
      ["half"],
    ]);
  });

  test("gets nothing in a clone with the same id", async () => {
    counters("T-TERM-13");
    const context = place();
    await session(context, { id: X, texts: ["half"] }).drafts.end();
    const root = path.join(temporaryFolder(), "project");
    mkdirSync(root);
    expect(await session({ ...context, workspace: { root } }).takeOver()).toEqual([]);
  });

  test.each<[string, (file: string) => void]>([
    ["invalid JSON", (file) => writeFileSync(file, "{half", { mode: 0o600 })],
    ["another shape", (file) => writeFileSync(file, '{"texts":[1]}', { mode: 0o600 })],
    ["too large", (file) => writeFileSync(file, "x".repeat(8_000_001), { mode: 0o600 })],
    ["a link", (file) => symlinkSync("/etc/passwd", file)],
    [
      "readable by others",
      (file) => {
        writeFileSync(file, '{"texts":["half"]}');
        chmodSync(file, 0o644);
      },
    ],
  ])("puts a damaged or unsafe file aside, and says so: %s", async (_, write) => {
    counters("T-TERM-13");
    const context = place();
    const file = await leaveFile(context, write);
    const next = session(context, { id: X, texts: ["typed"] });
    const taken = await next.takeOver();
    const names = readdirSync(path.dirname(file));
    expect([taken, next.problems, names.includes(`${path.basename(file)}.damaged`)]).toEqual([
      [],
      [expect.stringMatching(/^Text that was not sent cannot be read: .*\. It is in .*damaged\.$/)],
      true,
    ]);
    expect(saved(context)).toEqual({ [X]: ["typed"] });
  });

  test("ignores files with other names", async () => {
    const context = place();
    await leaveFile(context, (file) =>
      writeFileSync(path.join(path.dirname(file), "..%2f.json"), "x", { mode: 0o600 }),
    );
    const next = session(context);
    expect([await next.takeOver(), next.problems]).toEqual([[], []]);
  });
});
