/** People over the API: accounts that administrators add, confirm and remove. */
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { openDirectory, RIGHTS } from "../../settings/people/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { bearer, OWNER, ServedDesk, textIn } from "./served.fixture.ts";

/** A desk with two administrators from the command line. */
async function open() {
  const served = await ServedDesk.start();
  const tokens = {
    mallory: await served.addPerson("mallory", RIGHTS),
    ada: await served.addPerson("ada", RIGHTS),
  };
  const send = async (token: string, method: string, path: string, body?: object) => {
    const { status, json } = await served.send(path, { method, body, headers: bearer(token) });
    const { error } = json as { readonly error?: { readonly code: string } };
    return { status, json, code: error?.code };
  };
  const add = async (token: string, name: string, rights: readonly string[] = RIGHTS) => {
    const { json } = await send(token, "POST", "/people", { name, rights });
    return textIn(json, "token");
  };
  const list = async (token: string) => {
    const { json } = await send(token, "GET", "/people");
    return json["items"] as readonly JsonObject[];
  };
  const confirm = async (token: string, name: string) => {
    const person = (await served.people.list()).find((each) => each.name === name);
    const { status, code } = await send(token, "POST", `/people/${person?.id ?? "x"}/confirm`, {});
    return code ?? status;
  };
  return { served, tokens, send, add, list, confirm };
}

describe("an account that an administrator adds", () => {
  test("is listed as not confirmed, and only someone independent may confirm it", async () => {
    counters("T-PEOPLE-8");
    const { tokens, add, list, confirm } = await open();
    await add(tokens.mallory, "bob");
    const listed = async (token: string) =>
      (await list(token)).map(({ name, confirmed, may_confirm: may }) => [name, confirmed, may]);
    expect([await listed(tokens.mallory), await listed(tokens.ada)]).toEqual([
      [
        ["mallory", undefined, false],
        ["ada", undefined, false],
        ["bob", false, false],
      ],
      [
        ["mallory", undefined, false],
        ["ada", undefined, false],
        ["bob", false, true],
      ],
    ]);
    expect([
      await confirm(tokens.mallory, "bob"),
      await confirm(tokens.ada, "bob"),
      await confirm(tokens.ada, "bob"),
    ]).toEqual(["not_independent", 200, "not_found"]);
    const [, , bob] = await list(tokens.ada);
    expect(bob).toMatchObject({ confirmed: "2026-01-02 03:04:05.678", may_confirm: false });
  });

  test("administers nothing until it is confirmed, so one administrator alone gets no second account", async () => {
    counters("T-PEOPLE-8");
    const { tokens, add, send, confirm } = await open();
    const helper = await add(tokens.mallory, "helper");
    const refused = [
      (await send(helper, "GET", "/people")).code,
      (await send(helper, "POST", "/people", { name: "third" })).code,
      (await send(helper, "DELETE", "/people/ada")).code,
      await confirm(helper, "helper"),
      await confirm(tokens.mallory, "helper"),
    ];
    expect(refused).toEqual([...Array<string>(4).fill("forbidden"), "not_independent"]);
    // Even confirmed by someone else, it is not independent of who made it.
    await confirm(tokens.ada, "helper");
    await add(helper, "third");
    await add(tokens.mallory, "fourth");
    expect([await confirm(tokens.mallory, "third"), await confirm(helper, "fourth")]).toEqual([
      "not_independent",
      "not_independent",
    ]);
  });

  test("gets no role at the desk, and no right that its maker does not have", async () => {
    counters("T-PEOPLE-8");
    const { served, send } = await open();
    const limited = await served.addPerson("limited", ["see", "administer"]);
    const body = { name: "bob" };
    expect([
      (await send(limited, "POST", "/people", { ...body, roles: ["finance"] })).code,
      (await send(limited, "POST", "/people", { ...body, rights: ["approve"] })).code,
    ]).toEqual(["invalid_request", "forbidden"]);
  });

  test("is not the person of that name who was removed", async () => {
    counters("T-PEOPLE-7");
    const { served, tokens, add, send } = await open();
    const before = (await served.people.list()).find(({ name }) => name === "ada")?.id;
    await send(tokens.mallory, "DELETE", "/people/ada");
    await add(tokens.mallory, "ada");
    const [, ada] = openDirectory(served.folder).list();
    expect(ada).toMatchObject({ name: "ada", confirmed: false });
    expect(ada?.id).not.toBe(before);
    const log = await served.people.readLog();
    expect(log.slice(2)).toMatchObject([
      { what: "person_removed", person_id: before, by: { channel: "desk", name: "mallory" } },
      { what: "person_added", person_id: ada?.id, by: { channel: "desk", name: "mallory" } },
    ]);
  });

  test("is confirmed by the id that was listed, not by a name that someone else may have by then", async () => {
    counters("T-PEOPLE-7");
    const { tokens, add, list, send } = await open();
    await add(tokens.mallory, "bob");
    const [, , bob = {}] = await list(tokens.ada);
    await send(tokens.mallory, "DELETE", "/people/bob");
    await add(tokens.mallory, "bob");
    const { code } = await send(tokens.ada, "POST", `/people/${textIn(bob, "id")}/confirm`, {});
    expect(code).toBe("not_found");
  });
});

test("the owner of a desk adds accounts as the person with their OS user, if there is one", async () => {
  const first = await ServedDesk.start();
  const served = await ServedDesk.start({
    people: first.people,
    owner: { ...OWNER, isOwner: true },
    directory: openDirectory(first.folder, { osUser: () => "al" }),
  });
  const { headers } = await served.login();
  const add = async (name: string) => {
    await served.send("/people", { method: "POST", body: { name }, headers });
    return (await first.people.list()).find((person) => person.name === name)?.madeBy;
  };
  const before = await add("bob");
  await first.people.add("al", RIGHTS, { osUser: "al" });
  const al = (await first.people.list()).find(({ name }) => name === "al")?.id;
  expect([before, await add("carol")]).toEqual([["owner"], [al]]);
});

test("someone sees that their own account is not confirmed yet", async () => {
  const first = await ServedDesk.start();
  const served = await ServedDesk.start({
    people: first.people,
    directory: openDirectory(first.folder),
  });
  const mallory = await first.addPerson("mallory", RIGHTS);
  const body = { name: "bob" };
  const added = await served.send("/people", { method: "POST", body, headers: bearer(mallory) });
  const headers = bearer(textIn(added.json, "token"));
  const { json } = await served.send("/me", { headers });
  expect(json["known"]).toMatchObject({ name: "bob", confirmed: false });
});
