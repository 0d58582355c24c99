/** Every surface × every kind of decision × every reply: what becomes of a reply is the same wherever it is given. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { KINDS, openScene, recordedIn, REPLIES, type ReplyName } from "./matrix-scene.ts";
import type { Exception } from "./matrix-surface.ts";
import { cellOf, expectedOf, findException, SURFACES } from "./matrix-surfaces.ts";
import { TABLE } from "./matrix-table.ts";

/** More terminals in one process would look like a leak. */
const AT_ONCE = 8;

describe.each(SURFACES)("a reply by $name", (surface) => {
  test.each(KINDS)("has the code and the record that the table says: %s", async (kind) => {
    const scenes = await Promise.all(REPLIES.map((reply) => openScene(kind, reply)));
    const answer = await surface.open(scenes);
    const found: Partial<Record<ReplyName, unknown>> = {};
    const left = [...scenes];
    const work = async () => {
      for (let scene = left.shift(); scene !== undefined; scene = left.shift()) {
        const { code, events } = await answer(scene);
        const [recorded, ...more] = recordedIn(scene, events);
        if (more.length > 0) throw new Error(`${scene.reply} is on record more than once`);
        found[scene.reply] = recorded === undefined ? { code } : { code, recorded };
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const expected = REPLIES.map((reply) => [reply, expectedOf(surface, kind, reply)]);
    expect(found).toEqual(Object.fromEntries(expected));
  });
});

test("the table has no empty cells, and every exception of a surface is one", () => {
  const cells = SURFACES.flatMap((surface) =>
    KINDS.flatMap((kind) => REPLIES.map((reply) => ({ surface, kind, reply }))),
  );
  const empty = cells.filter(
    ({ surface, kind, reply }) => cellOf(surface, kind, reply).code === "",
  );
  expect([cells.length, empty]).toEqual([11 * 9 * 16, []]);
  const used = new Set<Exception | undefined>();
  const same = cells.filter(({ surface, kind, reply }) => {
    const exception = findException(surface, kind, reply);
    used.add(exception);
    if (exception === undefined) return false;
    return isDeepStrictEqual(cellOf(surface, kind, reply), TABLE[kind][reply]);
  });
  const unused = SURFACES.flatMap(({ name, exceptions }) =>
    exceptions.filter((each) => !used.has(each)).map((each) => ({ name, ...each })),
  );
  expect([unused, same.map(({ surface: { name }, ...cell }) => ({ name, ...cell }))]).toEqual([
    [],
    [],
  ]);
});
