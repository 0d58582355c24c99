/** The operations about who is calling, and who may: logging in and out, and people. */
import { type Directory } from "../conversation/index.ts";
import * as v from "valibot";
import { isJpError, type JpError, type JsonObject } from "../util/index.ts";
import { ApiError, badRequest, notFound } from "./http.ts";
import { type Operation, operation } from "./operation.ts";
import { DEFAULT_RIGHTS, looksLike, RIGHTS } from "../people/index.ts";
import type { Person } from "./port.ts";
import * as schemas from "./schemas.ts";

export const ACCOUNT_OPERATIONS: readonly Operation[] = [
  operation({
    id: "challenge",
    summary: "Get a nonce for the page to sign",
    route: "POST /challenge",
    needs: "anyone",
    responses: { 200: { description: "Valid once, for a minute.", schema: schemas.challenge } },
    handle: async ({ access }) => ({ body: { nonce: access.createNonce() } }),
  }),
  operation({
    id: "startSession",
    summary:
      "Start a session of the page with a one-time login or a personal token, or go on with one",
    route: "POST /session",
    needs: "anyone",
    body: {
      key: v.pipe(
        v.string(),
        v.description("The page's public key: an uncompressed point of P-256, in base64url."),
      ),
      nonce: v.string(),
      signature: v.pipe(
        v.string(),
        v.description(
          "Of the lines `jp desk session`, the page's origin, and the nonce: ECDSA with SHA-256, in base64url.",
        ),
      ),
      login: v.pipe(
        v.exactOptional(v.string()),
        v.description("Without it, the session that was started with this key goes on."),
      ),
    },
    responses: {
      200: { description: "The session's token.", schema: schemas.session },
      401: { description: "Used already, expired or unknown.", schema: schemas.NAMED.error },
      429: { description: "Too many failures.", schema: schemas.NAMED.error },
    },
    handle: async ({ access, body: { login, ...proof }, request }) => ({
      body: { token: await access.startSession(proof, login, request) },
    }),
  }),
  operation({
    id: "createLogin",
    summary: "Create a one-time login for the same person, for another browser of theirs",
    route: "POST /logins",
    needs: "person",
    responses: {
      201: { description: "Works once, for ten minutes.", schema: schemas.newLogin },
    },
    handle: async ({ access, request, caller: { person, who } }) => {
      access.audit("login_created", request, { name: person.name });
      return { status: 201, body: { login: access.createLogin(who) } };
    },
  }),
  operation({
    id: "logout",
    summary: "End the session of the page",
    route: "POST /logout",
    needs: "person",
    responses: { 200: { description: "It has ended.", schema: schemas.loggedOut } },
    handle: async ({ access, request, caller }) => {
      await access.logout(request, caller);
      return { body: { type: "logged_out" } };
    },
  }),
  operation({
    id: "me",
    summary: "Who is calling",
    route: "GET /me",
    needs: "person",
    responses: { 200: { description: "The person.", schema: schemas.me } },
    handle: async ({ caller: { person }, directory, runs }) => ({
      body: { ...personToJson(person), ...knownToJson(person, directory), runs },
    }),
  }),
  operation({
    id: "listPeople",
    summary: "List the people who may use the desk",
    route: "GET /people",
    needs: "administer",
    responses: { 200: { description: "All of them.", schema: schemas.people } },
    handle: async ({ people }) => ({ body: { items: (await people.list()).map(listedToJson) } }),
  }),
  operation({
    id: "addPerson",
    summary: "Add a person",
    route: "POST /people",
    needs: "administer",
    body: {
      name: v.string(),
      rights: v.pipe(
        v.exactOptional(v.array(v.picklist(RIGHTS))),
        v.description("`see`, `answer` and `approve`, unless given. Only what the caller may do."),
      ),
    },
    responses: {
      201: {
        description: "With their token, which is not shown again.",
        schema: schemas.newPerson,
      },
      409: { description: "The name is taken.", schema: schemas.NAMED.error },
    },
    handle: async ({ people, owner, access, request, caller: { person }, body }) => {
      const { name, rights = DEFAULT_RIGHTS } = body;
      const missing = rights.find((right) => !person.rights.includes(right));
      if (missing !== undefined) {
        throw new ApiError(403, "forbidden", {
          message: `${person.name} does not have the right to ${missing}.`,
        });
      }
      if (looksLike(owner.name, name)) throw taken(`${owner.name} is the owner of this desk.`);
      const token = await people.add(name, rights).catch((error: unknown) => {
        throw isJpError(error) ? toApiError(error) : error;
      });
      access.audit("person_added", request, { name: person.name, person: name });
      return { status: 201, body: { ...personToJson({ name, rights }), token } };
    },
  }),
  operation({
    id: "removePerson",
    summary: "Remove a person; their token and sessions stop working",
    route: "DELETE /people/{name}",
    needs: "administer",
    responses: {
      200: { description: "They are removed.", schema: schemas.removed },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ people, access, request, caller: { person }, params }) => {
      const { name = "" } = params;
      if (!(await people.remove(name))) throw notFound("No person has this name.");
      access.audit("person_removed", request, { name: person.name, person: name });
      return { body: { type: "removed" } };
    },
  }),
];

function personToJson({ name, rights }: Person): JsonObject {
  return { name, rights: [...rights] };
}

function listedToJson(person: Person): JsonObject {
  return { ...personToJson(person), roles: [...(person.roles ?? [])] };
}

function knownToJson({ name, roles = [], isOwner }: Person, directory?: Directory): JsonObject {
  if (directory === undefined || directory.list().length === 0) return { decides_all: true };
  const people = directory.list();
  const listed = people.find((each) => each.name === name) ?? { name, roles };
  const known = isOwner === true ? directory.findHere() : listed;
  if (known === undefined) return {};
  const { standsInFor = [] } = known;
  const absent = standsInFor.map((each) => ({ name: each.name, roles: [...each.roles] }));
  const inPlace = absent.length > 0 && { stands_in_for: absent };
  return { known: { name: known.name, roles: [...known.roles], ...inPlace } };
}

function toApiError({ code, message }: JpError): Error {
  if (code === "person_exists") return taken(message);
  return code === "invalid_name" ? badRequest(message) : new Error(message);
}

function taken(message: string): ApiError {
  return new ApiError(409, "person_exists", { message });
}
