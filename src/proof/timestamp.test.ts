import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { isJpError, sha256 } from "../util/index.ts";
import {
  type Answer,
  type Authority,
  createAuthority,
  serveAuthority,
  useOpenssl,
} from "./authority.fixture.ts";
import { checkTimestamp, requestTimestamp, TimestampError } from "./timestamp.ts";

const DATA = Buffer.from('{"heads":[],"prev":""}');
const running = new AbortController().signal;

/** The response of an authority that answers in this way. */
async function request(answer: (query: Buffer) => Answer): Promise<Buffer> {
  const url = await serveAuthority(answer);
  const proof = await requestTimestamp(url, DATA, running);
  expect(proof).toEqual({ kind: "timestamp", url, response: expect.any(String) });
  return Buffer.from(proof.response, "base64");
}

async function failureOf(answer: (query: Buffer) => Answer): Promise<unknown> {
  return request(answer).then(
    () => "accepted",
    (error: unknown) => (isJpError(error) ? error.code : error),
  );
}

const rootOf = ({ root }: Authority) => new X509Certificate(readFileSync(root));

function resultOf(response: Buffer, trusted: readonly X509Certificate[]): unknown {
  try {
    return checkTimestamp(response, DATA, { trusted });
  } catch (error) {
    if (!(error instanceof TimestampError)) throw error;
    return "refused";
  }
}

describe("a time stamp", () => {
  useOpenssl();

  test.each([
    { key: "rsa", digest: "sha256" },
    { key: "rsa", digest: "sha512" },
    { key: "ec", digest: "sha256" },
  ] as const)(
    "of openssl is accepted, and openssl accepts it: $key with $digest",
    async (options) => {
      const authority = createAuthority(options);
      const response = await request((query) => ({ body: authority.reply(query) }));
      expect(authority.accepts(response, sha256(DATA))).toBe(true);
      const trusted = [rootOf(authority)];
      expect(checkTimestamp(response, DATA, { trusted })).toEqual({
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        authority: "CN=Authority",
        isTrusted: true,
      });
      expect(checkTimestamp(response, DATA)).not.toHaveProperty("isTrusted");
    },
  );

  test("is not trusted if it is of another authority than those that are", async () => {
    counters("T-ANCHOR-1");
    const [authority, other] = [createAuthority(), createAuthority()];
    const response = await request((query) => ({ body: authority.reply(query) }));
    expect(checkTimestamp(response, DATA, { trusted: [rootOf(other)] }).isTrusted).toBe(false);
  });

  test("is not one of other data", async () => {
    counters("T-ANCHOR-1");
    const authority = createAuthority();
    const response = await request((query) => ({ body: authority.reply(query) }));
    expect(() => checkTimestamp(response, Buffer.from("other"))).toThrow(TimestampError);
  });

  test("is not accepted with a byte changed, or says the same", async () => {
    counters("T-ANCHOR-1");
    const authority = createAuthority();
    const trusted = [rootOf(authority)];
    const response = await request((query) => ({ body: authority.reply(query) }));
    const whole = checkTimestamp(response, DATA, { trusted });
    const place = fc.nat(response.length - 1);
    fc.assert(
      fc.property(place, fc.integer({ min: 1, max: 255 }), (index, change) => {
        const changed = Buffer.from(response);
        changed[index] = (changed[index] ?? 0) ^ change;
        expect(resultOf(changed, trusted)).toBeOneOf([
          whole,
          { ...whole, isTrusted: false },
          "refused",
        ]);
      }),
      { numRuns: 500, examples: [[0, 1]] },
    );
  });
});

describe("a request for a time stamp", () => {
  useOpenssl();

  test("fails if the authority refuses it", async () => {
    const authority = createAuthority({ digests: "sha512" });
    expect(await failureOf((query) => ({ body: authority.reply(query) }))).toBe("anchor_refused");
  });

  test("fails if the response is that to an earlier request", async () => {
    counters("T-ANCHOR-1");
    const authority = createAuthority();
    let first: Buffer | undefined;
    const replay = (query: Buffer) => ({ body: (first ??= authority.reply(query)) });
    await request(replay);
    expect(await failureOf(replay)).toBe("anchor_invalid");
  });

  test("fails if the response is for other data", async () => {
    counters("T-ANCHOR-1");
    const authority = createAuthority();
    const digest = Buffer.from(sha256(DATA), "hex");
    const answer = (query: Buffer) => {
      query.set(Buffer.alloc(32), query.indexOf(digest));
      return { body: authority.reply(query) };
    };
    expect(await failureOf(answer)).toBe("anchor_invalid");
  });

  test("fails if the certificate of the authority has expired", async () => {
    const authority = createAuthority({ days: -1 });
    expect(await failureOf((query) => ({ body: authority.reply(query) }))).toBe("anchor_invalid");
  });
});

describe("a response to a request for a time stamp", () => {
  test.each([
    ["something else", { body: Buffer.from("<html>") }, "anchor_invalid"],
    ["nothing", { body: Buffer.alloc(0) }, "anchor_invalid"],
    ["deeply nested", { body: Buffer.alloc(4000, "3080") }, "anchor_invalid"],
    ["an error", { status: 500, body: Buffer.alloc(0) }, "anchor_failed"],
    ["a redirection", { status: 302, body: Buffer.alloc(0) }, "anchor_failed"],
    ["larger than any time stamp", { body: Buffer.alloc(2_000_000) }, "anchor_failed"],
  ])("is refused if it is not what was asked for: %s", async (_name, answer, code) => {
    counters("T-ANCHOR-2");
    expect(await failureOf(() => answer)).toBe(code);
  });

  test("is refused if no one sends one", async () => {
    const failure = requestTimestamp("http://127.0.0.1:1/", DATA, running);
    await expect(failure).rejects.toMatchObject({ code: "anchor_failed" });
  });
});
