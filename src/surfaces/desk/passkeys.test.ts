import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { DecisionSignature, ToSign } from "../../record/conversation/index.ts";
import { openDirectory, openPeople } from "../../settings/people/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../testing/index.ts";
import { ANONYMOUS } from "./access.ts";
import type { ApiError } from "./http.ts";
import { Passkeys } from "./passkeys.ts";

const NONCE = `1.${"a".repeat(32)}`;
const TO_SIGN: ToSign = { digest: "d1", id: "a:run:1", answer: true, person: "ada", nonce: NONCE };
const ADA = { ...ANONYMOUS, person: { id: "p_ada", name: "ada", rights: [] }, key: "session 1" };

async function open(address = "http://jp-1.localhost:8080", isSigned = true) {
  const folder = path.join(temporaryFolder(), "data");
  const people = openPeople(folder);
  await people.add("ada", ["see"]);
  const key = { type: "passkey", id: "Y3JlZA", public: {}, added: "now", counter: 0 } as const;
  await people.addKey("ada", { ...key, rpId: "jp-1.localhost" });
  const clock = new FakeClock();
  const directory = { ...openDirectory(folder), isSigned: () => isSigned };
  const passkeys = new Passkeys({ people, directory, clock, url: new URL(address) });
  return { passkeys, clock, people };
}

function signature(origin = "http://jp-1.localhost:8080", counter = 1): DecisionSignature {
  const data = Buffer.alloc(37);
  data.writeUInt32BE(counter, 33);
  const authenticatorData = data.toString("base64url");
  const clientData = Buffer.from(JSON.stringify({ origin })).toString("base64url");
  return { type: "webauthn", key: "Y3JlZA", nonce: NONCE, sig: "", authenticatorData, clientData };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "accepted",
    ({ code }: ApiError) => code,
  );
}

describe("a signature at the desk", () => {
  test("is accepted once, in the session that it was asked for in, and for two minutes", async () => {
    counters("T-SIGN-2");
    const { passkeys, clock } = await open();
    const accept = (caller = ADA) => codeOf(passkeys.accept(signature(), caller));
    const before = await accept();
    await passkeys.request(TO_SIGN, ADA);
    expect([
      before,
      await accept({ ...ADA, key: "session 2" }),
      await accept(),
      await accept(),
    ]).toEqual(["signature_refused", "signature_refused", "accepted", "signature_refused"]);
    await passkeys.request(TO_SIGN, ADA);
    clock.advance(2 * 60_000 + 1);
    expect(await codeOf(passkeys.accept(signature(undefined, 2), ADA))).toBe("signature_refused");
  });

  test("is refused from another origin, even of the same machine, and if it is not the person's", async () => {
    counters("T-SIGN-4");
    const { passkeys } = await open();
    await passkeys.request(TO_SIGN, ADA);
    const elsewhere = signature("http://jp-1.localhost:9090");
    expect(await codeOf(passkeys.accept(elsewhere, ADA))).toBe("signature_refused");
    const other = await open(undefined, false);
    await other.passkeys.request(TO_SIGN, ADA);
    expect(await codeOf(other.passkeys.accept(signature(), ADA))).toBe("signature_refused");
  });

  test("is refused if the counter of the passkey does not go up", async () => {
    counters("T-SIGN-4");
    const { passkeys } = await open();
    const codes = [];
    for (const counter of [5, 5]) {
      await passkeys.request(TO_SIGN, ADA);
      codes.push(await codeOf(passkeys.accept(signature(undefined, counter), ADA)));
    }
    expect(codes).toEqual(["accepted", "passkey_copied"]);
  });
});

test.each(["http://127.0.0.1:8080", "https://[::1]:8080", "https://192.168.1.5"])(
  "passkeys are refused at an address that has no name: %s",
  async (address) => {
    const { passkeys } = await open(address);
    expect([
      passkeys.rpId,
      await codeOf(passkeys.request(TO_SIGN, ADA)),
      await codeOf(passkeys.startAdding(ADA)),
    ]).toEqual([undefined, "passkey_address", "passkey_address"]);
  },
);

test("a passkey of another name of the desk is not asked for", async () => {
  const { passkeys } = await open("https://desk.example");
  expect(await codeOf(passkeys.request(TO_SIGN, ADA))).toBe("no_passkey");
});
