import { expect, test } from "vitest";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { PEOPLE } from "./histories.ts";
import { measure } from "./propose-figures.ts";

test("proposed rules let nothing run that a person means to refuse, or has refused before", async () => {
  const root = temporaryFolder();
  const people = PEOPLE.filter(({ slips }) => slips === 0 || slips === 0.02).slice(-3);
  const figures = await Promise.all(
    people.map((person) => measure(person, { root, seed: 9, decisions: 1500 })),
  );
  expect(figures.map(({ wrong, broken }) => [wrong, broken])).toEqual(people.map(() => [0, 0]));
});
