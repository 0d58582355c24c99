import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { openConnections } from "../../stores/postgres/channel.ts";
import { Database } from "../../stores/postgres/database.ts";
import { PeopleRows } from "../../stores/postgres/people-rows.ts";
import { migrate } from "../../stores/postgres/schema.ts";
import { PostgresTenant } from "../../stores/postgres/tenant.ts";
import { createReleased } from "../../../test/support/released-store.ts";
import { emptyDatabase } from "../../../test/support/postgres.ts";
import type { JpError, JsonObject } from "../../util/index.ts";
import { openDirectory } from "./directory.ts";
import { EVERY_PLACE, findByToken, idOf, openFile, openTenants } from "./opened-people.fixture.ts";
import { openPeople, type PersonSettings } from "./people.ts";
import { deriveId } from "./person.ts";
import { hashOf } from "./secret.ts";

/** Someone who is known in another place too, where time passes only as the test says. */
async function openElsewhere() {
  vi.useFakeTimers({ toFake: ["setInterval", "hrtime"] });
  const { tenant, name, url, query } = await openTenants();
  const connections = openConnections(url);
  const table = new PeopleRows(connections, name);
  onTestFinished(async () => {
    vi.useRealTimers();
    await table.close();
    await connections.database.close();
  });
  const here = openPeople(tenant.people);
  const token = await here.add("ada", ["see"], { osUser: "al" });
  const there = openPeople(table);
  expect(await findByToken(there, token)).toBeDefined();
  return {
    here,
    table,
    connections,
    query,
    find: () => findByToken(there, token),
    directory: openDirectory(table, { osUser: () => "al" }),
  };
}

describe.each(EVERY_PLACE)("in $name,", ({ create }) => {
  describe("a token", () => {
    test("belongs to one person, with their rights", async () => {
      const { people } = await create();
      const ada = await people.add("ada", ["approve", "see"]);
      const bob = await people.add("bob", ["see"]);
      expect(ada).toMatch(/^jpd_[\w-]{43}$/);
      expect([await findByToken(people, ada), await findByToken(people, bob)]).toEqual([
        { id: idOf(ada), name: "ada", rights: ["see", "approve"] },
        { id: idOf(bob), name: "bob", rights: ["see"] },
      ]);
      expect(await people.list()).toHaveLength(2);
    });

    test.each(["", "jpd_", "x"])("belongs to no one if it is unknown: %j", async (token) => {
      const { people } = await create();
      expect(await findByToken(people, token)).toBeUndefined();
      await people.add("ada", ["see"]);
      expect(await findByToken(people, token)).toBeUndefined();
    });

    test("is looked for by its hash only, and anything else is no one's", async () => {
      const { people } = await create();
      await people.add("ada", ["see"]);
      const found = ["", "x", "A".repeat(64)].map((hash) => people.findByHash(hash));
      expect(await Promise.all(found)).toEqual([undefined, undefined, undefined]);
    });

    test("does not work for a new person with the name of someone who was removed", async () => {
      counters("T-DESK-6");
      const { people } = await create();
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
      const { people } = await create();
      await expect(people.add(name, ["see"])).rejects.toMatchObject({ code: "invalid_name" });
      expect(await people.list()).toEqual([]);
    });

    test.each(["ada", "Ada Lovelace", "Žofie", "李", "__proto__", "x".repeat(64)])(
      "can be %j",
      async (name) => {
        const { people, other } = await create();
        const token = await people.add(name, ["see"]);
        expect(await other.list()).toEqual([{ id: idOf(token), name, rights: ["see"] }]);
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
      const { people } = await create();
      await people.add(first, ["see"]);
      await expect(people.add(second, ["see"])).rejects.toMatchObject({ code: "person_exists" });
    });
  });

  test("people who are added at the same time are all kept, in order", async () => {
    const { people } = await create();
    await Promise.all(["a", "b", "c", "d"].map((name) => people.add(name, ["see"])));
    expect((await people.list()).map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
  });

  test("changes by several processes at the same time are all kept", async () => {
    const { people, other } = await create();
    await people.add("old", ["see"]);
    const names = ["a", "b", "c", "d", "e", "f"];
    await Promise.all([...names.map((name) => other.add(name, ["see"])), other.remove("old")]);
    expect((await people.list()).map(({ name }) => name).toSorted()).toEqual(names);
  });

  test("removing someone unknown changes nothing", async () => {
    const { people } = await create();
    expect(await people.remove("ada")).toBe(false);
  });

  describe("an absence", () => {
    test("lets another decide until it ends, by its date or by a word", async () => {
      const { people, directoryFor } = await create();
      const ada = idOf(await people.add("ada", ["see"], { roles: ["finance"] }));
      const bo = { id: idOf(await people.add("bo", ["see"], { osUser: "bb" })), name: "bo" };
      const until = new Date("2026-01-31T09:00:00Z");
      expect(await people.setAway("ada", { to: "BO", until })).toBe(true);
      const at = (time: string) =>
        directoryFor({ osUser: () => "bb", now: () => new Date(time) }).findHere();
      const standing = {
        ...bo,
        roles: [],
        standsInFor: [{ id: ada, name: "ada", roles: ["finance"] }],
      };
      expect(at("2026-01-31T08:59:59Z")).toEqual(standing);
      expect(at("2026-01-31T09:00:00Z")).toEqual({ ...bo, roles: [] });
      expect((await people.list())[0]).toMatchObject({ name: "ada", away: { to: "bo", until } });
      await people.setAway("ada");
      expect(at("2026-01-31T08:00:00Z")).toEqual({ ...bo, roles: [] });
    });

    test("needs someone else who is known", async () => {
      const { people } = await create();
      await people.add("ada", ["see"]);
      const until = new Date("2026-01-31T09:00:00Z");
      const coded = (name: string, to: string) =>
        people.setAway(name, { to, until }).catch((error: unknown) => (error as JpError).code);
      expect([
        await coded("ada", "bo"),
        await coded("ada", "Ada"),
        await coded("cy", "ada"),
      ]).toEqual(["person_not_found", "invalid_absence", false]);
    });
  });

  describe("a role", () => {
    test("is stored with the person, and how they are known on a terminal", async () => {
      const { people, directoryFor } = await create();
      const roles = ["finance", "Finance"];
      const ada = idOf(await people.add("ada", ["see"], { roles, osUser: "al" }));
      const sam = idOf(await people.add("sam", ["see"], { osUser: "sm" }));
      const directory = directoryFor({ osUser: () => "al" });
      expect([await people.list(), directory.list(), directory.findHere()]).toEqual([
        [
          { id: ada, name: "ada", rights: ["see"], roles: ["finance"], osUser: "al" },
          { id: sam, name: "sam", rights: ["see"], osUser: "sm" },
        ],
        [
          { id: ada, name: "ada", roles: ["finance"] },
          { id: sam, name: "sam", roles: [] },
        ],
        { id: ada, name: "ada", roles: ["finance"] },
      ]);
      expect(directoryFor({ osUser: () => "root" }).findHere()).toBeUndefined();
    });

    test("is changed without a new token, and what is not given stays", async () => {
      const { people } = await create();
      const token = await people.add("ada", ["see"], { roles: ["finance"], osUser: "al" });
      expect(await people.change("Ada", { roles: [] })).toBe(true);
      const ada = { id: idOf(token), name: "ada" };
      expect(await findByToken(people, token)).toEqual({ ...ada, rights: ["see"], osUser: "al" });
      expect(await people.change("ada", { osUser: "", rights: ["answer"] })).toBe(true);
      expect(await findByToken(people, token)).toEqual({ ...ada, rights: ["answer"] });
      expect(await people.change("bob", { roles: ["finance"] })).toBe(false);
    });

    test("is refused if it only looks like another, and so is the OS user of someone else", async () => {
      counters("T-PEOPLE-1");
      const { people } = await create();
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
  });
});

describe("a token in a file", () => {
  test("is stored only as a hash, in a file that only the user can read", async () => {
    counters("T-DESK-6");
    const { people, file, folder } = openFile();
    const token = await people.add("ada", ["see"]);
    expect(readFileSync(file, "utf8")).not.toContain(token.slice("jpd_".length));
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test("stops working when another process removes the person", async () => {
    const { people, folder } = openFile();
    const token = await people.add("ada", ["see"]);
    expect(await findByToken(people, token)).toBeDefined();
    expect(await openPeople(folder).remove("ADA")).toBe(true);
    expect(await findByToken(people, token)).toBeUndefined();
  });
});

test("the person of that name is removed if two in a file from elsewhere look alike", async () => {
  const { people, file } = openFile();
  await people.add("ada", ["see"]);
  const text = readFileSync(file, "utf8");
  const [entry = ""] = /\{\s*"id"[^}]*\}/.exec(text) ?? [];
  writeFileSync(file, text.replace(entry, `${entry.replace(`"ada"`, `"\u0430da"`)},${entry}`));
  expect(await people.remove("ada")).toBe(true);
  expect((await people.list()).map(({ name }) => name)).toEqual(["\u0430da"]);
});

test.each(["", "[]", '{"people":[{"name":"ada","rights":["see"],"token_sha256":""}]}'])(
  "a damaged file lets no one in, and says so: %j",
  async (text) => {
    const { people, file } = openFile();
    const token = await people.add("ada", ["see"]);
    writeFileSync(file, text);
    await expect(findByToken(people, token)).rejects.toMatchObject({ code: "people_invalid" });
    await expect(people.add("bob", [])).rejects.toMatchObject({ code: "people_invalid" });
    expect(readFileSync(file, "utf8")).toBe(text);
  },
);

test("a file that others could have written lets no one in, and says so", async () => {
  counters("T-DESK-8");
  const { people, file } = openFile();
  const token = await people.add("ada", ["see"]);
  chmodSync(file, 0o660);
  await expect(findByToken(people, token)).rejects.toMatchObject({ code: "people_invalid" });
  chmodSync(file, 0o600);
  expect(await findByToken(people, token)).toBeDefined();
});

describe("a role in a file", () => {
  test("belongs to no one on a terminal if a file gives two people the same OS user", async () => {
    counters("T-PEOPLE-1");
    const { people, file, folder } = openFile();
    await people.add("ada", ["see"], { roles: ["finance"], osUser: "al" });
    await people.add("bob", ["see"], { osUser: "bo" });
    writeFileSync(file, readFileSync(file, "utf8").replace('"bo"', '"al"'));
    expect(openDirectory(folder, { osUser: () => "al" }).findHere()).toBeUndefined();
  });

  test("does not lose what another version has stored of a person", async () => {
    const { people, file } = openFile();
    await people.add("ada", ["see"], { osUser: "al" });
    const { people: stored } = JSON.parse(readFileSync(file, "utf8")) as { people: JsonObject[] };
    const [ada = {}] = stored;
    const newer = { ...ada, auth: [{ os_user: "al" }, { passkey: "k" }], locale: "de" };
    writeFileSync(file, JSON.stringify({ people: [newer], theme: "dark" }));
    await people.change("ada", { roles: ["finance"], osUser: "ada" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      people: [{ ...newer, roles: ["finance"], auth: [{ os_user: "ada" }, { passkey: "k" }] }],
      theme: "dark",
    });
  });
});

describe("people in PostgreSQL", () => {
  test("are stored with hashes of their tokens only", async () => {
    counters("T-DESK-6");
    const { tenant, query } = await openTenants();
    const token = await openPeople(tenant.people).add("ada", ["see"]);
    const rows = await query("select * from jp.people where tenant = $1");
    expect(rows).toMatchObject([{ name: "ada", person: expect.stringContaining(hashOf(token)) }]);
    expect(JSON.stringify(rows)).not.toContain(token.slice("jpd_".length));
  });

  test("are known at once where someone was added elsewhere", async () => {
    const { tenant, other } = await openTenants();
    const [here, there] = [openPeople(tenant.people), openPeople(other.people)];
    await here.add("ada", ["see"]);
    expect(await there.list()).toHaveLength(1);
    const token = await here.add("bob", ["see"]);
    expect(await findByToken(there, token)).toMatchObject({ name: "bob" });
  });

  describe("who were removed elsewhere", () => {
    test("have no token that works once the database has told of it", async () => {
      counters("T-DESK-6");
      const { here, table, connections, find, directory } = await openElsewhere();
      vi.advanceTimersByTime(2000);
      await expect.poll(() => connections.channel.isConnected).toBe(true);
      await table.load();
      expect(directory.findHere()).toBeDefined();
      await here.remove("ada");
      await expect.poll(() => directory.findHere()).toBeUndefined();
      expect(await find()).toBeUndefined();
    });

    test("have no token that works after two seconds if no one has told of it", async () => {
      counters("T-PEOPLE-6");
      counters("T-DESK-6");
      const { query, find, directory } = await openElsewhere();
      await query("delete from jp.people where tenant = $1");
      expect(await find()).toBeDefined();
      vi.advanceTimersByTime(2000);
      await expect.poll(() => directory.findHere()).toBeUndefined();
      expect(await find()).toBeUndefined();
    });

    test("have no token that works after five seconds if the database cannot be reached", async () => {
      counters("T-PEOPLE-6");
      counters("T-DESK-6");
      const { connections, find } = await openElsewhere();
      await connections.database.close();
      expect(await find()).toBeDefined();
      vi.advanceTimersByTime(5001);
      await expect(find()).rejects.toMatchObject({ code: "store_unreachable" });
    });
  });

  test("are not lost when several change them at once, and no one counts twice", async () => {
    counters("T-PEOPLE-6");
    const { tenant, other } = await openTenants();
    const all = [openPeople(tenant.people), openPeople(other.people)];
    await all[0]?.add("ada", ["see"]);
    const passkey = {
      type: "passkey",
      id: "k",
      public: {},
      added: "",
      rpId: "x",
      counter: 1,
    } as const;
    await all[0]?.addKey("ada", passkey);
    const counted = await Promise.all(all.map((people) => people.countUse("ada", "k", 2)));
    expect(counted.filter(Boolean)).toEqual([true]);
    const added = await Promise.allSettled(all.map((people) => people.add("bob", ["see"])));
    expect(added.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await Promise.all([
      all[0]?.change("ada", { roles: ["a"] }),
      all[1]?.change("bob", { roles: ["b"] }),
    ]);
    expect(await all[1]?.list()).toMatchObject([
      { name: "ada", roles: ["a"], keys: [{ id: "k", counter: 2 }] },
      { name: "bob", roles: ["b"] },
    ]);
  });

  test("let no one in if a row is damaged, and say so", async () => {
    counters("T-PEOPLE-6");
    const { tenant, other, query } = await openTenants();
    const token = await openPeople(tenant.people).add("ada", ["see"]);
    await query("update jp.people set person = '{}' where tenant = $1");
    const people = openPeople(other.people);
    await expect(findByToken(people, token)).rejects.toMatchObject({ code: "people_invalid" });
    await expect(people.add("bob", [])).rejects.toMatchObject({ code: "people_invalid" });
    expect(await query("select person from jp.people where tenant = $1")).toEqual([
      { person: "{}" },
    ]);
  });

  test("keep what another version has stored", async () => {
    const { tenant, query } = await openTenants();
    const people = openPeople(tenant.people);
    await people.add("ada", ["see"]);
    await query(
      `update jp.people set person = (person::jsonb || '{"locale": "de"}')::text where tenant = $1`,
    );
    await people.change("ada", { roles: ["finance"] });
    expect(
      await query("select person::json ->> 'locale' as locale from jp.people where tenant = $1"),
    ).toEqual([{ locale: "de" }]);
  });

  test("are the same after tables from before their log are migrated", async () => {
    const url = await emptyDatabase();
    const database = new Database(url);
    const tenant = new PostgresTenant({ url, pid: process.pid });
    onTestFinished(async () => {
      for (const each of [tenant, database]) await each.close();
    });
    await createReleased(database, 1);
    const tokenHash = hashOf("a");
    const old = JSON.stringify({ name: "ada", rights: ["see"], token_sha256: tokenHash });
    await database.query({
      text: "insert into jp.people (tenant, name, person) values ('default', 'ada', $1)",
      values: [old],
    });
    const people = openPeople(tenant.people);
    const before = (await people.list())[0]?.id;
    const refused = await people.remove("ada").catch((error: unknown) => (error as JpError).code);
    expect([(await migrate(database)).from, refused]).toEqual([1, "store_not_migrated"]);
    await people.change("ada", { roles: ["finance"] });
    expect([before, (await people.list())[0]?.id, await people.readLog()]).toMatchObject([
      deriveId(tokenHash),
      before,
      [{ what: "person_changed", person_id: before }],
    ]);
  });

  test("cannot be known without the tables of a store, and the error says what to do", async () => {
    const tenant = new PostgresTenant({ url: await emptyDatabase(), pid: process.pid });
    onTestFinished(() => tenant.close());
    const people = openPeople(tenant.people);
    await expect(people.list()).rejects.toMatchObject({ code: "store_not_migrated" });
    await expect(people.add("ada", ["see"])).rejects.toMatchObject({ code: "store_not_migrated" });
  });
});

test("people of one tenant are unknown to another", async () => {
  counters("T-PEOPLE-6");
  const [one, two] = [await openTenants(), await openTenants()];
  const token = await openPeople(one.tenant.people).add("ada", ["see"]);
  const others = openPeople(two.tenant.people);
  expect([await others.list(), await findByToken(others, token)]).toEqual([[], undefined]);
  await others.add("ada", ["see"]);
  await others.remove("ada");
  expect(await openPeople(one.other.people).list()).toHaveLength(1);
});
