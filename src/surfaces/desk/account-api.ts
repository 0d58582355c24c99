/** The account operations: logging in and out, and managing people. */
import type { Directory, KnownPerson } from "../../record/conversation/index.ts";
import * as v from "valibot";
import { type Clock, isJpError, type JpError, type JsonObject } from "../../util/index.ts";
import { ApiError, badRequest, notFound } from "./http.ts";
import { type Operation, operation } from "./operation.ts";
import {
  confirmationOf,
  DEFAULT_RIGHTS,
  isConfirmed,
  isIndependent,
  isKeyChange,
  looksLike,
  OWNER_ID,
  type PeopleLogEntry,
  RIGHTS,
} from "../../settings/people/index.ts";
import type { PeopleReader, Person } from "./port.ts";
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
    handle: async ({ people, clock, caller: { person }, directory, runs }) => {
      const changes = await listKeyChanges(person, people, clock);
      const known = knownToJson(person, directory);
      const shown = changes.length > 0 && { key_changes: changes };
      return { body: { ...personToJson(person), ...known, ...shown, runs } };
    },
  }),
  operation({
    id: "listPeople",
    summary: "List the people who may use the desk",
    route: "GET /people",
    needs: "administer",
    responses: { 200: { description: "All of them.", schema: schemas.people } },
    handle: async ({ people, directory, caller: { person } }) => {
      const all = await people.list();
      const { id } = actorOf(person, directory);
      const madeBy = all.find((each) => each.id === id)?.madeBy;
      const items = all.map((each) => ({
        ...listedToJson(each),
        may_confirm: !isConfirmed(each) && isIndependent({ id, madeBy }, each),
      }));
      return { body: { items } };
    },
  }),
  operation({
    id: "addPerson",
    summary:
      "Add a person, whose account has to be confirmed before it decides anything that names people",
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
    handle: async ({ people, owner, directory, access, request, caller: { person }, body }) => {
      const { name, rights = DEFAULT_RIGHTS } = body;
      const missing = rights.find((right) => !person.rights.includes(right));
      if (missing !== undefined) {
        throw new ApiError(403, "forbidden", {
          message: `${person.name} does not have the right to ${missing}.`,
        });
      }
      if (looksLike(owner.name, name)) throw taken(`${owner.name} is the owner of this desk.`);
      const editor = people.as(actorOf(person, directory));
      const token = await editor.add(name, rights).catch(explain);
      access.audit("person_added", request, { name: person.name, person: name });
      return { status: 201, body: { ...personToJson({ name, rights }), token } };
    },
  }),
  operation({
    id: "confirmPerson",
    summary: "Confirm an account that someone else has added at the desk",
    route: "POST /people/{id}/confirm",
    needs: "administer",
    responses: {
      200: { description: "It counts from now on.", schema: schemas.confirmed },
      403: {
        description:
          "The caller has made it, has made its maker, or was made by them: `not_independent`.",
        schema: schemas.NAMED.error,
      },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ people, directory, access, request, caller: { person }, params }) => {
      const { id = "" } = params;
      const editor = people.as(actorOf(person, directory));
      if (!(await editor.confirm(id).catch(explain))) {
        throw notFound("No account with this id waits to be confirmed.");
      }
      access.audit("person_confirmed", request, { name: person.name, person: id });
      return { body: { type: "confirmed" } };
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
    handle: async ({ people, directory, access, request, caller: { person }, params }) => {
      const { name = "" } = params;
      const editor = people.as(actorOf(person, directory));
      if (!(await editor.remove(name).catch(explain))) throw notFound("No person has this name.");
      access.audit("person_removed", request, { name: person.name, person: name });
      return { body: { type: "removed" } };
    },
  }),
];

/** The person making a change to people. The owner is the person whose OS user runs the desk, if there is one. */
function actorOf({ id, name, isOwner = false }: Person, directory: Directory | undefined) {
  const known = isOwner ? (directory?.findHere()?.id ?? OWNER_ID) : id;
  if (known === undefined) throw new Error("someone who is not the owner has no id");
  return { channel: "desk", id: known, name } as const;
}

const SHOWN_MS = 30 * 24 * 3_600_000;
const MAX_SHOWN = 20;

/** Recent changes to their keys, newest first, so that they notice one they did not make. */
async function listKeyChanges(
  { id, isOwner = false }: Person,
  people: PeopleReader,
  clock: Clock,
): Promise<readonly PeopleLogEntry[]> {
  if (isOwner || id === undefined) return [];
  const since = new Date(clock.now().getTime() - SHOWN_MS).toISOString();
  const recent = (await people.readLog(id)).filter(
    (entry) => isKeyChange(entry) && entry.at > since,
  );
  return recent.toReversed().slice(0, MAX_SHOWN);
}

function personToJson({ id, name, rights }: Person): JsonObject {
  return { ...(id !== undefined && { id }), name, rights: [...rights] };
}

function listedToJson(person: Person): JsonObject {
  const { roles = [], madeBy } = person;
  const confirmed = confirmationOf(person);
  const account = {
    ...(madeBy !== undefined && { made_by: [...madeBy] }),
    ...(confirmed !== undefined && { confirmed }),
  };
  return { ...personToJson(person), roles: [...roles], ...account };
}

function knownToJson(person: Person, directory?: Directory): JsonObject {
  const { id, name, roles = [], isOwner } = person;
  const people = directory?.list() ?? [];
  if (directory === undefined || people.length === 0) {
    return { no_people: true, ...(directory?.ownerAlone === true && { owner_alone: true }) };
  }
  // A custom directory may omit ids.
  const isThem = (each: KnownPerson) =>
    each.id === undefined ? each.name === name : each.id === id;
  const listed = people.find(isThem) ?? { name, roles };
  const known = isOwner === true ? directory.findHere() : listed;
  if (known === undefined) return {};
  const { standsInFor = [], confirmed } = known;
  const inPlace = standsInFor.length > 0 && { stands_in_for: standsInFor.map(identityToJson) };
  const confirmation = confirmed !== undefined && { confirmed };
  const own = isOwner === true && { is_owner: true };
  return { known: { ...identityToJson(known), ...own, ...inPlace, ...confirmation } };
}

function identityToJson({ id, name, roles }: Pick<KnownPerson, "id" | "name" | "roles">) {
  return { ...(id !== undefined && { id }), name, roles: [...roles] };
}

function explain(error: unknown): never {
  throw isJpError(error) ? toApiError(error) : error;
}

function toApiError({ code, message }: JpError): Error {
  if (code === "person_exists") return taken(message);
  if (code === "actor_unknown" || code === "not_independent") {
    return new ApiError(403, code, { message });
  }
  return code === "invalid_name" ? badRequest(message) : new Error(message);
}

function taken(message: string): ApiError {
  return new ApiError(409, "person_exists", { message });
}
