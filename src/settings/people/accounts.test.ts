/** Where accounts come from: their ids, who made and confirmed them, and the log of it. */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { FakeClock } from "../../testing/index.ts";
import type { JpError } from "../../util/index.ts";
import { openDirectory } from "./directory.ts";
import type { KeyChange, Passkey } from "./keys.ts";
import { OWNER_ID } from "./log.ts";
import { EVERY_PLACE, findByToken, idOf, openFile } from "./opened-people.fixture.ts";
import { type KeyPermit, openPeople, type People } from "./people.ts";
import type { Right } from "./person.ts";
import { hashOf } from "./secret.ts";

const ALL: readonly Right[] = ["see", "answer", "approve", "administer"];

/** As someone does at the desk. */
function atDesk(people: People, id: string) {
  return people.as({ channel: "desk", id, name: id });
}

function passkey(id: string, rpId = "desk.example"): Passkey {
  return { type: "passkey", id, public: {}, added: "now", rpId, counter: 0 };
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => (error as JpError).code);
}

/** The code of what was logged, or why it was refused. */
async function changeKeys(
  people: People,
  personId: string,
  ...[change, permit]: [KeyChange, KeyPermit]
): Promise<string> {
  const changing = atDesk(people, personId).changeKeys(personId, change, permit);
  return changing.then(
    ({ what }) => what,
    ({ code }: JpError) => code,
  );
}

async function findId(people: People, name: string): Promise<string> {
  return (await people.list()).find((person) => person.name === name)?.id ?? "";
}

describe.each(EVERY_PLACE)("in $name,", ({ create }) => {
  describe("the id of a person", () => {
    test("is not that of someone with the same name who was removed, and that one is kept", async () => {
      counters("T-PEOPLE-7");
      const { people, other, directoryFor } = await create();
      const first = idOf(await people.add("ada", ["see"]));
      await people.remove("ada");
      const second = idOf(await other.add("ada", ["see"]));
      expect(first).not.toBe(second);
      await people.list();
      expect(directoryFor({}).list()).toEqual([{ id: second, name: "ada", roles: [] }]);
      const removed = (await other.readLog()).filter(({ what }) => what === "person_removed");
      expect(removed).toMatchObject([{ person_id: first, name: "ada" }]);
    });

    test("stays when the token is renewed, and only the new token works", async () => {
      const { people, other } = await create();
      const before = await people.add("ada", ["see"]);
      const after = (await people.renewToken("ada")) ?? "";
      expect([
        await findByToken(other, before),
        await findByToken(other, after),
        await people.renewToken("bob"),
      ]).toEqual([undefined, { id: idOf(before), name: "ada", rights: ["see"] }, undefined]);
    });
  });

  describe("an account that was made at the desk", () => {
    test("is not confirmed and does not administer until the command line confirms it", async () => {
      counters("T-PEOPLE-8");
      const clock = new FakeClock();
      const { people, directoryFor } = await create({ now: () => clock.now() });
      const mallory = idOf(await people.add("mallory", ALL));
      const token = await atDesk(people, mallory).add("bob", ALL);
      const bob = { id: idOf(token), name: "bob", roles: [] };
      const known = async () => {
        await people.list();
        return directoryFor({}).list()[1];
      };
      expect([await known(), await findByToken(people, token)]).toEqual([
        { ...bob, confirmed: false },
        { id: bob.id, name: "bob", rights: ["see", "answer", "approve"], madeBy: [mallory] },
      ]);
      clock.advance(60_000);
      expect([await people.confirm(bob.id), await people.confirm(bob.id)]).toEqual([true, false]);
      const at = clock
        .now()
        .toISOString()
        .replace("T", " ")
        .replace(/\.?0*Z$/, "");
      expect((await known())?.confirmed).toMatch(new RegExp(`^${at}`));
      expect((await findByToken(people, token))?.rights).toEqual(ALL);
    });

    test("is confirmed by an administrator who neither made it, nor is related to its maker", async () => {
      counters("T-PEOPLE-8");
      const { people } = await create();
      const [mallory, ada] = [
        idOf(await people.add("mallory", ALL)),
        idOf(await people.add("ada", ALL)),
      ];
      const helper = idOf(await atDesk(people, mallory).add("helper", ALL));
      await people.confirm(helper);
      const extra = idOf(await atDesk(people, mallory).add("extra", ALL));
      const third = idOf(await atDesk(people, helper).add("third", ALL));
      const confirm = (by: string, id: string) => codeOf(atDesk(people, by).confirm(id));
      expect([
        await confirm(mallory, extra), // Their own.
        await confirm(helper, extra), // Made by the same one.
        await confirm(extra, extra),
        await confirm(mallory, third), // Has made its maker.
        await confirm(ada, extra),
        await confirm(ada, third),
        await confirm(ada, "p_unknown"),
      ]).toEqual([
        "not_independent",
        "not_independent",
        "actor_unknown",
        "not_independent",
        true,
        true,
        false,
      ]);
    });

    test("neither makes nor confirms nor removes accounts before it is confirmed itself", async () => {
      counters("T-PEOPLE-8");
      const { people } = await create();
      const mallory = idOf(await people.add("mallory", ALL));
      const helper = idOf(await atDesk(people, mallory).add("helper", ALL));
      expect([
        await codeOf(atDesk(people, helper).add("third", ["see"])),
        await codeOf(atDesk(people, helper).remove("mallory")),
        (await people.list()).map(({ name }) => name),
      ]).toEqual(["actor_unknown", "actor_unknown", ["mallory", "helper"]]);
    });

    test("keeps who made it when that person is removed, and then added again", async () => {
      counters("T-PEOPLE-8");
      const { people } = await create();
      const mallory = idOf(await people.add("mallory", ALL));
      const helper = idOf(await atDesk(people, mallory).add("helper", ALL));
      const extra = idOf(await atDesk(people, mallory).add("extra", ALL));
      await people.confirm(helper);
      await people.remove("mallory");
      await people.add("mallory", ALL);
      const again = await findId(people, "mallory");
      expect([
        await codeOf(atDesk(people, helper).confirm(extra)),
        await codeOf(atDesk(people, mallory).confirm(extra)), // Removed.
        await codeOf(atDesk(people, again).confirm(extra)),
        (await people.list()).find(({ id }) => id === helper)?.confirmedAt,
      ]).toEqual(["not_independent", "actor_unknown", true, expect.any(Date)]);
    });

    test("is confirmed by the owner of a desk, unless they made it", async () => {
      const { people } = await create();
      const mallory = idOf(await people.add("mallory", ALL));
      const extra = idOf(await atDesk(people, mallory).add("extra", ALL));
      const own = idOf(await atDesk(people, OWNER_ID).add("own", ALL));
      expect([
        await codeOf(atDesk(people, OWNER_ID).confirm(own)),
        await codeOf(atDesk(people, OWNER_ID).confirm(extra)),
        await codeOf(atDesk(people, mallory).confirm(own)),
      ]).toEqual(["not_independent", true, true]);
    });

    test("is confirmed once, however many confirm it at the same time", async () => {
      counters("T-PEOPLE-8");
      const { people, other } = await create();
      const mallory = idOf(await people.add("mallory", ALL));
      const extra = idOf(await atDesk(people, mallory).add("extra", ALL));
      const done = await Promise.all([people.confirm(extra), other.confirm(extra)]);
      const logged = (await people.readLog(extra)).map(({ what }) => what);
      expect([done.filter(Boolean), logged]).toEqual([
        [true],
        ["person_added", "person_confirmed"],
      ]);
    });
  });

  describe("a person with the name of one who was removed", () => {
    test("decides for no one who was handed to the other", async () => {
      counters("T-PEOPLE-7");
      const { people, directoryFor } = await create();
      await people.add("ada", ["see"], { roles: ["finance"] });
      await people.add("bob", ["see"], { osUser: "bo" });
      await people.setAway("ada", { to: "bob", until: new Date("2100-01-01") });
      await people.remove("bob");
      await people.add("bob", ["see"], { osUser: "bo" });
      expect(directoryFor({ osUser: () => "bo" }).findHere()).not.toHaveProperty("standsInFor");
    });
  });

  describe("a link from the command line", () => {
    test("lets one person change their keys, once, for 24 hours", async () => {
      counters("T-SIGN-5");
      const clock = new FakeClock();
      const { people, other } = await create({ now: () => clock.now() });
      const ada = idOf(await people.add("ada", ["see"]));
      const bob = idOf(await people.add("bob", ["see"]));
      const link = async () => ({ linkHash: hashOf((await people.createLink("ada")) ?? "") });
      const use = (id: string, key: string, permit: { readonly linkHash: string }) =>
        changeKeys(other, id, { add: passkey(key) }, permit);
      const [first, second] = [await link(), await link()];
      expect([
        await use(ada, "k1", first), // Replaced by the second one.
        await use(bob, "k1", second),
        await use(ada, "k1", { linkHash: "" }),
        await use(ada, "k1", second),
        await use(ada, "k2", second),
      ]).toEqual([
        "key_change_refused",
        "key_change_refused",
        "key_change_refused",
        "key_added",
        "key_change_refused",
      ]);
      const late = await link();
      clock.advance(24 * 3_600_000);
      expect(await other.hasLink(ada, late.linkHash)).toBe(true);
      clock.advance(1);
      expect([await other.hasLink(ada, late.linkHash), await use(ada, "k2", late)]).toEqual([
        false,
        "key_change_refused",
      ]);
    });

    test("is used by one of two processes that use it at the same time", async () => {
      counters("T-SIGN-5");
      const { people, other } = await create();
      const ada = idOf(await people.add("ada", ["see"]));
      const permit = { linkHash: hashOf((await people.createLink("ada")) ?? "") };
      const used = await Promise.all(
        [people, other].map((each, index) =>
          changeKeys(each, ada, { add: passkey(`k${index}`) }, permit),
        ),
      );
      expect(used.filter((code) => code === "key_change_refused")).toHaveLength(1);
      expect((await people.list())[0]?.keys).toHaveLength(1);
    });

    test("is stored as a hash", async () => {
      const { people } = await create();
      await people.add("ada", ["see"]);
      const link = (await people.createLink("ada")) ?? "";
      const all = JSON.stringify([await people.list(), await people.readLog()]);
      expect([link.startsWith("jpl_"), all.includes(link.slice(4))]).toEqual([true, false]);
    });
  });

  describe("a change of keys", () => {
    test("is allowed by a passkey of the same person that is still there", async () => {
      counters("T-SIGN-5");
      const { people } = await create();
      const ada = idOf(await people.add("ada", ["see"]));
      const bob = idOf(await people.add("bob", ["see"]));
      await people.addKey("ada", passkey("a"));
      await people.addKey("bob", passkey("b"));
      await people.addKey("bob", { type: "ed25519", id: "ssh", public: "", added: "now" });
      const change = (id: string, permit: string, remove?: string) =>
        changeKeys(people, id, remove === undefined ? { add: passkey("new") } : { remove }, {
          passkey: permit,
        });
      expect([
        await change(ada, "b"),
        await change(bob, "ssh"),
        await change(ada, "a", "b"),
        await change(ada, "a", "a"),
        await change(ada, "a"), // It is gone.
        await change("p_unknown", "a"),
      ]).toEqual([
        "key_change_refused",
        "key_change_refused",
        "key_not_found",
        "key_removed",
        "key_change_refused",
        "person_not_found",
      ]);
    });

    test("is logged with what allowed it, and counted", async () => {
      const { people, other } = await create({ osUser: () => "root" });
      const ada = idOf(await people.add("ada", ["see"]));
      const permit = { linkHash: hashOf((await people.createLink("ada")) ?? "") };
      const desk = atDesk(other, ada);
      await desk.changeKeys(ada, { add: passkey("a") }, permit);
      await desk.changeKeys(ada, { add: passkey("b"), remove: "a" }, { passkey: "a" });
      await people.removeKey("ada", "b");
      const by = { channel: "desk", person_id: ada, name: ada };
      const cli = { channel: "cli", os_user: "root" };
      const key = { key_type: "passkey", rp_id: "desk.example" };
      expect((await other.readLog(ada)).slice(2)).toMatchObject([
        { what: "key_added", by, key: "a", allowed_by: "link", ...key },
        { what: "key_replaced", by, key: "b", replaced: "a", allowed_by: "a", ...key },
        { what: "key_removed", by: cli, key: "b", ...key },
      ]);
      expect((await other.list())[0]?.keyChanges).toBe(3);
    });
  });

  test("the log says what was changed, of whom, by whom and from where", async () => {
    const clock = new FakeClock();
    const { people, other } = await create({ now: () => clock.now(), osUser: () => "root" });
    const ada = idOf(await people.add("ada", ALL, { roles: ["finance"], osUser: "al" }));
    const bob = idOf(await atDesk(other, ada).add("bob", ["see"]));
    await people.confirm(bob);
    await people.change("bob", { roles: ["finance"] });
    await people.setAway("bob", { to: "ada", until: new Date("2026-01-31T09:00:00Z") });
    await people.setAway("bob");
    await people.renewToken("bob");
    await people.countUse("bob", "k", 1);
    await atDesk(other, ada).remove("bob");
    const at = clock.now().toISOString();
    const cli = { channel: "cli", os_user: "root" };
    const desk = { channel: "desk", person_id: ada, name: ada };
    const first = { at, what: "person_added", person_id: ada, name: "ada", by: cli };
    const of = { at, person_id: bob, name: "bob" };
    expect(await people.readLog()).toEqual([
      { ...first, rights: ALL, roles: ["finance"], os_user: "al" },
      { ...of, what: "person_added", by: desk, rights: ["see"] },
      { ...of, what: "person_confirmed", by: cli },
      { ...of, what: "person_changed", by: cli, roles: ["finance"] },
      { ...of, what: "person_away", by: cli, to: "ada", until: "2026-01-31T09:00:00.000Z" },
      { ...of, what: "person_back", by: cli },
      { ...of, what: "token_renewed", by: cli },
      { ...of, what: "person_removed", by: desk },
    ]);
  });
});

describe("someone in a file from before ids were stored", () => {
  const TOKEN = `jpd_${"a".repeat(43)}`;
  const OLD = {
    people: [
      { name: "ada", rights: ["see"], token_sha256: hashOf(TOKEN) },
      { name: "bob", rights: ["see"], token_sha256: hashOf("b") },
    ],
  };

  /** As an earlier version has written it. */
  function openOld() {
    const { file, folder, people } = openFile();
    return people.add("x", []).then(() => {
      writeFileSync(file, JSON.stringify(OLD));
      return { file, folder, people, other: openPeople(folder) };
    });
  }

  test("has the same id in every process without a write, and counts at once", async () => {
    const { file, folder, people, other } = await openOld();
    const ada = { id: idOf(TOKEN), name: "ada" };
    expect([
      await findByToken(people, TOKEN),
      (await other.list())[0],
      openDirectory(folder).list()[0],
    ]).toEqual([
      { ...ada, rights: ["see"] },
      { ...ada, rights: ["see"] },
      { ...ada, roles: [] },
    ]);
    expect(readFileSync(file, "utf8")).toBe(JSON.stringify(OLD));
  });

  test("has it written down with the first change of theirs, and keeps it after that", async () => {
    const { file, people, other } = await openOld();
    await people.change("ada", { roles: ["finance"] });
    const stored = JSON.parse(readFileSync(file, "utf8")) as typeof OLD;
    expect(stored.people).toMatchObject([{ id: idOf(TOKEN), name: "ada" }, OLD.people[1] ?? {}]);
    expect(stored.people[1]).toEqual(OLD.people[1]);
    await people.renewToken("ada");
    expect(await findId(other, "ada")).toBe(idOf(TOKEN));
  });
});

test("an account whose maker cannot be read is not confirmed", async () => {
  counters("T-PEOPLE-8");
  const { file, people, folder } = openFile();
  await people.add("ada", ["see"]);
  const stored = JSON.parse(readFileSync(file, "utf8")) as { people: object[] };
  const [ada = {}] = stored.people;
  writeFileSync(file, JSON.stringify({ people: [{ ...ada, made_by: 7, confirmed_at: "soon" }] }));
  expect(openDirectory(folder).list()).toMatchObject([{ confirmed: false }]);
});
