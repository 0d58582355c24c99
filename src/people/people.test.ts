import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { temporaryFolder } from "../storage/temporary-workspace.fixture.ts";
import type { JpError, JsonObject } from "../util/index.ts";
import { hashOf, openDirectory, openPeople, type People, type PersonSettings } from "./people.ts";

function open() {
  const folder = path.join(temporaryFolder(), "data");
  return { people: openPeople(folder), file: path.join(folder, "people.json"), folder };
}

function findByToken(people: People, token: string) {
  return people.findByHash(hashOf(token));
}

describe("a token", () => {
  test("belongs to one person, with their rights", async () => {
    const { people } = open();
    const ada = await people.add("ada", ["approve", "see"]);
    const bob = await people.add("bob", ["see"]);
    expect(ada).toMatch(/^jpd_[\w-]{43}$/);
    expect(await findByToken(people, ada)).toEqual({ name: "ada", rights: ["see", "approve"] });
    expect(await findByToken(people, bob)).toEqual({ name: "bob", rights: ["see"] });
    expect(await people.list()).toHaveLength(2);
  });

  test.each(["", "jpd_", "x"])("belongs to no one if it is unknown: %j", async (token) => {
    const { people } = open();
    expect(await findByToken(people, token)).toBeUndefined();
    await people.add("ada", ["see"]);
    expect(await findByToken(people, token)).toBeUndefined();
  });

  test("is stored only as a hash, in a file that only the user can read", async () => {
    counters("T-DESK-6");
    const { people, file, folder } = open();
    const token = await people.add("ada", ["see"]);
    expect(readFileSync(file, "utf8")).not.toContain(token.slice("jpd_".length));
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test("stops working when another process removes the person", async () => {
    const { people, folder } = open();
    const token = await people.add("ada", ["see"]);
    expect(await findByToken(people, token)).toBeDefined();
    expect(await openPeople(folder).remove("ADA")).toBe(true);
    expect(await findByToken(people, token)).toBeUndefined();
  });

  test("does not work for a new person with the name of someone who was removed", async () => {
    counters("T-DESK-6");
    const { people } = open();
    const token = await people.add("ada", ["see"]);
    await people.remove("ada");
    await people.add("ada", ["see"]);
    expect(await findByToken(people, token)).toBeUndefined();
  });
});

describe("a name", () => {
  test.each([
    "",
    "x".repeat(65),
    " ada",
    "ada ",
    "a\nb",
    "a\r\nset-cookie: x",
    "a\u001b[31m",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "\ud800",
    "\u3164",
    "ada\ufe0f",
    "ad\u034fa",
    "\u2800",
  ])("cannot be %j", async (name) => {
    const { people } = open();
    await expect(people.add(name, ["see"])).rejects.toMatchObject({ code: "invalid_name" });
    expect(await people.list()).toEqual([]);
  });

  test.each(["ada", "Ada Lovelace", "Žofie", "李", "__proto__", "x".repeat(64)])(
    "can be %j",
    async (name) => {
      const { people, folder } = open();
      await people.add(name, ["see"]);
      expect(await openPeople(folder).list()).toEqual([{ name, rights: ["see"] }]);
    },
  );

  test.each([
    ["ada", "ADA"],
    ["zo\u00eb", "zoe\u0308"],
    ["ada", "ａｄａ"],
    ["ada", "\u0430da"],
    ["ada", "\u0430\u0501\u0430"],
    ["BOB", "\u0412\u041e\u0412"],
    ["ion", "\u03b9\u03bfn"],
    ["stra\u00dfe", "STRASSE"],
    ["Gro\u00df", "Gro\u1e9e"],
    ["Gro\u1e9e", "gross"],
    ["Ada Lovelace", "Ada  Lovelace"],
    ["Ada Lovelace", "Ada\u00a0Lovelace"],
  ])("is taken if another name only looks different: %j by %j", async (first, second) => {
    counters("T-DESK-7");
    const { people } = open();
    await people.add(first, ["see"]);
    await expect(people.add(second, ["see"])).rejects.toMatchObject({ code: "person_exists" });
  });
});

test("people who are added at the same time are all kept, in order", async () => {
  const { people } = open();
  await Promise.all(["a", "b", "c", "d"].map((name) => people.add(name, ["see"])));
  expect((await people.list()).map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
});

test("changes by several processes at the same time are all kept", async () => {
  const { people, folder } = open();
  await people.add("old", ["see"]);
  const names = ["a", "b", "c", "d", "e", "f"];
  await Promise.all([
    ...names.map((name) => openPeople(folder).add(name, ["see"])),
    openPeople(folder).remove("old"),
  ]);
  expect((await people.list()).map(({ name }) => name).toSorted()).toEqual(names);
});

test("the person of that name is removed if two in a file from elsewhere look alike", async () => {
  const { people, file } = open();
  await people.add("ada", ["see"]);
  const text = readFileSync(file, "utf8");
  const [entry = ""] = /\{\s*"name"[^}]*\}/.exec(text) ?? [];
  writeFileSync(file, text.replace(entry, `${entry.replace("ada", "\u0430da")},${entry}`));
  expect(await people.remove("ada")).toBe(true);
  expect((await people.list()).map(({ name }) => name)).toEqual(["\u0430da"]);
});

test("removing someone unknown changes nothing", async () => {
  const { people } = open();
  expect(await people.remove("ada")).toBe(false);
});

test.each(["", "[]", '{"people":[{"name":"ada","rights":["see"],"token_sha256":""}]}'])(
  "a damaged file lets no one in, and says so: %j",
  async (text) => {
    const { people, file } = open();
    const token = await people.add("ada", ["see"]);
    writeFileSync(file, text);
    await expect(findByToken(people, token)).rejects.toMatchObject({ code: "people_invalid" });
    await expect(people.add("bob", [])).rejects.toMatchObject({ code: "people_invalid" });
    expect(readFileSync(file, "utf8")).toBe(text);
  },
);

test("a file that others could have written lets no one in, and says so", async () => {
  counters("T-DESK-8");
  const { people, file } = open();
  const token = await people.add("ada", ["see"]);
  chmodSync(file, 0o660);
  await expect(findByToken(people, token)).rejects.toMatchObject({ code: "people_invalid" });
  chmodSync(file, 0o600);
  expect(await findByToken(people, token)).toBeDefined();
});

describe("an absence", () => {
  test("lets another decide until it ends, by its date or by a word", async () => {
    const { people, folder } = open();
    await people.add("ada", ["see"], { roles: ["finance"] });
    await people.add("bo", ["see"], { osUser: "bb" });
    const until = new Date("2026-01-31T09:00:00Z");
    expect(await people.setAway("ada", { to: "BO", until })).toBe(true);
    const at = (time: string) =>
      openDirectory(folder, { osUser: () => "bb", now: () => new Date(time) }).findHere();
    const standing = { name: "bo", roles: [], standsInFor: [{ name: "ada", roles: ["finance"] }] };
    expect(at("2026-01-31T08:59:59Z")).toEqual(standing);
    expect(at("2026-01-31T09:00:00Z")).toEqual({ name: "bo", roles: [] });
    expect((await people.list())[0]).toMatchObject({ name: "ada", away: { to: "bo", until } });
    await people.setAway("ada");
    expect(at("2026-01-31T08:00:00Z")).toEqual({ name: "bo", roles: [] });
  });

  test("needs someone else who is known", async () => {
    const { people } = open();
    await people.add("ada", ["see"]);
    const until = new Date("2026-01-31T09:00:00Z");
    const coded = (name: string, to: string) =>
      people.setAway(name, { to, until }).catch((error: unknown) => (error as JpError).code);
    expect([await coded("ada", "bo"), await coded("ada", "Ada"), await coded("cy", "ada")]).toEqual(
      ["person_not_found", "invalid_absence", false],
    );
  });
});

describe("a role", () => {
  test("is stored with the person, and how they are known on a terminal", async () => {
    const { people, folder } = open();
    await people.add("ada", ["see"], { roles: ["finance", "Finance"], osUser: "al" });
    await people.add("sam", ["see"], { osUser: "sm" });
    const directory = openDirectory(folder, { osUser: () => "al" });
    expect([await people.list(), directory.list(), directory.findHere()]).toEqual([
      [
        { name: "ada", rights: ["see"], roles: ["finance"], osUser: "al" },
        { name: "sam", rights: ["see"], osUser: "sm" },
      ],
      [
        { name: "ada", roles: ["finance"] },
        { name: "sam", roles: [] },
      ],
      { name: "ada", roles: ["finance"] },
    ]);
    expect(openDirectory(folder, { osUser: () => "root" }).findHere()).toBeUndefined();
  });

  test("is changed without a new token, and what is not given stays", async () => {
    const { people } = open();
    const token = await people.add("ada", ["see"], { roles: ["finance"], osUser: "al" });
    expect(await people.change("Ada", { roles: [] })).toBe(true);
    expect(await findByToken(people, token)).toEqual({
      name: "ada",
      rights: ["see"],
      osUser: "al",
    });
    expect(await people.change("ada", { osUser: "", rights: ["answer"] })).toBe(true);
    expect(await findByToken(people, token)).toEqual({ name: "ada", rights: ["answer"] });
    expect(await people.change("bob", { roles: ["finance"] })).toBe(false);
  });

  test("is refused if it only looks like another, and so is the OS user of someone else", async () => {
    counters("T-PEOPLE-1");
    const { people } = open();
    await people.add("ada", ["see"], { roles: ["finance"], osUser: "al" });
    const adding = (settings: PersonSettings) =>
      people.add("bob", ["see"], settings).catch((error: unknown) => (error as JpError).code);
    expect([
      await adding({ roles: ["fin\u0430nce"] }),
      await adding({ roles: ["a\nb"] }),
      await adding({ osUser: "al" }),
    ]).toEqual(["role_exists", "invalid_name", "os_user_taken"]);
    expect(await people.list()).toHaveLength(1);
  });

  test("belongs to no one on a terminal if a file gives two people the same OS user", async () => {
    counters("T-PEOPLE-1");
    const { people, file, folder } = open();
    await people.add("ada", ["see"], { roles: ["finance"], osUser: "al" });
    await people.add("bob", ["see"], { osUser: "bo" });
    writeFileSync(file, readFileSync(file, "utf8").replace('"bo"', '"al"'));
    expect(openDirectory(folder, { osUser: () => "al" }).findHere()).toBeUndefined();
  });

  test("does not lose what another version has stored of a person", async () => {
    const { people, file } = open();
    await people.add("ada", ["see"], { osUser: "al" });
    const { people: stored } = JSON.parse(readFileSync(file, "utf8")) as { people: JsonObject[] };
    const [ada = {}] = stored;
    const newer = { ...ada, auth: [{ os_user: "al" }, { passkey: "k" }], locale: "de" };
    writeFileSync(file, JSON.stringify({ people: [newer] }));
    await people.change("ada", { roles: ["finance"], osUser: "ada" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      people: [{ ...newer, roles: ["finance"], auth: [{ os_user: "ada" }, { passkey: "k" }] }],
    });
  });
});
