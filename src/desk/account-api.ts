/** The operations about who is calling, and who may: logging in and out, and people. */
import * as v from "valibot";
import { isJpError, type JpError, type JsonObject } from "../util/index.ts";
import { ApiError, badRequest, notFound } from "./http.ts";
import { type Operation, operation } from "./operation.ts";
import { DEFAULT_RIGHTS, looksLike, RIGHTS } from "./people.ts";
import type { Person } from "./port.ts";
import * as schemas from "./schemas.ts";

export const ACCOUNT_OPERATIONS: readonly Operation[] = [
  operation({
    id: "login",
    summary: "Start a session of the page with a one-time login or a personal token",
    route: "POST /login",
    needs: "anyone",
    body: { login: v.string() },
    responses: {
      200: { description: "Sets the session's cookie.", schema: schemas.session },
      401: { description: "Used already, expired or unknown.", schema: schemas.NAMED.error },
      429: { description: "Too many failures.", schema: schemas.NAMED.error },
    },
    handle: async ({ access, body, request }) => {
      const { csrf, cookie } = await access.login(body.login, request);
      return { body: { csrf }, headers: { "set-cookie": cookie } };
    },
  }),
  operation({
    id: "logout",
    summary: "End the session of the page",
    route: "POST /logout",
    needs: "person",
    responses: { 200: { description: "It has ended.", schema: schemas.loggedOut } },
    handle: async ({ access, request, caller }) => {
      const cookie = await access.logout(request, caller);
      return { body: { type: "logged_out" }, headers: { "set-cookie": cookie } };
    },
  }),
  operation({
    id: "me",
    summary: "Who is calling",
    route: "GET /me",
    needs: "person",
    responses: { 200: { description: "The person.", schema: schemas.me } },
    handle: async ({ caller: { person, csrf }, runs }) => {
      const { name, rights } = person;
      return { body: { name, rights: [...rights], ...(csrf !== undefined && { csrf }), runs } };
    },
  }),
  operation({
    id: "listPeople",
    summary: "List the people who may use the desk",
    route: "GET /people",
    needs: "administer",
    responses: { 200: { description: "All of them.", schema: schemas.people } },
    handle: async ({ people }) => ({ body: { items: (await people.list()).map(personToJson) } }),
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

function toApiError({ code, message }: JpError): Error {
  if (code === "person_exists") return taken(message);
  return code === "invalid_name" ? badRequest(message) : new Error(message);
}

function taken(message: string): ApiError {
  return new ApiError(409, "person_exists", { message });
}
