/** The API's operations. `server.ts` turns them into routes and identifies callers. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import * as v from "valibot";
import {
  findConversationId,
  type ForWhom,
  type InquiryId,
  isSameWhom,
  type Reply,
} from "../../record/conversation/index.ts";
import { type Json, type JsonObject, loadModule } from "../../util/index.ts";
import { ACCOUNT_OPERATIONS } from "./account-api.ts";
import { PASSKEY_OPERATIONS, signatureFields, toSignature } from "./passkey-api.ts";
import type { Caller } from "./access.ts";
import { ApiError, badRequest, type JsonReply, notFound, tooLarge } from "./http.ts";
import { type ApiParts, MAX_BODY_BYTES, type Operation, operation } from "./operation.ts";
import type { ConversationRef, DeskAnswerResult, InquiryRef } from "./port.ts";
import * as schemas from "./schemas.ts";
import type { ConversationAddress, DeciderJson } from "./wire.ts";

/** The prefix of all operations. */
export const API_PATH = "/api/v1";

/** A result that a person edited may be as large as one from a tool. */
const MAX_CONTENT_BYTES = 1 << 20;
const MAX_PAGE = 500;
/** As many as a card of the page has. */
const MAX_ANSWERS = 20;

/** Whatever the model says that it is: a browser shows none of it. */
const FILE_TYPE = "application/octet-stream";

const workspace = v.pipe(
  v.exactOptional(v.string()),
  v.description("The root of the workspace, if the server has several."),
);
const text = v.pipe(v.exactOptional(v.string()), v.description("Only what contains this text."));
const paging = {
  cursor: v.pipe(v.exactOptional(v.string()), v.description("`next` of the page before.")),
  limit: v.pipe(v.exactOptional(wholeNumber(1, MAX_PAGE)), v.description("At most this many.")),
};
const noteText = v.pipe(
  v.exactOptional(v.string()),
  v.description("A remark that is recorded with the answer."),
);

/** Identifies the version of a decision that the caller read. */
const reading = {
  asked_at: v.pipe(
    v.exactOptional(v.string()),
    v.description("`asked_at` of the one that is meant, if a later one may have the same id."),
  ),
  digest: v.pipe(
    v.exactOptional(v.string()),
    v.description("`digest` of what was read. An answer needs it if there is one."),
  ),
};

/** The parts of an answer that take no more than a person's word. */
const answerFields = {
  answer: v.pipe(
    v.custom<Json>((value) => value !== undefined, "a value"),
    v.description("What `jp inquiry answer` takes: a value of the question's type."),
  ),
  note: noteText,
  remember: v.pipe(
    v.exactOptional(v.boolean()),
    v.description("Whether it counts for the rest of the turn."),
  ),
  redirects: v.pipe(
    v.exactOptional(v.boolean()),
    v.description(
      "With a no: the note is also the next message, and calls that have not started are skipped.",
    ),
  ),
  ...reading,
};

const ANSWER_RESPONSES = {
  200: { description: "It is on record.", schema: schemas.recorded },
  404: schemas.NOT_FOUND,
  409: schemas.CONFLICT,
  422: schemas.DOES_NOT_FIT,
};

export const OPERATIONS: readonly Operation[] = [
  operation({
    id: "openApi",
    summary: "This document",
    route: "GET /openapi.json",
    needs: "anyone",
    responses: { 200: { description: "OpenAPI 3.1.", schema: schemas.document } },
    handle: async () => ({ body: await renderDocument() }),
  }),
  ...ACCOUNT_OPERATIONS,
  ...PASSKEY_OPERATIONS,
  operation({
    id: "listInquiries",
    summary: "List what waits, oldest first, or all decisions on record, newest first",
    route: "GET /inquiries",
    needs: "see",
    query: {
      state: v.pipe(
        v.exactOptional(v.picklist(["pending", "all"])),
        v.description("`pending`: only what waits, oldest first."),
      ),
      workspace,
      conversation: v.exactOptional(v.string()),
      kind: v.exactOptional(schemas.kind),
      outcome: v.pipe(
        v.exactOptional(v.string()),
        v.description(
          "As for `jp inquiry ls`: also `pending` and `void`, and `answered` includes `approved`, `denied` and `edited`.",
        ),
      ),
      by: v.pipe(
        v.exactOptional(v.string()),
        v.description(
          "The `kind` of who decided. Calls that the config lets run unasked are listed only with `policy`.",
        ),
      ),
      text,
      ...paging,
    },
    responses: { 200: { description: "One page.", schema: schemas.inquiries } },
    handle: async ({ desk, query: { state, ...query } }) => {
      if (state !== "pending") return { body: { ...(await desk.listInquiries(query)) } };
      const { outcome, by, ...which } = query;
      if ((outcome ?? by) !== undefined) {
        throw badRequest("outcome and by do not apply to state=pending.");
      }
      return { body: { ...(await desk.listPending(which)) } };
    },
  }),
  operation({
    id: "readInquiry",
    summary: "Read a question, a permission, a delivery, or a call in doubt",
    route: "GET /conversations/{conversation}/inquiries/{inquiry}",
    needs: "see",
    query: { workspace },
    responses: {
      200: { description: "As it waits, or as recorded.", schema: schemas.inquiryItem },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ desk, params, query }) => ({
      body: found(await desk.findInquiry(inquiryRef(params, query, {}))),
    }),
  }),
  operation({
    id: "answerInquiry",
    summary: "Answer a question, or decide about a permission, a delivery, or a call in doubt",
    route: "POST /conversations/{conversation}/inquiries/{inquiry}/answer",
    // The desk checks the right it takes and who the question is for.
    needs: "person",
    query: { workspace },
    body: {
      ...answerFields,
      content: v.pipe(
        v.exactOptional(v.string()),
        v.description("For a delivery: what the model sees instead of the result."),
      ),
      signature: signatureFields,
    },
    maxBytes: MAX_CONTENT_BYTES + MAX_BODY_BYTES,
    isRepeatable: true,
    responses: { ...ANSWER_RESPONSES, 428: schemas.DIGEST_REQUIRED },
    handle: async ({ desk, keys, passkeys, request, params, query, body, caller }) => {
      const { content, asked_at, digest } = body;
      const signature = body.signature && toSignature(body.signature);
      const { content: _content, ...rest } = body;
      if (Buffer.byteLength(JSON.stringify(rest)) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
      const reply = { ...replyIn(body), ...(content !== undefined && { content }) };
      const ref = inquiryRef(params, query, { asked_at, digest });
      return keys.run(request, { caller, body }, async () => {
        if (signature !== undefined) await passkeys.accept(signature, caller);
        const signed = signature === undefined ? reply : { ...reply, signature };
        return toReply(await desk.answer(ref, signed, caller.person));
      });
    },
  }),
  operation({
    id: "answerInquiries",
    summary: "Answer several of them, each of which is judged and refused alone",
    route: "POST /inquiries/answers",
    needs: "person",
    body: {
      answers: v.pipe(
        v.array(
          v.strictObject({
            workspace,
            conversation: v.string(),
            id: v.string(),
            ...answerFields,
          }),
        ),
        v.minLength(1),
        v.maxLength(MAX_ANSWERS),
        v.description(
          "What takes several people or a signature, and what is for other people than the first of them, has to be answered alone: `decided_alone`.",
        ),
      ),
    },
    isRepeatable: true,
    responses: {
      200: { description: "Each of them, in order. Some may be refused.", schema: schemas.answers },
    },
    handle: async (call) => {
      const { keys, request, body, caller } = call;
      return keys.run(request, { caller, body }, async () => {
        const items = await answerEach(body.answers, call);
        return { body: { items }, isRecorded: items.some(({ status }) => status === 200) };
      });
    },
  }),
  operation({
    id: "signInquiry",
    summary: "Get what a passkey has to sign for an answer",
    route: "POST /conversations/{conversation}/inquiries/{inquiry}/challenge",
    needs: "person",
    query: { workspace },
    body: {
      answer: v.custom<Json>((value) => value !== undefined, "a value"),
      content: v.exactOptional(v.string()),
      ...reading,
    },
    maxBytes: MAX_CONTENT_BYTES + MAX_BODY_BYTES,
    responses: {
      ...ANSWER_RESPONSES,
      200: { description: "Valid once, for two minutes.", schema: schemas.signingRequest },
      428: schemas.DIGEST_REQUIRED,
    },
    handle: async ({ desk, passkeys, params, query, body, caller }) => {
      const { answer, content, ...read } = body;
      const reply = { answer, ...(content !== undefined && { content }) };
      const prepared = await desk.prepareAnswer(
        inquiryRef(params, query, read),
        reply,
        caller.person,
      );
      if (prepared.type !== "to_sign") return toReply(prepared);
      return { body: { ...(await passkeys.request(prepared.toSign, caller)) } };
    },
  }),
  operation({
    id: "cancelInquiry",
    summary: "Cancel a question, and with it the call that asks",
    route: "POST /conversations/{conversation}/inquiries/{inquiry}/cancel",
    needs: "person",
    query: { workspace },
    body: reading,
    isRepeatable: true,
    responses: ANSWER_RESPONSES,
    handle: async ({ desk, keys, request, params, query, body, caller }) => {
      const ref = inquiryRef(params, query, body);
      return keys.run(request, { caller, body }, async () =>
        toReply(await desk.answer(ref, { isCancelled: true }, caller.person)),
      );
    },
  }),
  operation({
    id: "listConversations",
    summary: "List conversations, newest first",
    route: "GET /conversations",
    needs: "see",
    query: { workspace, text, ...paging },
    responses: { 200: { description: "One page.", schema: schemas.conversations } },
    handle: async ({ desk, query }) => ({ body: { ...(await desk.listConversations(query)) } }),
  }),
  operation({
    id: "readConversation",
    summary: "Read the events of a conversation",
    route: "GET /conversations/{conversation}",
    needs: "see",
    query: {
      workspace,
      first: v.pipe(
        v.exactOptional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
        v.description("The index of the first event that is wanted."),
      ),
    },
    responses: {
      200: { description: "Its events.", schema: schemas.conversationPart },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ desk, params, query: { first, ...query } }) => ({
      body: { ...found(await desk.readConversation(conversationRef(params, query), first)) },
    }),
  }),
  operation({
    id: "readFile",
    summary: "Download a file that the model has sent",
    route: "GET /conversations/{conversation}/files/{digest}",
    needs: "see",
    query: { workspace },
    responses: {
      200: { description: "Its bytes.", schema: schemas.file, mediaType: FILE_TYPE },
      404: schemas.NOT_FOUND,
    },
    handle: async ({ desk, params, query }) => {
      const { digest = "" } = params;
      const { name, bytes } = found(await desk.readFile(conversationRef(params, query), digest));
      return new Response(Uint8Array.from(bytes), {
        headers: {
          "content-type": FILE_TYPE,
          "content-disposition": `attachment; filename="${name}"`,
          "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
        },
      });
    },
  }),
  operation({
    id: "resumeTurn",
    summary: "Continue a turn whose questions are answered",
    route: "POST /conversations/{conversation}/resume",
    needs: "answer",
    query: { workspace },
    responses: {
      202: { description: "The turn continues in the background.", schema: schemas.started },
      404: schemas.NOT_FOUND,
      409: schemas.REFUSED,
    },
    handle: async ({ desk, params, query, caller }) => {
      const result = found(await desk.resume(conversationRef(params, query), caller.person));
      if (result.type === "started") return { status: 202, body: { type: "started" } };
      throw new ApiError(409, "not_resumed", { message: result.message });
    },
  }),
  operation({
    id: "events",
    summary: "Listen to what changes",
    route: "GET /events",
    needs: "see",
    responses: {
      200: {
        description: "Until the connection closes.",
        schema: schemas.eventStream,
        mediaType: "text/event-stream",
      },
      503: { description: "Too many clients are listening.", schema: schemas.NAMED.error },
    },
    handle: async ({ events, caller, request, response }) => {
      const after = readEventId(request.headers["last-event-id"]);
      events.open(response, { caller, ...(after !== undefined && { after }) });
      return RESPONSE_ALREADY_SENT;
    },
  }),
];

let openApi: JsonObject | undefined;

/** Built once: anyone may request it, as often as they like. */
async function renderDocument(): Promise<JsonObject> {
  const { renderOpenApi } = await loadDocument();
  openApi ??= renderOpenApi(OPERATIONS, API_PATH);
  return openApi;
}

/** Loaded once the desk is already serving. Throws `module_not_loaded`. */
export function loadDocument() {
  return loadModule(() => import("./openapi.ts"));
}

function wholeNumber(min: number, max: number) {
  return v.pipe(
    v.string(),
    v.transform((digits) => (/^\d+$/.test(digits) ? Number(digits) : Number.NaN)),
    v.number(),
    v.integer(),
    v.minValue(min),
    v.maxValue(max),
  );
}

interface GivenReply extends Pick<Reply, "answer" | "note" | "redirects"> {
  readonly remember?: boolean;
}

interface GivenAnswer
  extends GivenReply, ConversationAddress, Pick<InquiryRef, "asked_at" | "digest"> {
  readonly id: string;
}

/** One of several, with the status that it would have alone. */
interface AnswersItem extends ConversationAddress {
  readonly id: string;
  readonly status: number;
  readonly error?: object;
}

/** In order. Whatever happens to one of them, those before it stay answered. */
async function answerEach(
  answers: readonly GivenAnswer[],
  { desk, caller, toApiError }: Pick<ApiParts, "desk" | "toApiError"> & { readonly caller: Caller },
): Promise<readonly AnswersItem[]> {
  const items: AnswersItem[] = [];
  let first: ForWhom | undefined;
  for (const { workspace: root, conversation, id, asked_at, digest, ...given } of answers) {
    const place = root === undefined ? {} : { workspace: root };
    const about = { ...place, conversation, id };
    try {
      const ref = inquiryRef({ conversation, inquiry: id }, place, { asked_at, digest });
      const asked = answers.length === 1 ? undefined : await desk.findInquiry(ref);
      if (asked !== undefined) {
        const whom = { for: asked.for, forAny: asked.for_any };
        first ??= whom;
        if (asked.terms !== undefined || !isSameWhom(first, whom)) throw decidedAlone();
      }
      const { status = 200, body } = toReply(await desk.answer(ref, replyIn(given), caller.person));
      items.push({ ...about, status, ...body });
    } catch (error) {
      const refused = toApiError(error);
      items.push({ ...about, status: refused.status, error: refused.toJson() });
    }
  }
  return items;
}

function decidedAlone(): ApiError {
  const message = "This takes several people or a signature, or is for others: answer it alone.";
  return new ApiError(422, "decided_alone", { message });
}

function replyIn({ answer, note, remember, redirects }: GivenReply): Reply {
  return {
    answer,
    ...(note !== undefined && { note }),
    ...(remember !== undefined && { isRemembered: remember }),
    ...(redirects !== undefined && { redirects }),
  };
}

interface Params {
  readonly conversation?: string;
  readonly inquiry?: string;
}

interface InWorkspace {
  readonly workspace?: string;
}

/** Throws an `ApiError` if the conversation is unknown. */
function conversationRef(
  { conversation: given = "" }: Params,
  { workspace: root }: InWorkspace,
): ConversationRef {
  const conversation = found(findConversationId(given));
  return { conversation, ...(root !== undefined && { workspace: root }) };
}

function inquiryRef(
  params: Params,
  query: InWorkspace,
  { asked_at, digest }: Pick<InquiryRef, "asked_at" | "digest">,
): InquiryRef {
  const id = (params.inquiry ?? "") as InquiryId; // Any text may be an id; the desk checks it.
  return { ...conversationRef(params, query), id, asked_at, digest };
}

function found<Value>(value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw notFound("Unknown conversation, question or file.");
}

function toReply(result: DeskAnswerResult): JsonReply {
  switch (result.type) {
    case "recorded":
    case "counted":
      return { body: { ...result } };
    case "answered": {
      const { by } = result;
      const error = { code: "already_answered", message: `${describeDecider(by)} answered first.` };
      return { status: 409, body: { error, ...(by !== undefined && { answered_by: by }) } };
    }
    case "changed": {
      const message = "This has changed since you read it. Read it again.";
      const { changed } = result;
      return { status: 409, body: { error: { code: "changed", message }, changed } };
    }
    case "digest_required":
      throw new ApiError(428, "digest_required", {
        message: "Send the digest of what you have read.",
      });
    case "conflict":
      throw new ApiError(409, result.code, { message: result.message });
    case "not_found":
      return found<JsonReply>(undefined);
    case "refused":
      throw new ApiError(422, "does_not_fit", { reason: result.code, message: result.message });
    case "forbidden": {
      const { code, reason, message } = result;
      throw new ApiError(403, code, { message, ...(reason !== undefined && { reason }) });
    }
  }
}

function describeDecider(by: DeciderJson | undefined): string {
  if (by === undefined) return "Someone";
  return by.name ?? `The ${by.kind}`;
}

function readEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === "") return undefined;
  const id = typeof header === "string" && /^\d+$/.test(header) ? Number(header) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw badRequest("Last-Event-ID is not the id of an event.");
  return id;
}
