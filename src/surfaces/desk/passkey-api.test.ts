/** Adding, replacing and removing passkeys over the API, with passkeys in software. */
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { hashKeyChange, type PeopleLogEntry } from "../../settings/people/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { SoftwareAuthenticator } from "./authenticator.fixture.ts";
import { createKey } from "./page/page-key.ts";
import { bearer, ServedDesk, sessionOf, textIn } from "./served.fixture.ts";

type Headers = Readonly<Record<string, string>>;

/** Ada, logged in at a desk, and what a browser of hers would send. */
async function open() {
  const told: PeopleLogEntry[] = [];
  const served = await ServedDesk.start({ onKeyChange: (entry) => void told.push(entry) });
  const token = await served.addPerson("ada");
  const { headers } = await served.login(token);
  const post = async (path: string, body: object, as: Headers = headers) => {
    const { status, json } = await served.send(path, { method: "POST", body, headers: as });
    const { error } = json as { readonly error?: { readonly code: string } };
    return { status, json, code: error?.code };
  };
  const authenticator = () => new SoftwareAuthenticator(served.service.url);
  const start = (body: object = {}, as?: Headers) => post("/passkeys/challenge", body, as);
  const link = async (name = "ada") => ({ link: (await served.people.createLink(name)) ?? "" });
  /** Up to what has to be signed. */
  const propose = async (own: SoftwareAuthenticator, more: object = {}, as?: Headers) => {
    const { json } = await start({}, as);
    return post("/passkeys", { ...own.create(textIn(json, "challenge")), ...more }, as);
  };
  const addByLink = async (own = authenticator(), as?: Headers) => {
    const { json } = await start(await link(), as);
    const { status } = await post("/passkeys", own.create(textIn(json, "challenge")), as);
    expect(status).toBe(201);
    return own;
  };
  const keys = async () => ((await served.people.list())[0]?.keys ?? []).map(({ id }) => id);
  return {
    served,
    told,
    token,
    headers,
    post,
    authenticator,
    start,
    link,
    propose,
    addByLink,
    keys,
  };
}

function toSign({ json }: { readonly json: JsonObject }) {
  return { nonce: textIn(json, "nonce"), challenge: textIn(json, "challenge") };
}

describe("the first passkey of a person", () => {
  test("takes a link from the command line, besides their own token", async () => {
    counters("T-SIGN-5");
    const { start, addByLink, keys, token } = await open();
    const [session, program] = [await start(), await start({}, bearer(token))];
    expect([session.code, program.code]).toEqual(["link_needed", "link_needed"]);
    const { id } = await addByLink();
    expect(await keys()).toEqual([id]);
  });

  test("takes a link again after the last one was removed, or at another address", async () => {
    counters("T-SIGN-5");
    const { served, post, start, addByLink, keys } = await open();
    const own = await addByLink();
    const asked = await post(`/passkeys/${own.id}/removal`, {});
    expect((await post("/passkeys/signature", own.sign(toSign(asked)))).status).toBe(200);
    expect([await keys(), (await start()).code]).toEqual([[], "link_needed"]);
    const elsewhere = { type: "passkey", id: "x", public: {}, added: "now", counter: 0 } as const;
    await served.people.addKey("ada", { ...elsewhere, rpId: "desk.example" });
    const { headers } = await served.login(await served.people.renewToken("ada"));
    expect((await start({}, headers)).code).toBe("link_needed");
  });

  test("is not added with a link that is another person's, was used, or is too old", async () => {
    counters("T-SIGN-5");
    const { served, start, link, post, authenticator, keys } = await open();
    await served.addPerson("bob");
    const [forBob, used] = [await link("bob"), await link()];
    const both = [await start(used), await start(used)];
    const created = both.map(({ json }) => authenticator().create(textIn(json, "challenge")));
    const [first, second] = [
      await post("/passkeys", created[0] ?? {}),
      await post("/passkeys", created[1] ?? {}),
    ];
    const late = await link();
    served.clock.advance(24 * 3_600_000 + 1);
    const { headers } = await served.login(await served.people.renewToken("ada"));
    expect([
      first.status,
      second.code,
      (await start(forBob, headers)).code,
      (await start(used, headers)).code,
      (await start(late, headers)).code,
      (await start({ link: "" }, headers)).code,
    ]).toEqual([201, "key_change_refused", ...Array<string>(4).fill("link_refused")]);
    expect(await keys()).toHaveLength(1);
    expect(served.audit.filter(({ what }) => what === "link_refused")).toHaveLength(4);
  });

  test("is not added with the link of the desk's owner, which is no one's token", async () => {
    counters("T-SIGN-4");
    const { served, start, link } = await open();
    const { headers } = await served.login();
    const listed = await served.send("/passkeys", { headers });
    expect([(await start(await link(), headers)).code, listed.json]).toEqual([
      "own_token_needed",
      { items: [] },
    ]);
  });
});

describe("another passkey", () => {
  test("is added once one that is there has signed it", async () => {
    counters("T-SIGN-5");
    const { addByLink, authenticator, propose, post, keys } = await open();
    const [own, other] = [await addByLink(), authenticator()];
    const proposed = await propose(other);
    expect([proposed.status, await keys()]).toEqual([202, [own.id]]);
    const done = await post("/passkeys/signature", own.sign(toSign(proposed)));
    expect([done.status, await keys()]).toEqual([200, [own.id, other.id]]);
  });

  test("is signed together with the person and a nonce", async () => {
    counters("T-SIGN-5");
    const { served, addByLink, authenticator, propose, post } = await open();
    const [own, other] = [await addByLink(), authenticator()];
    const asked = toSign(await propose(other));
    await post("/passkeys/signature", own.sign(asked));
    const [ada] = await served.people.list();
    const add = ada?.keys?.find(({ id }) => id === other.id);
    const hash = hashKeyChange(
      { ...(add !== undefined && { add }) },
      { id: ada?.id ?? "", name: "ada" },
      asked.nonce,
    );
    expect(Buffer.from(hash, "hex").toString("base64url")).toBe(asked.challenge);
  });

  test("is not added with a stolen token or session, by any signature but the person's", async () => {
    counters("T-SIGN-5");
    const { served, token, addByLink, authenticator, propose, post, keys } = await open();
    const own = await addByLink();
    const thief = (await served.login(token)).headers;
    const stolen = authenticator();
    const codes = [];
    for (const as of [thief, bearer(token)]) {
      // With the new passkey itself, and with nothing that could count.
      codes.push(
        (await post("/passkeys/signature", stolen.sign(toSign(await propose(stolen, {}, as))), as))
          .code,
      );
      const asked = toSign(await propose(stolen, {}, as));
      codes.push(
        (await post("/passkeys/signature", { ...stolen.sign(asked), key: own.id }, as)).code,
      );
      codes.push((await post(`/passkeys/${own.id}/removal`, {}, as)).status);
    }
    const refused = "signature_refused";
    expect(codes).toEqual([refused, refused, 202, refused, refused, 202]);
    expect(await keys()).toEqual([own.id]);
  });

  test("is not added by someone else's passkey", async () => {
    counters("T-SIGN-5");
    const { served, addByLink, authenticator, propose, post, link, keys } = await open();
    const own = await addByLink();
    const bob = (await served.login(await served.addPerson("bob"))).headers;
    const { json } = await post("/passkeys/challenge", await link("bob"), bob);
    const other = authenticator();
    await post("/passkeys", other.create(textIn(json, "challenge")), bob);
    const asked = toSign(await propose(authenticator()));
    expect((await post("/passkeys/signature", other.sign(asked))).code).toBe("signature_refused");
    expect(await keys()).toEqual([own.id]);
  });

  test("takes a signature that is new, of this session, and not older than two minutes", async () => {
    counters("T-SIGN-5");
    const { served, token, addByLink, authenticator, propose, post, keys } = await open();
    const own = await addByLink();
    const { headers: other } = await served.login(token);
    const sign = (signed: object, as?: Headers) => post("/passkeys/signature", signed, as);
    const first = own.sign(toSign(await propose(authenticator())));
    const elsewhere = await sign(first, other);
    const done = await sign(first);
    const replayed = await sign(first);
    const asked = toSign(await propose(authenticator()));
    const swapped = await sign({ ...first, nonce: asked.nonce });
    const late = toSign(await propose(authenticator()));
    served.clock.advance(2 * 60_000 + 1);
    const refused = "signature_refused";
    expect([
      elsewhere.code,
      done.status,
      replayed.code,
      swapped.code,
      (await sign(own.sign(late))).code,
    ]).toEqual([refused, 200, refused, refused, refused]);
    expect(await keys()).toHaveLength(2);
  });

  test("is not added by one that was removed while it signed", async () => {
    counters("T-SIGN-5");
    const { served, token, addByLink, authenticator, propose, post, keys } = await open();
    const own = await addByLink();
    const signed = own.sign(toSign(await propose(authenticator(), {}, bearer(token))));
    await served.people.removeKey("ada", own.id);
    expect((await post("/passkeys/signature", signed, bearer(token))).code).toBe(
      "signature_refused",
    );
    expect(await keys()).toEqual([]);
  });

  test("replaces one of the person's own in the same step", async () => {
    const { served, addByLink, authenticator, propose, post, keys } = await open();
    const [own, other] = [await addByLink(), authenticator()];
    const unknown = await propose(other, { replaces: "x" });
    const asked = toSign(await propose(other, { replaces: own.id }));
    await post("/passkeys/signature", own.sign(asked));
    expect([unknown.code, await keys()]).toEqual(["not_found", [other.id]]);
    const [ada] = await served.people.list();
    expect((await served.people.readLog(ada?.id)).at(-1)).toMatchObject({
      what: "key_replaced",
      key: other.id,
      replaced: own.id,
      allowed_by: own.id,
    });
  });

  test("is refused if it was made for another challenge, or for someone else", async () => {
    counters("T-SIGN-4");
    const { served, addByLink, authenticator, start, post } = await open();
    await addByLink();
    const bob = (await served.login(await served.addPerson("bob"))).headers;
    const created = authenticator().create(textIn((await start()).json, "challenge"));
    const { json } = await start();
    const codes = [
      (await post("/passkeys", created, bob)).code,
      (await post("/passkeys", { ...created, challenge: json["challenge"] })).code,
      (await post("/passkeys", created)).status,
      (await post("/passkeys", created)).code,
    ];
    expect(codes).toEqual(["passkey_refused", "passkey_refused", 202, "passkey_refused"]);
  });
});

describe("a change of someone's passkeys", () => {
  test("ends their other sessions and the logins they have made, and is told", async () => {
    counters("T-SIGN-5");
    const { served, told, token, headers, post, addByLink } = await open();
    const other = await served.login(token);
    const { json } = await post("/logins", {}, other.headers);
    const bob = await served.login(await served.addPerson("bob"));
    const own = await addByLink();
    const me = async (as: Headers) => (await served.send("/me", { headers: as })).status;
    const code = await served.prove(await createKey(), textIn(json, "login"));
    expect([
      await me(headers),
      await me(other.headers),
      (await served.prove(other.pair)).status,
      code.status,
      await me(bob.headers),
      await me(sessionOf(await served.prove(await createKey(), token))),
    ]).toEqual([200, 401, 401, 401, 200, 200]);
    expect(told).toMatchObject([{ what: "key_added", name: "ada", key: own.id }]);
    expect(served.audit.map(({ what }) => what)).toContain("key_added");
  });

  test("ends all of their sessions if it is made on the command line", async () => {
    counters("T-SIGN-5");
    const { served, headers, token } = await open();
    await served.people.addKey("ada", { type: "ed25519", id: "k", public: "", added: "now" });
    const after = await served.login(token);
    const me = async (as: Headers) => (await served.send("/me", { headers: as })).status;
    expect([await me(headers), await me(after.headers), await me(bearer(token))]).toEqual([
      401, 200, 200,
    ]);
  });

  test("is shown to them for 30 days, and to no one else", async () => {
    const { served, token, addByLink } = await open();
    const own = await addByLink();
    const bob = await served.addPerson("bob");
    const shown = async (as: string) =>
      (await served.send("/me", { headers: bearer(as) })).json["key_changes"];
    expect([await shown(token), await shown(bob)]).toMatchObject([
      [{ what: "key_added", key: own.id, key_type: "passkey", allowed_by: "link" }],
      undefined as never,
    ]);
    served.clock.advance(30 * 24 * 3_600_000 + 1);
    expect(await shown(token)).toBeUndefined();
  });
});
