/** The operations about passkeys: a person's own, and what they sign with them. */
import * as v from "valibot";
import type { DecisionSignature } from "../conversation/index.ts";
import { isJpError, type JsonObject } from "../util/index.ts";
import { ApiError, notFound } from "./http.ts";
import { type Operation, operation } from "./operation.ts";
import type { Passkey } from "../people/index.ts";
import * as schemas from "./schemas.ts";

const REFUSED = { description: "Not for this person, or not here.", schema: schemas.NAMED.error };

export const PASSKEY_OPERATIONS: readonly Operation[] = [
  operation({
    id: "listPasskeys",
    summary: "List the caller's own passkeys that work at this address",
    route: "GET /passkeys",
    needs: "person",
    responses: { 200: { description: "All of them.", schema: schemas.passkeys } },
    handle: async ({ passkeys, caller: { person } }) => ({
      // Whoever has the link of the owner has none.
      body: {
        items: person.isOwner === true ? [] : (await passkeys.listOf(person.name)).map(toJson),
      },
    }),
  }),
  operation({
    id: "startPasskey",
    summary: "Start to add a passkey, for the caller alone",
    route: "POST /passkeys/challenge",
    needs: "person",
    responses: {
      200: { description: "Valid once, for two minutes.", schema: schemas.passkeyChallenge },
      403: REFUSED,
      409: REFUSED,
    },
    handle: async ({ passkeys, caller }) => ({ body: await passkeys.startAdding(caller) }),
  }),
  operation({
    id: "addPasskey",
    summary: "Add a passkey, for the caller alone",
    route: "POST /passkeys",
    needs: "person",
    body: {
      challenge: v.string(),
      id: v.pipe(v.string(), v.description("Of the credential. This and the rest in base64url.")),
      client_data: v.string(),
      attestation: v.pipe(v.string(), v.description("The attestation object, of any format.")),
      transports: v.exactOptional(v.array(v.string())),
    },
    responses: {
      201: { description: "It is added.", schema: schemas.passkey },
      403: REFUSED,
      409: REFUSED,
    },
    handle: async ({ passkeys, access, request, caller, body }) => {
      const { client_data: clientData, transports = [], ...rest } = body;
      const { name } = caller.person;
      const added = await passkeys
        .add({ ...rest, clientData }, transports.slice(0, 10), caller)
        .catch((error: unknown) => {
          if (!isJpError(error) || error.code !== "key_exists") throw error;
          throw new ApiError(409, error.code, { message: error.message });
        });
      access.audit("passkey_added", request, { name });
      return { status: 201, body: toJson(added) };
    },
  }),
  operation({
    id: "removePasskey",
    summary: "Remove a passkey of the caller",
    route: "DELETE /passkeys/{id}",
    needs: "person",
    responses: {
      200: { description: "It is removed.", schema: schemas.removed },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ passkeys, people, access, request, caller: { person }, params }) => {
      const { id = "" } = params;
      const isOwn = (await passkeys.listOf(person.name)).some((key) => key.id === id);
      if (!isOwn || person.isOwner === true || !(await people.removeKey(person.name, id))) {
        throw notFound("You have no such passkey here.");
      }
      access.audit("passkey_removed", request, { name: person.name });
      return { body: { type: "removed" } };
    },
  }),
];

function toJson({ id, added, rpId }: Passkey): JsonObject {
  return { id, added, rp_id: rpId };
}

/** A signature as a request has it. */
export const signatureFields = v.pipe(
  v.exactOptional(
    v.strictObject({
      nonce: v.string(),
      key: v.string(),
      sig: v.string(),
      authenticator_data: v.string(),
      client_data: v.string(),
    }),
  ),
  v.description(
    "For a yes that has to be signed (`terms.proof`): by the credential `key`, of what `signInquiry` returned. In base64url.",
  ),
);

export function toSignature({
  authenticator_data: authenticatorData,
  client_data: clientData,
  ...signed
}: NonNullable<v.InferOutput<typeof signatureFields>>): DecisionSignature {
  return { type: "webauthn", ...signed, authenticatorData, clientData };
}
