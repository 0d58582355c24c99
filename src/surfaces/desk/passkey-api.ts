/** The passkey operations: managing a person's own passkeys, and signing with them. */
import * as v from "valibot";
import type { DecisionSignature } from "../../record/conversation/index.ts";
import type { Passkey, PeopleLogEntry } from "../../settings/people/index.ts";
import { isJpError, type JsonObject } from "../../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError } from "./http.ts";
import { type ApiParts, type Operation, operation } from "./operation.ts";
import * as schemas from "./schemas.ts";

const REFUSED = { description: "Not for this person, or not here.", schema: schemas.NAMED.error };
const TO_SIGN = {
  description: "What a passkey of the caller has to sign. Valid once, for two minutes.",
  schema: schemas.signingRequest,
};

const signature = {
  nonce: v.string(),
  key: v.pipe(v.string(), v.description("The id of the credential.")),
  sig: v.string(),
  authenticator_data: v.string(),
  client_data: v.string(),
};

export const PASSKEY_OPERATIONS: readonly Operation[] = [
  operation({
    id: "listPasskeys",
    summary: "List the caller's own passkeys that work at this address",
    route: "GET /passkeys",
    needs: "person",
    responses: { 200: { description: "All of them.", schema: schemas.passkeys } },
    handle: async ({ passkeys, caller }) => ({
      body: { items: (await passkeys.listOwn(caller)).map(toJson) },
    }),
  }),
  operation({
    id: "startPasskey",
    summary: "Start to add a passkey, for the caller alone",
    route: "POST /passkeys/challenge",
    needs: "person",
    body: {
      link: v.pipe(
        v.exactOptional(v.string()),
        v.description(
          "The code of a link from `jp serve people link`. Without it, a passkey that the caller has here has to sign.",
        ),
      ),
    },
    responses: {
      200: { description: "Valid once, for two minutes.", schema: schemas.passkeyChallenge },
      403: {
        description: "Takes a link: `link_needed`. The link does not count: `link_refused`.",
        schema: schemas.NAMED.error,
      },
      409: REFUSED,
    },
    handle: async ({ passkeys, access, request, caller, body: { link } }) => {
      const body = await passkeys.startAdding(caller, link).catch((error: unknown) => {
        const isLink = error instanceof ApiError && error.code === "link_refused";
        if (isLink) access.audit("link_refused", request, { name: caller.person.name });
        throw error;
      });
      return { body };
    },
  }),
  operation({
    id: "addPasskey",
    summary: "Add or replace a passkey, for the caller alone",
    route: "POST /passkeys",
    needs: "person",
    body: {
      challenge: v.string(),
      id: v.pipe(v.string(), v.description("Of the credential. This and the rest in base64url.")),
      client_data: v.string(),
      attestation: v.pipe(v.string(), v.description("The attestation object, of any format.")),
      transports: v.exactOptional(v.array(v.string())),
      replaces: v.pipe(
        v.exactOptional(v.string()),
        v.description("The id of a passkey that is removed when this one is added."),
      ),
    },
    responses: {
      201: { description: "It is added: a link allowed it.", schema: schemas.passkey },
      202: TO_SIGN,
      403: REFUSED,
      404: schemas.NOT_FOUND,
      409: REFUSED,
    },
    handle: async (call) => {
      const { passkeys, caller, body } = call;
      const { client_data: clientData, transports = [], ...rest } = body;
      const proposed = { ...rest, clientData, transports: transports.slice(0, 10) };
      const proposal = await passkeys.propose(proposed, caller).catch(explain);
      if (proposal.type === "to_sign") return { status: 202, body: { ...proposal.request } };
      await finish(call, proposal.entry);
      return { status: 201, body: toJson(proposal.passkey) };
    },
  }),
  operation({
    id: "removePasskey",
    summary: "Start to remove a passkey of the caller",
    route: "POST /passkeys/{id}/removal",
    needs: "person",
    responses: { 202: TO_SIGN, 404: schemas.NOT_FOUND, 409: REFUSED },
    handle: async ({ passkeys, caller, params: { id = "" } }) => ({
      status: 202,
      body: { ...(await passkeys.startRemoving(id, caller)) },
    }),
  }),
  operation({
    id: "signPasskeyChange",
    summary: "Add, replace or remove a passkey, with the signature of one that the caller has",
    route: "POST /passkeys/signature",
    needs: "person",
    body: signature,
    responses: {
      200: { description: "It is done. Other sessions have ended.", schema: schemas.changed },
      403: REFUSED,
      404: schemas.NOT_FOUND,
      409: REFUSED,
    },
    handle: async (call) => {
      const { passkeys, caller, body } = call;
      const entry = await passkeys.acceptChange(toSignature(body), caller).catch(explain);
      await finish(call, entry);
      return { body: { type: "changed" } };
    },
  }),
];

interface Changed extends Pick<ApiParts, "access" | "onKeyChange"> {
  readonly request: Parameters<ApiParts["access"]["audit"]>[1];
  readonly caller: Caller;
}

/** The change ended all the caller's sessions; this one is kept. */
async function finish(
  { access, onKeyChange, request, caller }: Changed,
  entry: PeopleLogEntry,
): Promise<void> {
  access.audit(entry.what, request, { name: caller.person.name });
  onKeyChange?.(entry);
  await access.keepSession(caller);
}

const STATUSES: ReadonlyMap<string, number> = new Map([
  ["key_exists", 409],
  ["key_not_found", 404],
  ["key_change_refused", 403],
  ["person_not_found", 403],
]);

function explain(error: unknown): never {
  const status = isJpError(error) ? STATUSES.get(error.code) : undefined;
  if (!isJpError(error) || status === undefined) throw error;
  throw new ApiError(status, error.code, { message: error.message });
}

function toJson({ id, added, rpId }: Passkey): JsonObject {
  return { id, added, rp_id: rpId };
}

/** The signature in an answer. */
export const signatureFields = v.pipe(
  v.exactOptional(v.strictObject(signature)),
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
