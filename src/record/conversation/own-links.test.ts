import { describe, expect, test } from "vitest";
import { ChainBuilder, type ChainLine } from "./chain.ts";
import type { ConversationId } from "./conversation-id.ts";
import { StreamEntry } from "./entry.ts";
import { answered, at, inquiry } from "./events.fixture.ts";
import { OwnLinks, type OwnRun } from "./own-links.ts";

const ID = "jp-c1" as ConversationId;

/** A question and its answer, which share a time with no other. */
function decision(second: number) {
  const timestamp = at(second);
  const request = StreamEntry.fromEvent({ ...inquiry(`a.q.${second}`), timestamp });
  const response = StreamEntry.fromEvent({ ...answered(`a.q.${second}`), timestamp });
  return { request, response };
}

type Decision = ReturnType<typeof decision>;

/** Adds these to a chain. Each takes two links. */
function grow(chain: readonly ChainLine[], ...decisions: readonly Decision[]) {
  const builder = new ChainBuilder(ID, chain);
  const start = chain.length === 0 ? [builder.start()] : [];
  const from = builder.length;
  const added = decisions.flatMap(({ request, response }) =>
    [request, response].map((entry) => builder.event(entry, crypto.randomUUID())),
  );
  const run: OwnRun = { from, length: builder.length, head: builder.head };
  return { chain: [...chain, ...start, ...added], run };
}

/** For each decision, whether it counts. */
function ownAmong(links: OwnLinks, ...decisions: readonly Decision[]): readonly boolean[] {
  return decisions.map(({ request, response }) => links.take(request.raw, response.raw));
}

const [FIRST, SECOND, THIRD] = [decision(1), decision(2), decision(3)];

describe("the decisions of a chain", () => {
  test("count from the first link that was added here", () => {
    const theirs = grow([], FIRST);
    const { chain, run } = grow(theirs.chain, SECOND);
    expect(ownAmong(new OwnLinks(chain, [run]), FIRST, SECOND)).toEqual([false, true]);
  });

  test("do not count if others have added them between two runs", () => {
    const first = grow([], FIRST);
    const theirs = grow(first.chain, SECOND);
    const last = grow(theirs.chain, THIRD);
    const links = new OwnLinks(last.chain, [first.run, last.run]);
    expect(ownAmong(links, FIRST, SECOND, THIRD)).toEqual([true, false, true]);
  });

  test("do not count without a run, whatever the chain says", () => {
    const { chain, run } = grow([], FIRST);
    const others = grow([], FIRST).run;
    expect(ownAmong(new OwnLinks(chain, []), FIRST)).toEqual([false]);
    expect(ownAmong(new OwnLinks(chain, [others]), FIRST)).toEqual([false]);
    expect(ownAmong(new OwnLinks(chain, [{ ...run, from: run.length }]), FIRST)).toEqual([false]);
  });

  test("do not count if they were given on another machine, and recorded here", () => {
    const { chain, run } = grow([], FIRST, SECOND);
    const links = new OwnLinks(chain, [{ ...run, except: [2] }]);
    expect(ownAmong(links, FIRST, SECOND)).toEqual([false, true]);
  });
});

describe("a forged record", () => {
  const { chain, run } = grow([], FIRST);

  test("has nothing that counts where an answer or its request was changed", () => {
    const changed = { ...FIRST.request.raw, source: { source: "tool", name: "other" } };
    const refused = { ...FIRST.response.raw, answer: false };
    const links = new OwnLinks(chain, [run]);
    expect(links.take(changed, FIRST.response.raw)).toBe(false);
    expect(links.take(FIRST.request.raw, refused)).toBe(false);
    expect(ownAmong(links, FIRST)).toEqual([true]);
  });

  test("counts a decision once, however often it and its link are there", () => {
    const links = new OwnLinks([...chain, ...chain], [run, run]);
    expect(ownAmong(links, FIRST, FIRST, FIRST)).toEqual([true, false, false]);
  });

  test("cannot give an answer another request by adding a link for that later", () => {
    const changed = StreamEntry.fromJson({ ...FIRST.request.raw, extra: "another" });
    const forged = grow(chain, { request: changed, response: decision(9).response });
    const here = grow(forged.chain, SECOND);
    const links = new OwnLinks(here.chain, [run, here.run]);
    expect(links.take(changed.raw, FIRST.response.raw)).toBe(false);
  });

  test("cannot put its own links in the place of those added here", () => {
    const forged = grow([], SECOND, THIRD).chain;
    const links = new OwnLinks([...forged.slice(0, 3), ...chain.slice(1), ...forged], [run]);
    expect(ownAmong(links, SECOND, THIRD)).toEqual([false, false]);
  });

  test("is read to the end though a link in it is nested too deeply", () => {
    let deep: unknown = 0;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    const json = { kind: "event", seq: 0, prev: "", deep } as ChainLine["link"]["json"];
    const line = { link: { kind: "event", seq: 0, prev: "", json } };
    expect(ownAmong(new OwnLinks([line, ...chain], [run]), FIRST)).toEqual([true]);
  });
});
