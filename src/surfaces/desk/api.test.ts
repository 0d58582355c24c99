/** What the operations take and return. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { DECISION_TYPES_FILE, renderDecisionTypes } from "../../../test/support/decision-types.ts";
import { DESK_OPENAPI, renderDeskOpenApi } from "../../../test/support/desk-openapi.ts";
import { API_PATH, OPERATIONS } from "./api.ts";
import { renderOpenApi } from "./openapi.ts";
import { bearer, PENDING, QUESTION_PATH, READ, ServedDesk } from "./served.fixture.ts";

async function start(rights?: Parameters<ServedDesk["addPerson"]>[1]) {
  const served = await ServedDesk.start();
  const headers = bearer(await served.addPerson("ada", rights));
  return {
    served,
    get: async (path: string) => {
      const { status, json } = await served.send(path, { headers });
      return [status, json];
    },
    post: async (path: string, body?: unknown) => {
      const { status, json } = await served.send(path, { method: "POST", headers, body });
      return [status, json];
    },
    remove: async (path: string) => {
      const { status, json } = await served.send(path, { method: "DELETE", headers });
      return [status, json];
    },
  };
}

function refusal(code: string, message: unknown = expect.any(String), reason?: string) {
  return { error: { code, message, ...(reason !== undefined && { reason }) } };
}

describe("what waits", () => {
  test("is listed, also by conversation and text", async () => {
    const { served, get } = await start();
    expect(await get("/inquiries?state=pending")).toEqual([200, { items: [PENDING] }]);
    await get("/inquiries?state=pending&conversation=jp-c1&kind=question&text=a&limit=5&cursor=x");
    expect(served.desk.calls).toEqual([
      {},
      { conversation: "jp-c1", kind: "question", text: "a", limit: 5, cursor: "x" },
    ]);
    expect(await get("/inquiries?state=pending&by=user")).toMatchObject([400, {}]);
  });

  test("is read by its id, whatever characters are in it, and by its workspace", async () => {
    const { get } = await start();
    expect(await get(QUESTION_PATH)).toEqual([200, PENDING]);
    const there = encodeURIComponent(PENDING.workspace);
    expect(await get(`${QUESTION_PATH}?workspace=${there}`)).toEqual([200, PENDING]);
    const elsewhere = await get(`${QUESTION_PATH}?workspace=x`);
    expect(elsewhere).toEqual([404, refusal("not_found")]);
  });
});

describe("an answer", () => {
  const path = `${QUESTION_PATH}/answer`;

  test("is recorded with its note", async () => {
    const { served, post } = await start();
    const body = { answer: true, note: "It is old.", remember: true, ...READ };
    expect(await post(path, body)).toEqual([200, { type: "recorded" }]);
    expect(served.desk.calls).toEqual([{ answer: true, note: "It is old.", isRemembered: true }]);
  });

  test("gets 409 after another, and who was faster", async () => {
    const { served, post } = await start();
    const by = { kind: "user", channel: "terminal", auth: "os_user", name: "bob" };
    served.desk.answeredBy = by;
    expect(await post(path, { answer: true, ...READ })).toEqual([
      409,
      { ...refusal("already_answered", "bob answered first."), answered_by: by },
    ]);
  });

  test("gets 422 if it does not fit, and why", async () => {
    const { post } = await start();
    expect(await post(path, { answer: "maybe", ...READ })).toEqual([
      422,
      refusal("does_not_fit", "Expected yes or no.", "misfit"),
    ]);
  });

  test("gets 428 without the digest of what was read, and 409 with another one", async () => {
    counters("T-DESK-9");
    const { served, post } = await start();
    expect(await post(path, { answer: true })).toEqual([428, refusal("digest_required")]);
    expect(await post(path, { answer: true, digest: "another" })).toEqual([
      409,
      { ...refusal("changed"), changed: ["arguments"] },
    ]);
    expect(served.desk.calls).toEqual([]);
    expect((await post(path, { answer: true, ...READ }))[0]).toBe(200);
  });

  test("gets 403 from someone who may not answer", async () => {
    const { post } = await start(["see"]);
    expect(await post(path, { answer: true, ...READ })).toEqual([
      403,
      refusal("forbidden", "You may not."),
    ]);
  });

  test.each(["/conversations/jp-c1/inquiries/x/answer", "/conversations/x/inquiries/x/answer"])(
    "gets 404 if the question is unknown: %s",
    async (unknown) => {
      const { post } = await start();
      expect(await post(unknown, { answer: true })).toEqual([404, refusal("not_found")]);
    },
  );

  test("can be to cancel, with and without a body", async () => {
    const { served, post } = await start();
    expect(await post(`${QUESTION_PATH}/cancel`)).toEqual([200, { type: "recorded" }]);
    expect((await post(`${QUESTION_PATH}/cancel`, {}))[0]).toBe(409);
    expect(served.desk.calls).toEqual([{ isCancelled: true }]);
  });
});

describe("lists", () => {
  test("pass on their filters, and return the next cursor", async () => {
    const { served, get } = await start();
    const [status, json] = await get(
      "/inquiries?outcome=answered&by=user&text=a%20b&limit=10&cursor=c",
    );
    expect([status, json]).toMatchObject([200, { next: "more", items: [{ outcome: "answered" }] }]);
    await get("/conversations?text=x&limit=500");
    expect(served.desk.calls).toEqual([
      { outcome: "answered", by: "user", text: "a b", limit: 10, cursor: "c" },
      { text: "x", limit: 500 },
    ]);
  });

  test.each([
    "limit=0",
    "limit=501",
    "limit=x",
    "limit=1.5",
    "limit=",
    "nothing=1",
    "text=a&text=b",
  ])("refuse parameters that are not valid: %s", async (query) => {
    const { get } = await start();
    expect(await get(`/inquiries?${query}`)).toEqual([400, refusal("invalid_request")]);
    expect(await get(`/conversations?${query}`)).toEqual([400, refusal("invalid_request")]);
  });
});

describe("a conversation", () => {
  const path = `/conversations/${PENDING.conversation}`;

  test("is read from an event on", async () => {
    const { get } = await start();
    const conversation = { workspace: PENDING.workspace, id: PENDING.conversation };
    expect(await get(path)).toEqual([
      200,
      { conversation, first: 0, count: 1, events: [{ n: 0 }] },
    ]);
    expect(await get(`${path}?first=7`)).toEqual([
      200,
      { conversation, first: 7, count: 8, events: [{ n: 7 }] },
    ]);
    expect(await get("/conversations/jp-c1")).toEqual([404, refusal("not_found")]);
    expect((await get(`${path}?first=-1`))[0]).toBe(400);
  });

  test("goes on once everything is answered", async () => {
    const { served, post } = await start();
    const early = await post(`${path}/resume`);
    expect(early).toEqual([409, refusal("not_resumed", "A question waits.")]);
    served.desk.answeredBy = { kind: "user" };
    expect(await post(`${path}/resume`)).toEqual([202, { type: "started" }]);
    expect((await post("/conversations/jp-c1/resume"))[0]).toBe(404);
  });

  test("is not continued by someone who may only see it", async () => {
    const { post } = await start(["see"]);
    expect(await post(`${path}/resume`)).toEqual([403, refusal("forbidden")]);
  });
});

describe("people", () => {
  test("are added, listed and removed by someone who may administer, which is audited", async () => {
    const { served, get, post, remove } = await start(["see", "administer"]);
    const [status, { token, ...added }] = (await post("/people", {
      name: "Ben",
      rights: ["see"],
    })) as [number, { token: string }];
    expect([status, added]).toEqual([201, { name: "Ben", rights: ["see"] }]);
    const asBen = () => served.send("/me", { headers: bearer(token) });
    expect((await asBen()).json).toMatchObject({ name: "Ben", rights: ["see"] });
    const id = expect.stringMatching(/^p_[0-9a-f]{32}$/) as unknown;
    const made = { made_by: [id], confirmed: false };
    expect(await get("/people")).toEqual([
      200,
      {
        items: [
          { id, name: "ada", rights: ["see", "administer"], roles: [], may_confirm: false },
          { ...made, id, name: "Ben", rights: ["see"], roles: [], may_confirm: false },
        ],
      },
    ]);
    expect(await remove("/people/Ben")).toEqual([200, { type: "removed" }]);
    expect([(await asBen()).status, await remove("/people/Ben")]).toEqual([
      401,
      [404, refusal("not_found")],
    ]);
    expect(served.audit).toMatchObject([
      { what: "person_added", name: "ada", person: "Ben" },
      { what: "person_removed", name: "ada", person: "Ben" },
      { what: "token_refused" },
    ]);
  });

  test("get no right that the one who adds them does not have", async () => {
    counters("T-DESK-7");
    const { served, post } = await start(["see", "administer"]);
    const refused = [403, refusal("forbidden", "ada does not have the right to answer.")];
    expect(await post("/people", { name: "Ben" })).toEqual(refused);
    expect(await served.people.list()).toHaveLength(1);
  });

  test.each([
    ["ADA", 409],
    ["Olga", 409],
    ["", 400],
    ["a\u202Eb", 400],
  ])("cannot have a name that is taken or misleading: %j", async (name, status) => {
    counters("T-DESK-7");
    const { post } = await start(["see", "administer"]);
    expect((await post("/people", { name, rights: ["see"] }))[0]).toBe(status);
  });

  test("are not seen or changed by others", async () => {
    const { get, post, remove } = await start();
    const results = [await get("/people"), await post("/people", {}), await remove("/people/ada")];
    expect(results).toEqual(results.map(() => [403, refusal("forbidden")]));
  });
});

test("the OpenAPI document in the package is up to date", () => {
  expect(readFileSync(DESK_OPENAPI, "utf8")).toBe(renderDeskOpenApi());
});

test("the types of a decision's JSON are up to date with its schema", () => {
  expect(readFileSync(DECISION_TYPES_FILE, "utf8")).toBe(renderDecisionTypes());
});

test("the OpenAPI document has every operation, and is what the server sends", async () => {
  const { get } = await start();
  const document = renderOpenApi(OPERATIONS, API_PATH);
  expect(await get("/openapi.json")).toEqual([200, document]);
  const paths = document["paths"] as Record<string, Record<string, object>>;
  const listed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(listed.toSorted()).toEqual(
    OPERATIONS.map(({ method, path }) => `${method} ${path}`).toSorted(),
  );
  expect(paths["/conversations/{conversation}/inquiries/{inquiry}/answer"]?.["post"]).toMatchObject(
    {
      parameters: [
        { name: "conversation" },
        { name: "inquiry" },
        { name: "workspace", in: "query" },
        { name: "Idempotency-Key", in: "header" },
      ],
      requestBody: {
        content: {
          "application/json": { schema: { required: ["answer"], additionalProperties: false } },
        },
      },
      responses: { 200: {}, 401: {}, 403: {}, 404: {}, 409: {}, 422: {}, 428: {} },
    },
  );
});
